//! `isobar record`: watches and records a run in which nothing is changed.

use super::Verb;
use super::options::positive_seconds;
use super::recording::RecordOptions;
use super::watch::{self, Needed, ONLY_DECIDE, WatchArgs, policy_or};
use crate::output::{Chunks, Queue, Sink};
use crate::report::{AfterRun, Recorded, Reporter, concerns, machine_in_words};
use crate::signals::StopFlag;
use crate::text::plural;
use isobar_model::{Bytes, Seconds};
use isobar_runtime::{BoxError, Observer, Start, Tally};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Watch the machine and record what is seen and what a policy would do; change nothing
#[derive(Debug, clap::Parser)]
#[command(
    name = "record",
    mut_arg("policy", |policy| policy.help(policy_or("isobar"))),
    mut_arg("only", |only| only.help(ONLY_DECIDE)),
    after_help = "Example:
  isobar record -o day.isobar --for 3600
  isobar record -o sim.isobar --for 60 \\
      --machine sim:examples/workloads/dino-spec.toml
  sqlite3 day.isobar 'SELECT name, sum(cpu_seconds)
      FROM process_epoch JOIN process ON id = process GROUP BY id'

The file is an SQLite database; docs/recordings.md explains its tables. It can be opened at any
time, even after a kill -9: at most the last epoch is missing. If no policy is named, the decisions
of `isobar` are recorded. To record a policy at work, use `isobar manage --policy NAME --record
FILE`."
)]
pub struct Record {
    /// what to watch and how
    #[command(flatten)]
    watch: WatchArgs,
    /// The file to write, which must not exist yet
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Seconds to record, at least one interval [default: until Ctrl-C]
    #[arg(long = "for", value_name = "S", value_parser = positive_seconds)]
    duration: Option<f64>,
    /// how large it may grow
    #[command(flatten)]
    bounds: RecordOptions,
}

/// The policy whose decisions are recorded if none is named: it makes the most of what it sees.
const POLICY: &str = "isobar";

impl Verb for Record {
    fn run(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        let mut needed = Needed::from_args_or(&self.watch, Some(POLICY), StopFlag::default())?;
        needed.limits.dry_run = true;
        needed.limits.despite_missing = true;
        needed.limits.duration = self.duration.map(Seconds);
        needed.recording = Some((self.output.clone(), self.bounds.bounds()));
        let queue = Queue::to_stdout(watch::notice(self.watch.json))?;
        let mut out = Chunks::of(&queue);
        let mut shown = RecordReporter { out: &mut out, file: &self.output, json: self.watch.json };
        let done = watch::drive(needed, &queue, &mut shown);
        watch::finish(done, queue)
    }
}

/// Prints where the recording goes, and at the end how large it is.
struct RecordReporter<'a> {
    out: &'a mut dyn Sink,
    file: &'a Path,
    json: bool,
}

impl Observer for RecordReporter<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        if self.json {
            return Ok(());
        }
        let (file, interval, policy) = (self.file.display(), start.limits.interval.0, start.policy);
        writeln!(self.out, "machine: {}", machine_in_words(&start.sample.topology))?;
        for line in concerns(start) {
            writeln!(self.out, "{line}")?;
        }
        let until =
            start.limits.duration.map_or("until Ctrl-C".to_owned(), |Seconds(seconds)| format!("for {seconds} s"));
        writeln!(
            self.out,
            "recording to {file} every {interval} s {until}, with what {policy} would do; nothing is changed"
        )?;
        Ok(self.out.flush()?)
    }
}

impl Reporter for RecordReporter<'_> {
    fn end(&mut self, tally: &Tally, after: &AfterRun) -> anyhow::Result<()> {
        // If it is missing, recording failed, which is reported elsewhere.
        let Some(Recorded { epochs, left_out, bytes }) = after.recorded else { return Ok(()) };
        let (seconds, planned) = (tally.time.0, tally.planned);
        if self.json {
            let document = json!({
                "file": self.file.display().to_string(), "epochs": epochs, "seconds": seconds,
                "actions": planned, "bytes": bytes, "epochs_left_out": left_out,
                "own_cpu_seconds": tally.own_cpu.map(|used| used.0), "own_cpu_percent": tally.own_cpu_percent(),
            });
            writeln!(self.out, "{document}")?;
            return Ok(self.out.flush()?);
        }
        let own = tally.own_cpu_percent().map_or(String::new(), |percent| format!(", {percent:.2} % of one CPU"));
        let (epochs, size, actions) = (plural(epochs, "epoch"), Bytes(bytes).human(), plural(planned, "action"));
        writeln!(self.out, "recorded {epochs} ({seconds:.1} s, {actions} planned) in {size}{own}")?;
        if left_out > 0 {
            writeln!(self.out, "{} left out: the disk did not keep up", plural(left_out, "epoch"))?;
        }
        writeln!(self.out, "next: isobar replay {}", self.file.display())?;
        Ok(self.out.flush()?)
    }
}
