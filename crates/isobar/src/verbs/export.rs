//! `isobar export`: converts a recording for other tools.

use super::Verb;
use crate::export::{self, Format};
use crate::failure::bad_input;
use crate::past::Past;
use crate::text::plural;
use isobar_model::Bytes;
use isobar_recording::Recording;
use std::fs::{self, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Write a recording as CSV, as Parquet, or as a trace for Perfetto's UI
#[derive(Debug, clap::Parser)]
#[command(
    name = "export",
    after_help = "Example:
  isobar export day.isobar day.pftrace
  isobar export day.isobar day.csv
  isobar export day.isobar day.parquet

A .pftrace opens in https://ui.perfetto.dev: one track for each thread that shows where it ran,
counters of nodes and programs, and actions as events with their reasons. CSV and Parquet have one
row for each thread and epoch; docs/recordings.md describes the columns. For everything else, the
recording itself is an SQLite database."
)]
pub struct Export {
    /// A recording made by `isobar record` or `manage --record`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The file to write, which must not exist yet
    #[arg(value_name = "TO")]
    to: PathBuf,
    /// The format [default: by the end of TO: .csv, .parquet or .pftrace]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

impl Verb for Export {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let format = self.format.or_else(|| Format::of(self.to.extension()?.to_str()?)).ok_or_else(|| {
            bad_input(format!(
                "{}: no known format: expected a name that ends in .csv, .parquet or .pftrace, or --format",
                self.to.display()
            ))
        })?;
        let recording = Recording::open(&self.file).map_err(bad_input)?;
        let epochs = written(&self.to, recording, format).inspect_err(|error| remove_half(&self.to, error))?;
        let size = Bytes(fs::metadata(&self.to)?.len()).human();
        Ok(writeln!(out, "wrote {} ({size}, {})", self.to.display(), plural(epochs, "epoch"))?)
    }
}

fn written(to: &Path, recording: Recording, format: Format) -> anyhow::Result<u64> {
    // Names of processes are private, as they are in the recording.
    let file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                bad_input(format!("{} already exists: name another file, or remove it first", to.display()))
            }
            _ => bad_input(format!("{}: cannot be written: {error}", to.display())),
        })?;
    let mut to = BufWriter::new(file);
    let epochs = export::write(&mut Past::of(recording), format, &mut to)?;
    to.flush()?;
    Ok(epochs)
}

/// Removes an incomplete file, unless it was there before.
fn remove_half(to: &Path, error: &anyhow::Error) {
    if !error.is::<crate::failure::BadInput>() {
        drop(fs::remove_file(to));
    }
}
