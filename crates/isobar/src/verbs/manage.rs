//! `isobar manage`: runs the loop over this machine or a simulated one, and reports to a person or
//! a program.

use super::Verb;
use super::options::{positive_seconds, speed};
use super::recording::RecordOptions;
use super::watch::{self, Needed, WatchArgs};
use crate::output::{Chunks, Queue};
use crate::report::{Json, Profiles, Size, TextReporter, Volume};
use crate::terminal;
use anyhow::{Context, ensure};
use isobar_model::Seconds;
use rustix::process::{self, Signal};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// Watch the machine and apply a policy every epoch; restore affinities and cache ways at the end
/// (moved pages stay)
#[derive(Debug, clap::Parser)]
#[command(
    name = "manage",
    mut_arg("json", |json| json.help("Print JSON: one document for each epoch, and a summary")),
    after_help = "Example:
  isobar manage --policy dino --dry-run --for 10
  isobar manage --policy dino --only 'postgres*' --config examples/isobar.toml
  isobar manage --policy isobar --only unit:redis.service --dry-run --for 10
  isobar manage --policy dino --machine sim:examples/workloads/dino-spec.toml
  isobar manage --policy isobar --metrics 127.0.0.1:9464

Groups of --only: unit:redis.service, slice:batch, docker:NAME, container:ID, pod:NAMESPACE/NAME, qos:burstable, vm:NAME ...

Patterns of --only (quote them): * stands for any characters, ? for one, [abc] for one of these. In a path they do not \
match /, but ** alone between slashes stands for any folders. [*], [?] and [[] stand for the characters themselves. A path \
is looked for in every cgroup hierarchy, also of version 1; /sys/fs/cgroup/CONTROLLER/PATH names a path in one of those.

Every signal that can be caught (Ctrl-C, SIGTERM, SIGHUP, ...) ends the run in order, however often it comes; what is not put
back within manage.stop_seconds is reported. After a kill -9, `isobar restore` or the next run restores
affinities and cache ways. Moved pages stay where they are.

On this machine the run never waits for a reader of its output: lines that find no reader are dropped and counted. Many
actions of one kind are summed up in one line, and at most 20 lines of a kind are printed in 10 s; the next one says how
many more there were. With --json every epoch has all its actions; `missing`, `lacking` and `remarks` are in the first
document, and later only where they change."
)]
pub struct Manage {
    /// what to watch and how
    #[command(flatten)]
    watch: WatchArgs,
    /// Decide and report, but change nothing (a policy that moves accessed pages still looks for
    /// them, with DAMON or by clearing accessed bits)
    #[arg(long)]
    dry_run: bool,
    /// Seconds to run, at least one interval [default: until Ctrl-C]
    #[arg(long = "for", value_name = "S", value_parser = positive_seconds)]
    duration: Option<f64>,
    /// Seconds of a simulated machine that pass in one second, 0.01 to 10000 [default: as fast as
    /// possible; 1 if metrics are served]
    #[arg(long, value_name = "TIMES", value_parser = speed, requires = "machine")]
    speed: Option<f64>,
    /// At the end, write what the policy measured of programs with more and fewer cache ways, as
    /// profiles for `study`
    #[arg(long, value_name = "FILE")]
    save_profiles: Option<PathBuf>,
    /// Record the run in a new file, for `isobar replay`, `top`, `report` and any SQL client
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// how large it may grow
    #[command(flatten)]
    bounds: RecordOptions,
    /// Print only warnings, refusals and the summary
    #[arg(long, short, conflicts_with_all = ["verbose", "json"])]
    quiet: bool,
    /// Print every action and note, however many there are
    #[arg(long, short, conflicts_with = "json")]
    verbose: bool,
    /// End in order when the process PID ends, which must be the parent
    #[arg(long, value_name = "PID", hide = true)]
    parent: Option<u32>,
}

impl Verb for Manage {
    fn run(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        self.parent.map_or(Ok(()), end_with)?;
        let mut needed = Needed::from_args(&self.watch)?;
        needed.limits.dry_run = self.dry_run;
        needed.limits.despite_missing = self.dry_run;
        needed.limits.duration = self.duration.map(Seconds);
        needed.speed = self.speed;
        needed.profiles = self.save_profiles.clone().map(Profiles::to).transpose()?;
        needed.recording = self.record.clone().map(|file| (file, self.bounds.bounds()));
        let queue = Queue::to_stdout(watch::notice(self.watch.json))?;
        let done = show(self, needed, &queue);
        watch::finish(done, queue)
    }
}

fn show(args: &Manage, needed: Needed, queue: &Queue) -> anyhow::Result<()> {
    let (mut out, clock) = (Chunks::of(queue), needed.clock());
    if args.watch.json {
        return watch::drive(needed, queue, &mut Json::new(&mut out, clock));
    }
    let size = io::stdout().is_terminal().then_some(size as fn() -> Size);
    watch::drive(needed, queue, &mut TextReporter::new(&mut out, size, clock, volume(args)))
}

/// Asks the kernel for SIGTERM when the parent ends (`PR_SET_PDEATHSIG`, prctl(2)). The signal is
/// handled like any other. An error if the parent has already ended.
fn end_with(parent: u32) -> anyhow::Result<()> {
    process::set_parent_process_death_signal(Some(Signal::TERM)).context("cannot follow the parent's end")?;
    let now = process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    ensure!(now == Some(parent), "the parent process {parent} has ended, and this process ends with it");
    Ok(())
}

const fn volume(args: &Manage) -> Volume {
    match (args.quiet, args.verbose) {
        (true, _) => Volume::Quiet,
        (_, true) => Volume::Verbose,
        _ => Volume::Normal,
    }
}

/// The size of the terminal; that of a VT100 if the terminal does not report its size.
fn size() -> Size {
    let (columns, rows) = terminal::size().unwrap_or((80, 24));
    Size { columns, rows }
}
