//! The metrics of a run, epoch by epoch.

use crate::decisions::Decisions;
use crate::family::{Families, label, named};
use crate::group_chooser::GroupChooser;
use crate::groups::{self, Groups};
use crate::histogram::Histogram;
use crate::machine;
use isobar_model::num::float_len;
use isobar_model::{Observation, Outcome, Plan, Seconds, Sensor};
use isobar_view::View;

/// Bounds of the histogram of epoch lengths, in seconds.
const LENGTHS: &[f64] =
    &[0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 1.0, 1.01, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0];
/// An epoch is late if it is this many times longer than intended.
const LATE: f64 = 1.5;

/// What is known before the first epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// isobar's version.
    pub version: String,
    /// The policy's name.
    pub policy: String,
    /// `this machine`, or what takes its place.
    pub machine: String,
    /// The intended interval in seconds; 0 if it is not known yet ([`Exposition::every`]).
    pub interval_seconds: f64,
    /// Maximum number of groups that have their own series.
    pub most_groups: usize,
}

/// One epoch.
#[derive(Clone, Copy, Debug)]
pub struct Taken<'a> {
    /// The view of it.
    pub view: &'a View,
    /// Everything that was seen.
    pub seen: &'a Observation,
    /// The part that the policy decided on.
    pub managed: &'a Observation,
    /// The decision.
    pub plan: &'a Plan,
    /// The outcome of the plan; `None` in a dry run.
    pub outcome: Option<&'a Outcome>,
    /// Sensors that are missing.
    pub missing: &'a [Sensor],
}

/// The metrics of a run.
#[derive(Clone, Debug)]
pub struct Exposition {
    about: About,
    roster: GroupChooser,
    decisions: Decisions,
    epochs: u64,
    late: u64,
    lengths: Histogram,
    last: Option<Last>,
}

/// What is kept of the last epoch.
#[derive(Clone, Debug)]
struct Last {
    view: View,
    groups: Groups,
    watched: (usize, usize),
    managed: (usize, usize),
    missing: Vec<Sensor>,
}

impl Exposition {
    /// The metrics before the first epoch.
    #[must_use]
    pub fn new(about: About) -> Self {
        let roster = GroupChooser::new(about.most_groups);
        let (decisions, lengths) = (Decisions::default(), Histogram::new(LENGTHS));
        Self { about, roster, decisions, epochs: 0, late: 0, lengths, last: None }
    }

    /// Sets the intended interval between epochs.
    pub const fn every(&mut self, interval: Seconds) {
        self.about.interval_seconds = interval.0;
    }

    /// Sets the policy that decides, if it was replaced.
    pub fn decided_by(&mut self, policy: &str) {
        if self.about.policy != policy {
            policy.clone_into(&mut self.about.policy);
        }
    }

    /// Adds the next epoch.
    pub fn take(&mut self, taken: &Taken<'_>) {
        let Taken { view, seen, managed, plan, outcome, missing } = *taken;
        self.decisions.take(plan, outcome, &seen.page_moves);
        self.epochs += 1;
        self.lengths.observe(seen.interval.0);
        if self.about.interval_seconds > 0.0 && seen.interval.0 > LATE * self.about.interval_seconds {
            self.late += 1;
        }
        let sizes = |of: &Observation| (of.processes.len(), of.threads().count());
        self.last = Some(Last {
            groups: groups::groups(view, &mut self.roster),
            view: without_programs(view),
            watched: sizes(seen),
            managed: sizes(managed),
            missing: missing.to_vec(),
        });
    }

    /// The families as of the last epoch. Before the first epoch, those that are known by then.
    #[must_use]
    pub fn families(&self) -> Families {
        let mut all = Families::default();
        self.run(&mut all);
        if let Some(last) = &self.last {
            machine::families(&last.view, &mut all);
            groups::families(&last.groups, &last.view.nodes, &mut all);
            last.watching(&mut all);
        }
        self.decisions.families(&mut all);
        all
    }

    fn run(&self, all: &mut Families) {
        let About { version, policy, machine, .. } = &self.about;
        let build = vec![label("version", version)];
        all.gauge(named("build_info", "", "The version of isobar; always 1"), [(build, Some(1.0))]);
        let acts = self.last.as_ref().map(|last| if last.view.acts { "true" } else { "false" });
        let run = vec![label("policy", policy), label("machine", machine), label("acts", acts.unwrap_or("unknown"))];
        let help = "The policy, the machine, and whether decisions are carried out; always 1";
        all.gauge(named("run_info", "", help), [(run, Some(1.0))]);
        let interval = Some(self.about.interval_seconds).filter(|it| *it > 0.0);
        all.one(named("epoch_interval", "seconds", "The configured time between decisions"), interval);
        all.counter(named("epochs", "", "Decisions made"), [(Vec::new(), self.epochs)]);
        let help = "Epochs that took at least half again as long as configured";
        all.counter(named("epochs_late", "", help), [(Vec::new(), self.late)]);
        all.histogram(named("epoch_duration", "seconds", "Time between decisions"), &self.lengths);
    }
}

impl Last {
    fn watching(&self, all: &mut Families) {
        let mut one = |named, count: usize| all.one(named, Some(float_len(count)));
        one(named("watched_processes", "", "Processes that are watched"), self.watched.0);
        one(named("watched_threads", "", "Threads that are watched"), self.watched.1);
        one(named("managed_processes", "", "Processes that the policy decides about"), self.managed.0);
        one(named("managed_threads", "", "Threads that the policy decides about"), self.managed.1);
        let missing = self.missing.iter().map(|sensor| (vec![label("sensor", name(*sensor))], Some(1.0)));
        let help = "1 for each sensor that this machine lacks; available sensors have no sample";
        all.gauge(named("sensor_missing", "", help), missing);
    }
}

/// A view without the data that the groups already contain.
fn without_programs(view: &View) -> View {
    let mut rest = View { programs: Vec::new(), ..View::default() };
    rest.nodes.clone_from(&view.nodes);
    rest.latency.clone_from(&view.latency);
    rest.llcs.clone_from(&view.llcs);
    rest.links.clone_from(&view.links);
    rest.verdict.clone_from(&view.verdict);
    rest.proposed.clone_from(&view.proposed);
    (rest.acts, rest.pages_under_way, rest.time_seconds) = (view.acts, view.pages_under_way, view.time_seconds);
    rest
}

const fn name(sensor: Sensor) -> &'static str {
    match sensor {
        Sensor::Instructions => "instructions",
        Sensor::LlcMisses => "llc_misses",
        Sensor::PagesByNode => "pages_by_node",
        Sensor::Latency => "latency",
        Sensor::SeveralNodes => "several_nodes",
        Sensor::SeveralDomains => "several_domains",
        Sensor::CacheWays => "cache_ways",
        Sensor::AccessedPages => "accessed_pages",
        Sensor::Allocation => "allocation",
    }
}
