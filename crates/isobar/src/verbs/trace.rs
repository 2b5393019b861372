//! `isobar trace`: records how a program accesses its pages, in a file.

use super::{Verb, passing};
use crate::failure::{Ended, bad_input, notify};
use anyhow::Context;
use isobar_tracer::{ENGINES, Engine, Job, Traced, TracerError, engine};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Trace a program's memory accesses: by time slice, thread and page
#[derive(Debug, clap::Parser)]
#[command(
    name = "trace",
    after_help = "Example:
  isobar trace -o solver.trace -- ./solver input.dat
  isobar pages solver.trace --nodes 4

Engine `qemu-user` sees every load and store of an unmodified x86-64 program, which then runs 20 to
50 times slower; `apt-get install qemu-user` if it is missing. Engine `perf` runs the program at
full speed and records the accesses that Intel's and AMD's CPUs sample, about one load and store in
10,000 (AMD: one operation in 65,536), and first touches. Only the program itself is traced: processes
that it forks, and programs that it becomes by exec, are named in the file as missing. Time slices
are measured in the traced run, which under `qemu-user` is slower than the program alone.

The file can be read while it is written and, after a crash, up to that point. The exit code is the
command's, or 128 + N where signal N ended it; 1 if the trace could not be written, 2 if the command
cannot be traced."
)]
pub struct Trace {
    /// The trace file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Length of a time slice in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    slice: u64,
    /// Do not name the code that makes large allocations (the library that finds it adds about 16
    /// accesses of its own for each malloc)
    #[arg(long)]
    no_names: bool,
    /// How to trace: `qemu-user` sees every access, `perf` those that the CPU samples
    #[arg(long, value_name = "qemu-user|perf", default_value = "qemu-user")]
    engine: String,
    /// Print what was traced as one JSON document, on stderr
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

impl Verb for Trace {
    fn run(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        let slice = Duration::from_millis(self.slice);
        let job = Job { file: self.output.clone(), slice, names: !self.no_names, command: self.command.clone() };
        let mut tracing = self.engine()?.prepare(&job).map_err(|error| match error {
            error @ TracerError::Command { .. } => bad_input(error),
            error => error.into(),
        })?;
        self.writable()?;
        let mut signals = passing::signals()?;
        let begun = Instant::now();
        let mut child = tracing.command().spawn().with_context(|| self.command[0].to_string_lossy().into_owned())?;
        let status = passing::wait(&mut child, &mut signals, || tracing.step())?;
        let traced = tracing.finish(status, begun.elapsed())?;
        // The program may write to standard output, so nothing of ours is printed there.
        if self.json {
            eprintln!("{}", json(&traced));
        } else {
            self.lines(&traced).iter().for_each(|line| notify(line));
        }
        Err(Ended::of(passing::code(status)).into())
    }
}

impl Trace {
    fn engine(&self) -> anyhow::Result<&'static dyn Engine> {
        engine(&self.engine).ok_or_else(|| {
            let all: Vec<String> = ENGINES.iter().map(|one| format!("{} ({})", one.name(), one.about())).collect();
            bad_input(format!("--engine {}: no such engine; there is {}", self.engine, all.join(", ")))
        })
    }

    /// Checks that the file can be written; otherwise the program would run in vain.
    fn writable(&self) -> anyhow::Result<()> {
        let name = || self.output.display().to_string();
        if self.output.is_dir() {
            return Err(bad_input(format!("{}: a folder; expected the name of a file", name())));
        }
        let file = std::fs::File::create(&self.output).with_context(name)?;
        let regular = file.metadata().with_context(name)?.is_file();
        // The file is read again, and completed, when the program has ended.
        if regular { Ok(()) } else { Err(bad_input(format!("{}: not a regular file", name()))) }
    }

    fn lines(&self, traced: &Traced) -> Vec<String> {
        let file = self.output.display();
        let Traced { threads, pages, accesses, slices, bytes, end, .. } = traced;
        let seconds = Duration::from_nanos(end.ran_ns).as_secs_f64();
        let what = traced
            .header
            .sampled
            .map_or("accesses".to_owned(), |one_in| format!("samples (about one access in {one_in})"));
        let mut lines = vec![format!(
            "{accesses} {what} of {threads} {} to {pages} pages, in {slices} slices of {} ms ({seconds:.2} s); {file} \
             has {bytes} bytes",
            if *threads == 1 { "thread" } else { "threads" },
            self.slice
        )];
        lines.extend(end.missing.iter().map(|missing| format!("not in the trace: {missing}")));
        lines.push(format!("next: isobar pages {file} --nodes 4"));
        lines
    }
}

fn json(traced: &Traced) -> serde_json::Value {
    let Traced { header, end, threads, slices, pages, accesses, bytes } = traced;
    serde_json::json!({
        "engine": header.engine, "sampled": header.sampled, "page_bytes": header.page_bytes, "slice_seconds": Duration::from_nanos(header.slice_ns).as_secs_f64(),
        "seconds": Duration::from_nanos(end.ran_ns).as_secs_f64(), "status": end.status, "missing": end.missing,
        "threads": threads, "slices": slices, "pages": pages, "accesses": u64::try_from(*accesses).unwrap_or(u64::MAX),
        "bytes": bytes,
    })
}
