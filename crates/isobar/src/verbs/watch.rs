//! What `manage`, `explain`, `top` and `doctor` share: from what was typed and configured to what
//! is needed, and the machine it runs on.

use super::options::{seed, within};
use crate::deciders::{self, Place};
use crate::failure::{self, bad_input};
use crate::machines::{linux, simulated};
use crate::metrics::{self, Exposer, Paced};
use crate::on_purpose;
use crate::output::Queue;
use crate::record::{self, Inputs, Recording, Wanted};
use crate::report::{Aftermath, Profiles, Reporter, WallClock};
use crate::signals::StopFlag;
use crate::text::plural;
use isobar_model::{Machine, Pid, Policy, Seconds};
use isobar_recording::{About, Bounds, RecordingError, about};
use isobar_runtime::selection::Rules;
use isobar_runtime::settings::{self, Config, DEFAULT_INTERVAL_SECONDS, INTERVAL_SECONDS, ManageConfig, MetricsConfig};
use isobar_runtime::{Limits, Loop, Surroundings, policies};
use isobar_sim::SimMachine;
use jiff::Zoned;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `manage`, `explain`, `top` and `doctor` share.
#[derive(Clone, Debug, clap::Args)]
#[allow(rustdoc::broken_intra_doc_links)] // These comments are the text of --help: [manage] is a section, not a link.
pub struct WatchArgs {
    /// The policy (`isobar --help` lists them), unless `policy` in the section [manage] of the
    /// configuration names it
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// Settings as TOML: a section [manage] and one for each policy; the command line wins
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Manage only this process name, process id, group such as unit:redis.service, or cgroup path
    /// and what is below it, all but ids also as globs; may be repeated
    #[arg(long, value_name = "NAME|PID|GROUP|CGROUP")]
    pub only: Vec<String>,
    /// One setting, such as manage.min_cpu_percent=5 or dino.stray_percent=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seconds from decision to decision, 0.01 to 86400; else 1, or what a simulated workload asks
    /// for
    #[arg(long, value_name = "S", value_parser = interval_seconds)]
    pub interval: Option<f64>,
    /// A simulated machine instead of this one
    #[arg(long, value_name = "sim:FILE")]
    pub machine: Option<String>,
    /// Seed of the simulated machine
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Serve metrics for Prometheus at this address (or port of the loopback), as
    /// http://ADDR/metrics; a simulated machine then keeps time, unless --speed says otherwise
    #[arg(long, value_name = "ADDR", value_parser = settings::address)]
    pub metrics: Option<SocketAddr>,
    /// Print JSON: `manage` one document an epoch and a summary, the others one document
    #[arg(long)]
    pub json: bool,
}

fn interval_seconds(text: &str) -> Result<f64, String> {
    let (low, high) = (INTERVAL_SECONDS.start(), INTERVAL_SECONDS.end());
    within(text, INTERVAL_SECONDS, &format!("seconds from {low} to {high}, such as 0.5 or 10"))
}

/// Everything that the loop needs, checked; nothing is opened yet.
pub struct Needed {
    /// What decides.
    pub policy: Box<dyn Policy>,
    /// The section `[manage]`, with what was typed.
    pub config: ManageConfig,
    /// Everything that was set, as it was read.
    pub whole: Config,
    /// The machine to run on.
    pub target: Target,
    /// Which threads are managed.
    pub rules: Rules,
    /// How long and how.
    pub limits: Limits,
    /// Where to what the policy learns of programs is written at the end.
    pub profiles: Option<Profiles>,
    /// The recording that is made of the run.
    pub recording: Option<(PathBuf, Bounds)>,
    /// Where metrics are served, and for how many groups.
    pub metrics: Option<(SocketAddr, usize)>,
    /// Seconds of a simulated machine in a second; `None`: as fast as it can.
    pub speed: Option<f64>,
    about: About,
}

/// The machine to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// This one.
    Linux,
    /// A simulated one.
    Sim {
        /// the file of its workload
        workload: PathBuf,
        /// the seed of its chance
        seed: u64,
    },
    /// One that was recorded, to be looked at.
    Recording(PathBuf),
}

impl Needed {
    /// Reads the configuration and builds the policy; the command line wins.
    ///
    /// # Errors
    /// Bad input.
    pub fn from_args(args: &WatchArgs) -> anyhow::Result<Self> {
        Self::from_args_or(args, None)
    }

    /// The same, with the policy where none is named.
    ///
    /// # Errors
    /// Bad input.
    pub fn from_args_or(args: &WatchArgs, policy: Option<&str>) -> anyhow::Result<Self> {
        let inputs = Inputs::default();
        let read = |path: &Path| inputs.read(path);
        let mut config = Config::load(args.config.as_deref(), &args.set, &read).map_err(bad_input)?;
        config.manage.interval_seconds = args.interval.or(config.manage.interval_seconds);
        if !args.only.is_empty() {
            settings::named("--only", &args.only).map_err(bad_input)?;
            config.manage.only.clone_from(&args.only);
        }
        let named = args.policy.clone().or_else(|| config.manage.policy.clone());
        let name = named.or_else(|| policy.map(str::to_owned)).ok_or_else(no_policy)?;
        let target = Target::parse(args.machine.as_deref(), args.seed)?;
        let interval = config.manage.interval_seconds.unwrap_or(DEFAULT_INTERVAL_SECONDS);
        let policy = deciders::build(&name, &config, &read, Place::AtWork(target.patience(interval)))?;
        Ok(Self {
            policy: on_purpose::perhaps(policy),
            rules: config.manage.rules(target.never_managed()),
            target,
            limits: Limits::every(Seconds(config.manage.interval_seconds.unwrap_or(DEFAULT_INTERVAL_SECONDS))),
            config: config.manage.clone(),
            profiles: None,
            recording: None,
            metrics: served(args.metrics, &config.metrics)?,
            speed: None,
            about: About { facts: facts(args, &name), inputs: inputs.take() },
            whole: config,
        })
    }

    /// The recording that is made of the run, with the file to be made.
    ///
    /// # Errors
    /// Where it is there already or cannot be made.
    pub fn start_recording(&self) -> anyhow::Result<Option<Recording>> {
        let Some((file, bounds)) = &self.recording else { return Ok(None) };
        self.recording_to(file.clone(), *bounds).map(Some)
    }

    /// A recording of the run to a file.
    ///
    /// # Errors
    /// As [`Needed::start_recording`].
    pub fn recording_to(&self, file: PathBuf, bounds: Bounds) -> anyhow::Result<Recording> {
        self.tape().start_to(file, bounds)
    }

    /// What recordings of this run are made from.
    pub fn tape(&self) -> Tape {
        let mut about = self.about.clone();
        about.facts.insert(about::INTERVAL.to_owned(), self.limits.interval.0.to_string());
        about.facts.insert(about::DRY_RUN.to_owned(), self.limits.dry_run.to_string());
        Tape { about, is_simulated: self.target != Target::Linux }
    }

    /// The metrics that are served of the run, where they are to be.
    ///
    /// # Errors
    /// Bad input where the address cannot be had.
    pub fn expose(&self) -> anyhow::Result<Option<Exposer>> {
        let Some((address, most_groups)) = self.metrics else { return Ok(None) };
        let about = isobar_metrics::About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy: self.policy.name().to_owned(),
            machine: self.about.facts.get(about::MACHINE).cloned().unwrap_or_default(),
            interval_seconds: 0.0,
            most_groups,
        };
        let recording = self.recording.as_ref().map(|(file, _)| file.clone());
        Exposer::start(metrics::Wanted { address, about, recording }).map(Some)
    }

    /// Seconds of the machine in a second, where it is held to that: a simulated machine of which
    /// metrics are served would be over before the first scrape.
    fn pace(&self) -> Option<f64> {
        let is_simulated = matches!(self.target, Target::Sim { .. });
        self.speed.or(self.metrics.map(|_| 1.0)).filter(|_| is_simulated)
    }

    /// Whether the output is worth waiting for: a simulated machine stands still meanwhile, and
    /// `explain` (which alone counts epochs) has nothing to put back.
    fn can_wait(&self) -> bool {
        self.target != Target::Linux || self.limits.epochs.is_some()
    }

    /// The clock that stamps what is printed; a simulated machine has none.
    pub fn clock(&self) -> WallClock {
        match self.target {
            Target::Linux => WallClock::system(),
            Target::Sim { .. } | Target::Recording(_) => WallClock::none(),
        }
    }
}

/// Where metrics are served, and for how many groups; what was typed wins.
fn served(typed: Option<SocketAddr>, config: &MetricsConfig) -> anyhow::Result<Option<(SocketAddr, usize)>> {
    let address = typed.map_or_else(|| config.address(), |address| Ok(Some(address))).map_err(bad_input)?;
    Ok(address.map(|address| (address, usize::try_from(config.groups).unwrap_or(usize::MAX))))
}

/// What recordings of a run are made from, while it goes on.
#[derive(Clone, Debug)]
pub struct Tape {
    about: About,
    is_simulated: bool,
}

impl Tape {
    /// A recording to a new file in the working folder, named by the time of day.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn start(&self) -> anyhow::Result<Recording> {
        let now = Zoned::now().strftime("%Y%m%d-%H%M%S");
        self.start_to(format!("isobar-{now}.isobar").into(), Bounds::default())
    }

    fn start_to(&self, file: PathBuf, bounds: Bounds) -> anyhow::Result<Recording> {
        let wanted = Wanted { file, bounds, about: self.about.clone(), is_simulated: self.is_simulated };
        Recording::start(&wanted).map_err(bad_input)
    }
}

/// What is known of a run before it begins.
fn facts(args: &WatchArgs, policy: &str) -> BTreeMap<String, String> {
    let mut facts = if args.machine.is_none() { record::here() } else { BTreeMap::new() };
    let mut add = |key: &str, value: String| drop(facts.insert(key.to_owned(), value));
    add(about::ISOBAR, env!("CARGO_PKG_VERSION").to_owned());
    add(about::POLICY, policy.to_owned());
    add(about::MACHINE, args.machine.clone().unwrap_or_else(|| "this machine".to_owned()));
    add(about::SETS, serde_json::json!(args.set).to_string());
    if let Some(config) = &args.config {
        add(about::CONFIG, config.display().to_string());
    }
    facts
}

/// How a notice of dropped lines is put, for programs or people.
pub fn notice(json: bool) -> fn(u64) -> String {
    if json {
        |lines| serde_json::json!({ "dropped_lines": lines }).to_string()
    } else {
        |lines| format!("isobar: {}", dropped(lines))
    }
}

fn dropped(lines: u64) -> String {
    format!("{} of output dropped: the reader did not keep up", plural(lines, "line"))
}

/// Writes what is still queued, when everything is put back; a reader that does not read is given
/// up after a while.
///
/// # Errors
/// What went wrong before, else what went wrong with standard output.
pub fn finish(done: anyhow::Result<()>, queue: Queue) -> anyhow::Result<()> {
    let drained = queue.finish();
    done?;
    let left = drained?;
    if left > 0 {
        failure::tell(&dropped(left));
    }
    Ok(())
}

fn no_policy() -> anyhow::Error {
    let known = policies::names().join(", ");
    bad_input(format!("no policy: expected --policy NAME, or `policy` in the section [manage]; there are {known}"))
}

/// Seconds between two decisions of a program where nothing hurries.
const STILL: f64 = 20.0;

impl Target {
    fn parse(text: Option<&str>, seed: u64) -> anyhow::Result<Self> {
        match text.map(|text| text.strip_prefix("sim:").ok_or(text)) {
            None => Ok(Self::Linux),
            Some(Ok(file)) if !file.is_empty() => Ok(Self::Sim { workload: file.into(), seed }),
            Some(Err(file)) if Path::new(file).is_file() => Ok(Self::Recording(file.into())),
            Some(Ok(text) | Err(text)) => Err(bad_input(format!(
                "--machine {text}: expected sim:FILE, such as sim:workload.toml, or a recording that is there"
            ))),
        }
    }

    /// The time between two decisions as a program that decides sees it: a simulated machine
    /// stands still meanwhile.
    fn patience(&self, interval: f64) -> f64 {
        if *self == Self::Linux { interval } else { STILL }
    }

    /// The tool itself; a simulated process may have its number by chance.
    fn never_managed(&self) -> BTreeSet<Pid> {
        if *self == Self::Linux { BTreeSet::from([Pid(std::process::id())]) } else { BTreeSet::new() }
    }
}

/// Opens the machine and runs the loop.
///
/// # Errors
/// As [`Loop::run`], and where the machine cannot be opened.
pub fn drive(mut needed: Needed, queue: &Queue, reporter: &mut dyn Reporter) -> anyhow::Result<()> {
    // Before anything is opened: a signal must find the loop, which puts back, and not the default
    // action.
    let changed = linux::Changed::default();
    let patience = Duration::from_secs_f64(needed.config.stop_seconds);
    let left = changed.clone();
    let stop = StopFlag::install_patient(&linux::stop_signals(), patience, move || left.in_words())?;
    if needed.can_wait() {
        let stopped = stop.clone();
        queue.wait_for_the_reader(move || stopped.is_raised());
    }
    let stop = || stop.is_raised();
    let exposer = needed.expose()?;
    match needed.target.clone() {
        Target::Linux => {
            long_enough(needed.limits)?;
            let (machine, recovered) = linux::open(&needed.config, needed.limits.dry_run)?;
            let machine = linux::switched_on(machine, &*needed.policy);
            changed.watch(&machine, &needed.config);
            let own_cpu = Some(&linux::own_cpu_time as &dyn Fn() -> Seconds);
            let surroundings =
                Surroundings { cgroups: &linux::cgroup_of, stop: &stop, own_cpu, recovered, ..Surroundings::default() };
            over(machine, needed, surroundings, exposer, queue, reporter, |machine| Aftermath {
                remarks: linux::put_back_remarks(machine),
                ..Aftermath::default()
            })
        }
        Target::Recording(file) => Err(bad_input(format!(
            "--machine {0}: a recording cannot be managed: `isobar replay {0} --policy NAME` asks what a policy would have done, \
             `isobar top --machine {0}` shows it",
            file.display()
        ))),
        Target::Sim { workload, seed } => {
            let workload = simulated::read(&workload)?;
            let machine = SimMachine::new(&workload, seed).probing_for(needed.policy.needs());
            needed.limits.interval = needed.config.interval_seconds.map_or_else(|| machine.epoch(), Seconds);
            long_enough(needed.limits)?;
            // What the simulator costs is not the cost of watching, and would differ from run to
            // run.
            let surroundings = Surroundings { stop: &stop, ..Surroundings::default() };
            over(machine, needed, surroundings, exposer, queue, reporter, |machine| Aftermath {
                truth: Some(simulated::truth(&workload, machine)),
                ..Aftermath::default()
            })
        }
    }
}

/// A run that ends before its first decision would watch in vain.
fn long_enough(limits: Limits) -> anyhow::Result<()> {
    let interval = limits.interval.0;
    match limits.duration.filter(|duration| duration.0 < interval) {
        Some(Seconds(duration)) => Err(bad_input(format!(
            "--for {duration}: shorter than the interval of {interval} s, so nothing would be decided: give --for {interval} \
             or more, or a shorter --interval"
        ))),
        None => Ok(()),
    }
}

fn over<M: Machine>(
    machine: M,
    needed: Needed,
    surroundings: Surroundings<'_>,
    mut exposer: Option<Exposer>,
    queue: &Queue,
    reporter: &mut dyn Reporter,
    aftermath: impl Fn(&M) -> Aftermath,
) -> anyhow::Result<()> {
    let recording = needed.start_recording()?;
    let (pace, stop) = (needed.pace(), surroundings.stop);
    let Needed { policy, rules, limits, profiles, .. } = needed;
    if let Some(exposer) = &mut exposer {
        exposer.every(limits.interval);
        exposer.announce();
    }
    let mut run = Loop::new(machine, policy, limits).selecting(rules).within(surroundings);
    // What shows the run, from the inside out.
    let dropped = || queue.dropped_lines();
    let (mut paced, mut exposed);
    let mut all: &mut dyn Reporter = reporter;
    if let Some(speed) = pace {
        paced = Paced::new(all, speed, stop);
        all = &mut paced;
    }
    if let Some(exposer) = &mut exposer {
        exposed = exposer.beside(all, &dropped);
        all = &mut exposed;
    }
    shown(&mut run, all, recording, aftermath)??;
    profiles.map_or(Ok(()), |profiles| profiles.write(&run.policy().learnt()))
}

/// Runs a loop to its end, shows it and records it. Apart: why a recording ended early, which is
/// no reason for the run to.
///
/// # Errors
/// As [`Loop::run`].
pub fn shown<M: Machine>(
    run: &mut Loop<'_, M>,
    reporter: &mut dyn Reporter,
    mut recording: Option<Recording>,
    aftermath: impl Fn(&M) -> Aftermath,
) -> anyhow::Result<Result<(), RecordingError>> {
    let ended = match &mut recording {
        Some(recording) => run.run(&mut recording.beside(reporter)),
        None => run.run(reporter),
    };
    // Whatever ended the run: what was recorded of it is worth keeping.
    let recorded = recording.map(Recording::finish).transpose();
    let mut after = aftermath(run.machine());
    after.recorded = recorded.as_ref().ok().copied().flatten();
    if ended.is_err() {
        // The report's end is not written then.
        after.remarks.iter().for_each(|remark| failure::tell(&format!("remark: {remark}")));
        let why = recorded.as_ref().err();
        why.iter().for_each(|why| failure::tell(&format!("remark: the recording ended early: {why}")));
    }
    reporter.end(&ended?, &after)?;
    Ok(recorded.map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_this_one_or_a_simulated_one() {
        assert_eq!(Target::parse(None, 1).unwrap(), Target::Linux);
        let sim = Target::Sim { workload: "a.toml".into(), seed: 7 };
        assert_eq!(Target::parse(Some("sim:a.toml"), 7).unwrap(), sim);
        for wrong in ["sim:", "a.toml", ""] {
            assert!(Target::parse(Some(wrong), 1).unwrap_err().to_string().contains("expected sim:FILE"));
        }
    }

    #[test]
    fn the_tool_itself_is_never_managed_and_a_simulated_namesake_is() {
        assert_eq!(Target::Linux.never_managed(), BTreeSet::from([Pid(std::process::id())]));
        assert!(Target::Sim { workload: "a".into(), seed: 1 }.never_managed().is_empty());
    }

    #[test]
    fn a_notice_is_a_line_for_people_or_a_document_for_programs() {
        assert_eq!(notice(false)(12), "isobar: 12 lines of output dropped: the reader did not keep up");
        assert_eq!(notice(false)(1), "isobar: 1 line of output dropped: the reader did not keep up");
        assert_eq!(notice(true)(12), r#"{"dropped_lines":12}"#);
    }
}
