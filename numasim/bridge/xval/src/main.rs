//! The command `numasim-xval`: boots the runs of a cross-validation, then compares them with the
//! simulator.

#![forbid(unsafe_code)]

use clap::Parser;
use numasim_guest::wire::{Line, Order, Ran};
use numasim_lab::LabError;
use numasim_lab::boot::{self, Host, Task, boot};
use numasim_lab::ending::Ending;
use numasim_lab::image::Contents;
use numasim_lab::machine::{self, Machine};
use numasim_lab::scratch::Scratch;
use numasim_xval::file::Xval;
use numasim_xval::{compare, managed, order, table};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread::ScopedJoinHandle;

/// Run the same programs and mixes on numasim and in the contention simulator, left alone or under
/// stock Linux and policies, and say where and why they differ
#[derive(Debug, Parser)]
#[command(
    name = "numasim-xval",
    version,
    after_help = "Example:
  numasim-xval numasim/bridge/xval/xval.toml --keep last
  numasim-xval numasim/bridge/xval/xval.toml --from last --json
  numasim-xval numasim/bridge/xval/policies.toml

Exit code: 0 done, 1 a run did not count, 2 wrong input."
)]
struct Args {
    /// The cross-validation
    file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Boots side by side, which share the runs
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = jobs)]
    jobs: usize,
    /// Keep what every boot leaves in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Boot nothing: take what was kept in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "keep")]
    from: Option<PathBuf>,
}

fn jobs(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=64).contains(count));
    count.ok_or_else(|| "expected a whole number from 1 to 64".to_owned())
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args, &numasim_lab::interrupted()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("numasim-xval: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Runs a cross-validation. Returns 1 if a run did not count.
fn run(args: &Args, interrupted: &AtomicBool) -> Result<u8, LabError> {
    let shown = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file).map_err(|error| LabError::input(&shown, error.to_string()))?;
    let xval = Xval::parse(&text, &shown)?;
    let spec = machine::named(&xval.machine, xval.scale)?.spec;
    let orders = order::orders(&xval, &spec, args.jobs).map_err(|problem| LabError::input(&shown, problem))?;
    let (ran, given) = match &args.from {
        Some(folder) => (recorded(folder)?, Vec::new()),
        None => booted(args, &xval, &spec, &orders, interrupted)?,
    };
    let mut found = compare::compare(&xval, &spec, &ran)?;
    found.problems.splice(0..0, given);
    let json = || serde_json::to_string(&found).unwrap_or_default() + "\n";
    let shown = if args.json { json() } else { table::text(&found) };
    // It is no error if the reader has gone away.
    let _ = std::io::stdout().write_all(shown.as_bytes());
    Ok(u8::from(!found.problems.is_empty()))
}

/// Boots all orders side by side. Returns their runs, and which boots did not come to their end.
fn booted(
    args: &Args,
    xval: &Xval,
    spec: &numasim_model::Spec,
    orders: &[Order],
    interrupted: &AtomicBool,
) -> Result<(Vec<Ran>, Vec<String>), LabError> {
    let daemons = orders.iter().flat_map(|order| &order.runs).any(|run| run.regime.daemon.is_some());
    let packages = daemons.then(|| managed::order::PACKAGE.to_owned()).into_iter().collect();
    let contents = Contents { packages, ..Contents::default() };
    let host = Host::new(Machine::of(spec.clone())?, &contents, false, xval.boot_limit_seconds)?;
    let scratch = Scratch::new()?;
    let folder = args.keep.as_deref().unwrap_or_else(|| scratch.path());
    let done = std::thread::scope(|scope| {
        let start = |(at, order): (u32, &Order)| {
            let (host, folder, order) = (&host, folder.join(boot::folder(at)), order.clone());
            scope.spawn(move || one(host, &order, &folder, interrupted))
        };
        let started: Vec<ScopedJoinHandle<'_, _>> = (0..).zip(orders).map(start).collect();
        started.into_iter().map(|one| one.join().unwrap_or(Err(LabError::Interrupted))).collect::<Result<Vec<_>, _>>()
    })?;
    let given = done.iter().filter_map(|(_, problem)| problem.clone()).collect();
    Ok((done.into_iter().flat_map(|(ran, _)| ran).collect(), given))
}

fn one(
    host: &Host,
    order: &Order,
    folder: &Path,
    interrupted: &AtomicBool,
) -> Result<(Vec<Ran>, Option<String>), LabError> {
    let booted = boot(host, &Task::Order { order, seed: 1 }, folder, interrupted)?;
    let problem = (booted.ending != Ending::Done).then(|| booted.ending.in_words(host.limit_seconds));
    Ok((runs(booted.remains.lines), problem))
}

fn runs(lines: Vec<Line>) -> Vec<Ran> {
    lines.into_iter().filter_map(|line| if let Line::Run(ran) = line { Some(*ran) } else { None }).collect()
}

/// The runs of boots that were kept with `--keep`.
fn recorded(folder: &Path) -> Result<Vec<Ran>, LabError> {
    let entries = std::fs::read_dir(folder).map_err(|error| LabError::io(folder, error))?;
    let mut ran = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| LabError::io(folder, error))?.path().join(numasim_lab::command::left::RESULTS);
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        ran.extend(runs(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()));
    }
    if ran.is_empty() {
        let problem = "no boot-N folder here has results: record some with --keep";
        return Err(LabError::input(&folder.display().to_string(), problem));
    }
    Ok(ran)
}
