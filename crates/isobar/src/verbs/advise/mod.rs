//! `isobar advise`: shows what the predictor of the policy `isobar` predicts for a process, for a
//! command that is tried for some seconds, or for all busy programs. With `--numad` it lists nodes
//! with free CPUs and memory. It changes nothing.

mod about;
mod adviser;
mod lines;
mod numad;
mod target;
mod trial;

use super::Verb;
use super::options::{seed, within};
use super::watch::{self, Needed, WatchArgs};
use crate::output::{Chunks, Queue};
use adviser::Adviser;
use isobar_model::{Pid, Seconds};
use numad::Wanted;
use std::ffi::OsString;
use std::io::Write;
use target::AdviceTarget;
use trial::Trial;

/// Say where programs should run and where their memory should be, with predicted gains
#[derive(Debug, clap::Parser)]
#[command(
    name = "advise",
    after_help = "Example:
  isobar advise
  isobar advise 4711 --for 30
  isobar advise -- ./solver input.dat
  isobar advise --machine sim:examples/stress/one-node.toml
  isobar advise --numad 4:8192

The choices are: bind (threads and pages on one node), pages to a node (`gather` in JSON; threads
stay), interleave (pages in turn on all nodes), split (pages by the bandwidth of nodes) and leave
(change nothing). Each choice comes with the predicted gain of the program and its range, the gain
of all other programs, and the command to type. The best choice comes first; those below `leave` are
not worth making. Nothing is changed. A command is run for --for seconds with its output on stderr
and no input from the terminal. Then it is ended with all that it started and that is still in its
process group (SIGTERM, and SIGKILL after 5 seconds).

--numad prints a node list such as 0-1, as `numad -w` does, and nothing else."
)]
pub struct Advise {
    /// Only this process, with all its choices
    #[arg(value_name = "PID", conflicts_with = "command")]
    pid: Option<u32>,
    /// Print a list of nodes with this many free CPUs (and MiB of free memory)
    #[arg(long, value_name = "CPUS[:MIB]", conflicts_with_all = ["pid", "command", "json"])]
    numad: Option<Wanted>,
    /// Seconds to watch, 2 to 86400 [default: 10; with --numad 2]
    #[arg(long = "for", value_name = "S", value_parser = seconds)]
    duration: Option<f64>,
    /// A simulated machine instead of this one
    #[arg(long, value_name = "sim:FILE", conflicts_with = "command")]
    machine: Option<String>,
    /// Seed of the simulated machine
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// A command to try, and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<OsString>,
}

/// Seconds for which programs are watched. The predictor compares at least three.
const WATCHED: f64 = 10.0;
/// Seconds needed to see which CPUs are busy.
const GLANCE: f64 = 2.0;

fn seconds(text: &str) -> Result<f64, String> {
    within(text, 2.0..=86_400.0, "seconds from 2 to 86400, such as 10")
}

impl Verb for Advise {
    fn run(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        let mut needed = Needed::from_args(&self.watched())?;
        let usual = if self.numad.is_some() { GLANCE } else { WATCHED };
        needed.limits.dry_run = true;
        needed.limits.despite_missing = true;
        needed.limits.duration = Some(Seconds(self.duration.unwrap_or(usual)));
        let trial = Trial::start(&self.command)?;
        let of = match (&self.numad, &trial, self.pid) {
            (Some(wanted), ..) => AdviceTarget::Room(*wanted),
            (_, Some(trial), _) => AdviceTarget::Command(trial.pid(), lines::typed(&self.command)),
            (.., Some(pid)) => AdviceTarget::Process(Pid(pid)),
            _ => AdviceTarget::All,
        };
        let queue = Queue::to_stdout(watch::notice(self.json))?;
        let mut out = Chunks::of(&queue);
        let done = watch::drive(needed, &queue, &mut Adviser::new(&mut out, of, self.json));
        drop(trial);
        watch::finish(done, queue)
    }
}

impl Advise {
    /// Arguments that switch on the sensors of the policy whose predictor is used.
    fn watched(&self) -> WatchArgs {
        WatchArgs {
            policy: Some("isobar".to_owned()),
            config: None,
            only: Vec::new(),
            set: Vec::new(),
            interval: None,
            machine: self.machine.clone(),
            seed: self.seed,
            metrics: None,
            json: self.json,
        }
    }
}
