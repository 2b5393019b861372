//! `isobar manage`: the loop over this machine or a simulated one, reported to a person or a
//! program.

use super::Verb;
use super::options::{positive_seconds, speed};
use super::recording::RecordOptions;
use super::watch::{self, Needed, WatchArgs};
use crate::output::{Chunks, Queue};
use crate::report::{Human, Json, Profiles, Size, Volume};
use crate::terminal;
use anyhow::{Context, ensure};
use isobar_model::Seconds;
use rustix::process::{self, Signal};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// Watch the machine and apply a policy every epoch; put everything back at the end
#[derive(Debug, clap::Parser)]
#[command(
    name = "manage",
    after_help = "Example:
  isobar manage --policy dino --dry-run --for 10
  isobar manage --policy dino --only 'postgres*' --config examples/isobar.toml
  isobar manage --policy isobar --only unit:redis.service --dry-run --for 10
  isobar manage --policy dino --machine sim:examples/workloads/dino-spec.toml
  isobar manage --policy isobar --metrics 127.0.0.1:9464

Groups of --only: unit:redis.service, slice:batch, docker:NAME, container:ID, pod:NAMESPACE/NAME, qos:burstable, vm:NAME ...

Patterns of --only (quote them): * is any characters, ? one, [abc] one of these; in a path not /, but ** alone between \
slashes is any folders; [*], [?] and [[] are the characters themselves. A path counts in every cgroup hierarchy, of \
version 1, too; /sys/fs/cgroup/CONTROLLER/PATH names one of those.

Every signal that can be caught (Ctrl-C, SIGTERM, SIGHUP, ...) ends it in order, however often it comes; what is not put back
within manage.stop_seconds is reported. After a kill -9, `isobar restore` or the next run puts back.

Nothing waits for who reads the output: lines that find no reader are dropped and counted. Many actions of one kind are one
line, and at most 20 lines of a kind are printed in 10 s; the next one says how many more there were. With --json every epoch
has all its actions; `missing`, `lacking` and `remarks` stand in the first document and then where they change."
)]
pub struct Manage {
    /// what to watch and how
    #[command(flatten)]
    watch: WatchArgs,
    /// Decide and tell, but change nothing (policies that move accessed pages look for them all the
    /// same: by DAMON or by clearing accessed bits)
    #[arg(long)]
    dry_run: bool,
    /// Seconds to run, at least one interval [default: until Ctrl-C]
    #[arg(long = "for", value_name = "S", value_parser = positive_seconds)]
    duration: Option<f64>,
    /// Seconds of a simulated machine in a second, 0.01 to 10000 (else as fast as it can be
    /// computed, or 1 where metrics are served)
    #[arg(long, value_name = "TIMES", value_parser = speed, requires = "machine")]
    speed: Option<f64>,
    /// At the end, write what the policy measured of programs with more and fewer cache ways, as
    /// profiles that `study` reads
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
    /// End in order when this process ends, which must have started us
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
    watch::drive(needed, queue, &mut Human::new(&mut out, size, clock, volume(args)))
}

/// Asks the kernel for SIGTERM when our parent ends (`PR_SET_PDEATHSIG`, prctl(2)), which is caught
/// like any other; an error where it has ended before.
fn end_with(parent: u32) -> anyhow::Result<()> {
    process::set_parent_process_death_signal(Some(Signal::TERM)).context("cannot follow the parent's end")?;
    let now = process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    ensure!(now == Some(parent), "process {parent}, which this one was to end with, has ended");
    Ok(())
}

const fn volume(args: &Manage) -> Volume {
    match (args.quiet, args.verbose) {
        (true, _) => Volume::Quiet,
        (_, true) => Volume::Verbose,
        _ => Volume::Normal,
    }
}

/// The size of the terminal; that of a VT100 where it does not say.
fn size() -> Size {
    let (columns, rows) = terminal::size().unwrap_or((80, 24));
    Size { columns, rows }
}
