//! The command `numasim-probed`: boots a machine, lets isobar probe its latencies, idle and beside
//! streams, and compares them with what the machine counted.

#![forbid(unsafe_code)]

use clap::Parser;
use numasim_guest::wire::Line;
use numasim_lab::boot::{Host, Task, boot};
use numasim_lab::ending::Ending;
use numasim_lab::experiment::Scale;
use numasim_lab::image::Contents;
use numasim_lab::scratch::Scratch;
use numasim_lab::{LabError, machine};
use numasim_xval::probed::{self, BAND, Row};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Probe a machine's latencies with isobar, idle and beside streams, and compare them with what the
/// machine counted
#[derive(Debug, Parser)]
#[command(
    name = "numasim-probed",
    version,
    after_help = "Example:
  numasim-probed nehalem-2x4
  numasim-probed barcelona-4x4 --json

Exit code: 0 every pair within 10 %, 1 one is not or a run did not count, 2 wrong input."
)]
struct Args {
    /// A machine that ships, scaled, or a machine file
    machine: String,
    /// Guest seconds of each load
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Keep what the boot leaves in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Host seconds that the boot may take
    #[arg(long, value_name = "S", default_value_t = 300)]
    limit: u32,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1.0..=600.0).contains(seconds));
    seconds.ok_or_else(|| "expected seconds from 1 to 600".to_owned())
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args, &numasim_lab::interrupted()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("numasim-probed: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(args: &Args, interrupted: &AtomicBool) -> Result<u8, LabError> {
    let machine = machine::named(&args.machine, Scale::default())?;
    let contents = Contents { packages: ["isobar".to_owned()].into(), ..Contents::default() };
    let host = Host::new(machine, &contents, false, args.limit)?;
    let scratch = Scratch::new()?;
    let folder = args.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    let order = probed::order(&host.spec, args.seconds);
    let booted = boot(&host, &Task::Order { order: &order, seed: 1 }, &folder, interrupted)?;
    if booted.ending != Ending::Done {
        return Err(LabError::Boot(booted.ending.in_words(args.limit)));
    }
    let ran: Vec<_> = booted.remains.lines.iter().filter_map(Line::ran).collect();
    let found = ran.iter().map(|ran| probed::rows(&host.spec, ran)).collect::<Result<Vec<_>, _>>();
    let rows: Vec<Row> = found.map_err(LabError::Boot)?.concat();
    if ran.len() != order.runs.len() {
        return Err(LabError::Boot(format!("{} of {} runs came back", ran.len(), order.runs.len())));
    }
    let json = || serde_json::json!({"machine": args.machine, "band": BAND, "rows": rows}).to_string() + "\n";
    let shown = if args.json { json() } else { probed::table(&args.machine, &rows) };
    // It is no error if the reader has gone away.
    let _ = std::io::stdout().write_all(shown.as_bytes());
    Ok(u8::from(rows.iter().any(|row| row.difference().abs() > BAND)))
}
