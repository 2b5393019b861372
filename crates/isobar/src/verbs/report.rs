//! `isobar report`: a run as one HTML file.

use super::Verb;
use crate::failure::bad_input;
use crate::past::{self, Past};
use crate::text::plural;
use anyhow::Context;
use isobar_model::Bytes;
use isobar_recording::Recording;
use isobar_report::{Collector, Head};
use isobar_view::Watch;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Make one HTML file of a recording: what the machine suffered, what was done, what came of it
#[derive(Debug, clap::Parser)]
#[command(
    name = "report",
    after_help = "Example:
  isobar record -o day.isobar --for 600
  isobar report day.isobar -o day.html

The page needs no network and no server: figures, script and style are in the file. Charts share a span of time (drag over the
strip at the top), tables sort and filter, and the figures are inside as JSON."
)]
pub struct Report {
    /// A file that `isobar record` or `manage --record` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The page; else the recording's name with .html
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over a page that is there already
    #[arg(long)]
    force: bool,
}

impl Verb for Report {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let output = self.output.clone().unwrap_or_else(|| self.file.with_extension("html"));
        if output == self.file {
            return Err(bad_input(format!("{}: the page would replace the recording: give -o FILE", output.display())));
        }
        let recording = Recording::open(&self.file).map_err(bad_input)?;
        let (page, epochs) = page(&self.file, recording)?;
        write(&output, page.as_bytes(), self.force)?;
        let size = Bytes(u64::try_from(page.len())?).human();
        Ok(writeln!(out, "wrote {} ({size}, {})", output.display(), plural(epochs, "epoch"))?)
    }
}

/// The page of a recording, and how many epochs it shows.
fn page(file: &Path, recording: Recording) -> anyhow::Result<(String, u64)> {
    let facts = recording.facts()?;
    let (first, last) = recording.ends()?.unwrap_or_default();
    let (mut past, mut watch, mut collector) = (Past::of(recording), Watch::default(), Collector::new(first + 1, last));
    let mut epochs = 0;
    while past.next(&mut |moment| collector.take(moment, watch.take(moment)))? {
        epochs += 1;
    }
    if epochs == 0 {
        return Err(bad_input(format!("{}: holds no epoch yet, only the reading before the first", file.display())));
    }
    let name =
        file.file_name().map_or_else(String::new, |name| crate::text::plain(&name.to_string_lossy()).into_owned());
    let head = Head {
        title: name,
        facts: past::facts(&facts, past.begun),
        remarks: past::remarks(&facts, first, past.missing),
    };
    Ok((collector.finish(head).html(), epochs))
}

fn write(path: &Path, page: &[u8], force: bool) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(!force).create(force).truncate(force);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            bad_input(format!("{} is there already: give --force to write over it", path.display()))
        }
        _ => bad_input(format!("{}: cannot be written: {error}", path.display())),
    })?;
    file.write_all(page).with_context(|| format!("{}", path.display()))
}
