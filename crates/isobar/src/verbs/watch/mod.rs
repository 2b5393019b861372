//! What `manage`, `explain`, `top` and `doctor` share: turns what was typed and configured into
//! what the loop needs, including its machine.

mod drive;
mod recording_template;
mod target;

pub use drive::{drive, finish, notice, shown};
pub use recording_template::RecordingTemplate;
pub use target::Target;

use super::options::{seed, within};
use crate::deciders::{self, Place};
use crate::failure::bad_input;
use crate::metrics::{self, Exposer};
use crate::on_purpose;
use crate::record::{Inputs, Recording};
use crate::report::{Profiles, WallClock};
use crate::signals::StopFlag;
use isobar_model::{Policy, Seconds};
use isobar_recording::{About, Bounds, about};
use isobar_runtime::selection::Rules;
use isobar_runtime::settings::{self, Config, DEFAULT_INTERVAL_SECONDS, INTERVAL_SECONDS, ManageConfig, MetricsConfig};
use isobar_runtime::{Limits, policies};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The help of --only for verbs that show also what they do not decide about.
pub const ONLY_DECIDE: &str = "Decide only about what this selects (others are still shown): a process name, a process \
                               id, tree:PID for a process and all that it started, a group such as \
                               unit:redis.service, or a cgroup path and everything below it. All but ids may be \
                               globs; may be repeated";

/// The help of --policy for verbs with a policy of their own if none is named.
pub fn policy_or(other: &str) -> String {
    format!(
        "The policy (`isobar --help` lists them) [default: `policy` in the section [manage] of the configuration, else \
         {other}]"
    )
}

/// What `manage`, `explain`, `top` and `doctor` share.
#[derive(Clone, Debug, clap::Args)]
#[allow(rustdoc::broken_intra_doc_links)] // These comments are the text of --help: [manage] is a section, not a link.
pub struct WatchArgs {
    /// The policy (`isobar --help` lists them) [default: `policy` in the section [manage] of the
    /// configuration]
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// TOML file with settings: a section [manage] and one for each policy; the command line wins
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Manage only what this selects: a process name, a process id, tree:PID for a process and all
    /// that it started, a group such as unit:redis.service, or a cgroup path and everything below
    /// it. All but ids may be globs; may be repeated
    #[arg(long, value_name = "NAME|PID|GROUP|CGROUP")]
    pub only: Vec<String>,
    /// One setting, such as manage.min_cpu_percent=5 or dino.stray_percent=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seconds between decisions, 0.01 to 86400 [default: 1, or what a simulated workload asks for]
    #[arg(long, value_name = "S", value_parser = interval_seconds)]
    pub interval: Option<f64>,
    /// A simulated machine instead of this one
    #[arg(long, value_name = "sim:FILE")]
    pub machine: Option<String>,
    /// Seed of the simulated machine
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Serve metrics for Prometheus at http://ADDR/metrics; ADDR is an address and port, or a port
    /// of the loopback. A simulated machine then runs in real time, unless --speed says otherwise
    #[arg(long, value_name = "ADDR", value_parser = settings::address)]
    pub metrics: Option<SocketAddr>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

fn interval_seconds(text: &str) -> Result<f64, String> {
    let (low, high) = (INTERVAL_SECONDS.start(), INTERVAL_SECONDS.end());
    within(text, INTERVAL_SECONDS, &format!("seconds from {low} to {high}, such as 0.5 or 10"))
}

/// Everything that the loop needs, already checked; nothing is opened yet.
pub struct Needed {
    /// The policy.
    pub policy: Box<dyn Policy>,
    /// The section `[manage]`, with what was typed.
    pub config: ManageConfig,
    /// All settings, as they were read.
    pub whole: Config,
    /// The machine to run on.
    pub target: Target,
    /// Which threads are managed.
    pub rules: Rules,
    /// How long to run, and how.
    pub limits: Limits,
    /// The file to which the policy's profiles of programs are written at the end.
    pub profiles: Option<Profiles>,
    /// The recording to make of the run.
    pub recording: Option<(PathBuf, Bounds)>,
    /// The address where metrics are served, and for how many groups.
    pub metrics: Option<(SocketAddr, usize)>,
    /// Seconds of a simulated machine that pass in one second; `None` for as fast as possible.
    pub speed: Option<f64>,
    /// Ends the run when it is raised, and the policy's wait for a program.
    pub stop: StopFlag,
    about: About,
}

impl Needed {
    /// Reads the configuration and builds the policy; the command line wins.
    ///
    /// # Errors
    /// Bad input.
    pub fn from_args(args: &WatchArgs) -> anyhow::Result<Self> {
        Self::from_args_or(args, None, StopFlag::default())
    }

    /// Like [`Needed::from_args`], with a policy to use if none is named, and the flag that ends
    /// the run.
    ///
    /// # Errors
    /// Bad input.
    pub fn from_args_or(args: &WatchArgs, policy: Option<&str>, stop: StopFlag) -> anyhow::Result<Self> {
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
        let here = target == Target::Linux;
        let place = Place::AtWork { interval: target.patience(interval), here, stop: &stop };
        let policy = deciders::build(&name, &config, &read, place)?;
        let facts = recording_template::facts(&name, args.machine.as_deref(), args.config.as_deref(), &args.set);
        Ok(Self {
            policy: on_purpose::perhaps(policy),
            rules: config.manage.rules(target.never_managed()),
            target,
            limits: Limits::every(Seconds(interval)),
            config: config.manage.clone(),
            profiles: None,
            recording: None,
            metrics: served(args.metrics, &config.metrics)?,
            speed: None,
            stop,
            about: About { facts, inputs: inputs.take() },
            whole: config,
        })
    }

    /// Starts the recording of the run, if there is to be one, by creating its file.
    ///
    /// # Errors
    /// If the file exists already or cannot be created.
    pub fn start_recording(&self) -> anyhow::Result<Option<Recording>> {
        let Some((file, bounds)) = &self.recording else { return Ok(None) };
        self.recording_template().start_to(file.clone(), *bounds).map(Some)
    }

    /// Makes each of `signals` end the run in order, and returns the flag that they raise. If the
    /// process still runs `manage.stop_seconds` after the first, it prints what `left` returns and
    /// ends.
    ///
    /// # Errors
    /// As [`StopFlag::raise_on`].
    pub fn stops_on(
        &self,
        signals: &[i32],
        left: impl FnOnce() -> String + Send + 'static,
    ) -> anyhow::Result<StopFlag> {
        self.stop.raise_on(signals, Duration::from_secs_f64(self.config.stop_seconds), left)?;
        Ok(self.stop.clone())
    }

    /// The texts of the files that the configuration names, by path; without the configuration.
    pub fn named_texts(&self) -> BTreeMap<String, String> {
        let mut texts = self.about.inputs.clone();
        texts.retain(|path, _| self.about.facts.get(about::CONFIG) != Some(path));
        texts
    }

    /// What recordings of this run are made from.
    pub fn recording_template(&self) -> RecordingTemplate {
        let mut about = self.about.clone();
        about.facts.insert(about::INTERVAL.to_owned(), self.limits.interval.0.to_string());
        about.facts.insert(about::DRY_RUN.to_owned(), self.limits.dry_run.to_string());
        RecordingTemplate::new(about, self.target != Target::Linux)
    }

    /// Starts to serve the metrics of the run, if they are to be served.
    ///
    /// # Errors
    /// As [`Exposer::start`].
    pub fn expose(&self) -> anyhow::Result<Option<Exposer>> {
        let Some((address, most_groups)) = self.metrics else { return Ok(None) };
        let about = isobar_metrics::About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy: self.policy.name().to_owned(),
            machine: self.about.facts.get(about::MACHINE).cloned().unwrap_or_default(),
            interval_seconds: 0.0,
            most_groups,
        };
        Exposer::start(metrics::Wanted { address, about }).map(Some)
    }

    /// Seconds of the machine that pass in one second, if its speed is limited. A simulated machine
    /// whose metrics are served would otherwise end before the first scrape.
    fn pace(&self) -> Option<f64> {
        let is_simulated = matches!(self.target, Target::Sim { .. });
        self.speed.or(self.metrics.map(|_| 1.0)).filter(|_| is_simulated)
    }

    /// Whether to wait for the reader of the output. A simulated machine stands still meanwhile,
    /// and `explain` (the only verb that counts epochs) has nothing to put back.
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

/// Where metrics are served, and for how many groups. What was typed takes precedence.
fn served(typed: Option<SocketAddr>, config: &MetricsConfig) -> anyhow::Result<Option<(SocketAddr, usize)>> {
    let address = typed.map_or_else(|| config.address(), |address| Ok(Some(address))).map_err(bad_input)?;
    Ok(address.map(|address| (address, usize::try_from(config.groups).unwrap_or(usize::MAX))))
}

fn no_policy() -> anyhow::Error {
    let known = policies::names().join(", ");
    bad_input(format!("no policy: expected --policy NAME, or `policy` in the section [manage]; there are {known}"))
}
