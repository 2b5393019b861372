//! `isobar doctor`: answers the first question of an incident, whether NUMA or cache contention may
//! matter now, within seconds and on one screen.

use super::Verb;
use super::epochs;
use super::options::{positive_seconds, seed};
use super::watch::{Needed, Target, WatchArgs};
use crate::failure::{Ended, bad_input};
use crate::machines::linux;
use crate::report::triage;
use crate::signals::StopFlag;
use crate::terminal;
use crate::text::json_line;
use anyhow::Context;
use isobar_view::Answer;
use std::io::Write;

/// The policy that changes nothing.
const WATCHING: &str = "linux";
/// The longest time to watch, in seconds.
const MOST_SECONDS: f64 = 3600.0;

/// Check whether NUMA or cache contention may matter now: yes, no, or not measurable
#[derive(Debug, clap::Parser)]
#[command(
    name = "doctor",
    after_help = "Example:
  isobar doctor
  isobar doctor --machine sim:examples/workloads/dino-spec.toml
  isobar doctor --json || echo $?

It watches for 8 seconds, unless --for says otherwise, and changes nothing. Exit code: 0 no, 3 yes,
4 not measurable (1 it failed, 2 wrong usage)."
)]
pub struct Doctor {
    /// Seconds to watch, in the machine's time; slowdowns need 3 readings, proposals 6
    #[arg(long = "for", value_name = "S", default_value_t = 8.0, value_parser = positive_seconds)]
    duration: f64,
    /// A simulated machine, or FILE of a recording, instead of this machine
    #[arg(long, value_name = "sim:FILE|FILE")]
    machine: Option<String>,
    /// Seed of the simulated machine
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Verb for Doctor {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.duration > MOST_SECONDS {
            return Err(bad_input(format!("--for {}: expected at most {MOST_SECONDS} seconds", self.duration)));
        }
        let needed = self.needed()?;
        if needed.target == Target::Linux && !self.json {
            writeln!(out, "watching for {} s; nothing is changed ...", self.duration)?;
            out.flush()?;
        }
        let changed = linux::Changed::default();
        let left = changed.clone();
        let stop = needed.stops_on(&linux::stop_signals(), move || left.in_words())?;
        let stopped = || stop.is_raised();
        let view = epochs::over(needed, &stopped, &changed, &mut |source| epochs::watched(source, self.duration))?;
        let view = view.context("interrupted before the first epoch ended")?;
        if self.json {
            writeln!(out, "{}", json_line(&triage::document(&view, self.machine.as_deref())))?;
        } else {
            let lines = triage::lines(&view, self.machine.as_deref(), terminal::columns().min(100));
            lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        // An exit code of its own ends the run before the output would be flushed.
        out.flush()?;
        match view.verdict.answer {
            Answer::No => Ok(()),
            Answer::Yes => Err(Ended::of(3).into()),
            Answer::NotMeasurable => Err(Ended::of(4).into()),
        }
    }
}

impl Doctor {
    fn needed(&self) -> anyhow::Result<Needed> {
        let args = WatchArgs {
            policy: None,
            config: None,
            only: Vec::new(),
            set: Vec::new(),
            interval: None,
            machine: self.machine.clone(),
            seed: self.seed,
            metrics: None,
            json: self.json,
        };
        let mut needed = Needed::from_args_or(&args, Some(WATCHING), StopFlag::default())?;
        needed.limits.dry_run = true;
        needed.limits.despite_missing = true;
        Ok(needed)
    }
}
