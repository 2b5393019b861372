//! Checks a request: names become algorithms and a model, and numbers are checked against each
//! other and against the workloads. Computes nothing.

use crate::algorithms::{self, Algorithm};
use crate::ask::{Ask, ModelKind};
use crate::error::{StudyError, nearest};
use crate::exact::MOST_EXACT;
use crate::fixed::FixedSolution;
use crate::library::MACHINE;
use crate::workloads::{MOST_PROGRAMS, Workload, too_many};
use isobar_model::profile::Property;
use isobar_optima::Objective;
use isobar_partition::heuristics::Scope;
use isobar_profiles::Profiles;
use isobar_sim::MachineSpec;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Masks of ways have 64 bits.
const MOST_WAYS: usize = 64;
/// The machine on which the published tables were measured.
const MEASURED_ON: &str = "skylake-2x20";

/// A checked request.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub algorithms: Vec<Algorithm>,
    /// The first exact search that was requested by name. `all` leaves out searches that do not
    /// apply.
    named_exact: Option<&'static str>,
    pub model: ModelKind,
    /// The requested bandwidth, for the model; see [`Setup::bandwidth`].
    pub max_bandwidth: Option<f64>,
    /// MB/s of each memory controller: as requested, otherwise the machine's for `queueing`;
    /// `None`: no limit.
    pub bandwidth: Option<f64>,
    /// As requested; see [`Setup::groups`].
    asked_groups: Option<usize>,
    pub uma: bool,
    asked_cores: Option<usize>,
    pub ways: usize,
    pub objective: Objective,
    pub machine: String,
    /// The machine's description.
    pub spec: MachineSpec,
    pub time_limit: Option<Duration>,
}

impl Setup {
    pub fn new(ask: &Ask, profiles: &Profiles, fixed: bool) -> Result<Self, StudyError> {
        let model = choose("--model", &ask.model, &ModelKind::ALL.map(|one| (one.name(), one)))?;
        let algorithms = algorithms(&ask.algorithms, ask.groups.unwrap_or(1))?;
        let exact = |one: &&Algorithm| {
            matches!(one, Algorithm::Exact(_)) && ask.algorithms.iter().any(|name| name == one.name())
        };
        let max_bandwidth = ask.max_bandwidth.map(bandwidth).transpose()?;
        let machine = machine(ask, profiles)?;
        let spec = isobar_sim::machine::find(&machine)?;
        let setup = Self {
            named_exact: algorithms.iter().find(exact).map(Algorithm::name),
            algorithms,
            model,
            max_bandwidth,
            bandwidth: max_bandwidth.or_else(|| (model == ModelKind::Queueing).then(|| own_bandwidth(&spec))),
            asked_groups: ask.groups.map(|groups| positive("--groups", groups)).transpose()?,
            uma: ask.uma,
            asked_cores: ask.cores.map(|cores| positive("--cores", cores)).transpose()?,
            ways: ways(ask.ways, profiles.ways())?,
            objective: choose("--objective", &ask.objective, &Objective::ALL.map(|one| (one.name(), one)))?,
            machine,
            spec,
            time_limit: ask.time_limit,
        };
        setup.fixed_fits(fixed)?;
        Ok(setup)
    }

    fn fixed_fits(&self, given: bool) -> Result<(), StudyError> {
        match (self.algorithms.iter().any(|one| matches!(one, Algorithm::Fixed)), given) {
            (true, false) => Err(StudyError::request("--algorithm fixed needs the solutions: add --solution FILE")),
            (false, true) => {
                Err(StudyError::request("--solution is for --algorithm fixed: add `fixed` to --algorithm"))
            }
            _ => Ok(()),
        }
    }

    /// Number of LLCs for a workload.
    pub fn groups(&self) -> usize {
        self.asked_groups.unwrap_or(1)
    }

    /// Programs that fit on one LLC.
    pub fn cores(&self, programs: usize) -> usize {
        self.asked_cores.unwrap_or_else(|| programs.div_ceil(self.groups()))
    }

    /// Checks whether the algorithms can answer a workload.
    pub fn fits(&self, file: &str, workload: &Workload) -> Result<(), StudyError> {
        let wrong = |problem: String| Err(StudyError::file(file, format!("line {}: {problem}", workload.line)));
        let (programs, groups) = (workload.programs.len(), self.groups());
        if programs > MOST_PROGRAMS {
            return wrong(too_many(programs));
        }
        if groups > programs {
            return wrong(format!(
                "{programs} programs cannot fill {groups} groups: take --groups {programs} or fewer"
            ));
        }
        let cores = groups.saturating_mul(self.cores(programs));
        if cores < programs {
            let least = programs.div_ceil(groups);
            return wrong(format!(
                "{programs} programs do not fit on {cores} cores ({groups} groups of {}): take --cores {least} or more",
                self.cores(programs)
            ));
        }
        match self.named_exact.filter(|_| programs > MOST_EXACT) {
            Some(exact) => wrong(format!(
                "{programs} programs are too many for the exact search of `{exact}`: at most {MOST_EXACT}"
            )),
            None => Ok(()),
        }
    }

    /// Checks whether a given solution can be evaluated.
    pub fn takes(&self, file: &str, index: usize, given: &FixedSolution) -> Result<(), StudyError> {
        let wrong = |problem: String| Err(StudyError::file(file, format!("solutions[{index}]: {problem}")));
        let uses = given.solution.groups.len();
        if let Some(groups) = self.asked_groups.filter(|groups| *groups < uses) {
            return wrong(format!("llc {} is used; --groups {groups} has llc 0 to {}", uses - 1, groups - 1));
        }
        if given.share != Property::Llcmpkc && self.model == ModelKind::Queueing {
            return wrong(
                "`share` has no meaning for the queueing model: leave it out or take --model pbbcache-simple"
                    .to_owned(),
            );
        }
        let busy = given.solution.groups.iter().map(|group| group.iter().map(|one| one.programs.len()).sum::<usize>());
        if let Some((llc, busy)) =
            busy.enumerate().find(|(_, busy)| self.asked_cores.is_some_and(|cores| *busy > cores))
        {
            return wrong(format!(
                "llc {llc} runs {busy} programs; --cores gives it {}",
                self.asked_cores.unwrap_or(0)
            ));
        }
        let valid = given.solution.validate(given.programs.len(), self.ways);
        valid.map_err(|cause| StudyError::Solution { file: file.to_owned(), index, cause })
    }
}

fn choose<T: Copy>(option: &str, name: &str, known: &[(&'static str, T)]) -> Result<T, StudyError> {
    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
    let wrong = || {
        let what = option.trim_start_matches('-');
        let hint = nearest(name, names.iter().copied(), &format!("known are {}", names.join(", ")));
        StudyError::request(format!("{option} {name}: unknown {what}{hint}"))
    };
    known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).ok_or_else(wrong)
}

fn algorithms(names: &[String], groups: usize) -> Result<Vec<Algorithm>, StudyError> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for name in names {
        if name == "all" {
            found.extend(algorithms::all().into_iter().filter(|one| fits(one, groups).is_ok()));
            continue;
        }
        let one = algorithms::find(name).ok_or_else(|| unknown(name))?;
        if !seen.insert(name) {
            return Err(StudyError::request(format!(
                "--algorithm {}: `{name}` occurs twice: name each once",
                names.join(",")
            )));
        }
        fits(&one, groups)?;
        found.push(one);
    }
    let mut once = BTreeSet::new();
    found.retain(|one| once.insert(one.name()));
    Ok(found)
}

/// Checks whether an algorithm is for this number of LLCs. With several LLCs, heuristics for one
/// LLC treat each LLC by itself.
fn fits(one: &Algorithm, groups: usize) -> Result<(), StudyError> {
    let name = one.name();
    match (one, one.scope()) {
        (_, Some(Scope::Groups)) if groups < 2 => Err(StudyError::request(format!(
            "--algorithm {name} decides which program runs on which LLC: give the number of LLCs with --groups N, 2 or \
             more"
        ))),
        (Algorithm::Exact(_), Some(Scope::OneLlc)) if groups > 1 => Err(StudyError::request(format!(
            "--algorithm {name} is for one LLC: with --groups {groups} take opt-map+opt-part or optimal"
        ))),
        _ => Ok(()),
    }
}

fn unknown(name: &str) -> StudyError {
    let names: Vec<_> = algorithms::names();
    let hint = nearest(name, names.iter().copied(), &format!("known are {}", names.join(", ")));
    StudyError::request(format!("--algorithm {name}: unknown algorithm{hint}"))
}

/// Bandwidths that the models can distinguish, in MB/s. Far below, queues grow until their fixed
/// point is larger than any representable number.
pub const BANDWIDTH: RangeInclusive<f64> = 1.0..=1e9;

fn bandwidth(mbps: f64) -> Result<f64, StudyError> {
    let wrong = || StudyError::request(format!("--max-bandwidth {mbps}: expected MB/s from 1 to 1e9, such as 20000"));
    BANDWIDTH.contains(&mbps).then_some(mbps).ok_or_else(wrong)
}

/// MB/s that a memory controller of a machine sustains.
fn own_bandwidth(machine: &MachineSpec) -> f64 {
    isobar_sim::steady(machine, None, &[]).bandwidth() / 1e6
}

pub(crate) fn positive(option: &str, value: usize) -> Result<usize, StudyError> {
    let wrong = || StudyError::request(format!("{option} {value}: expected a whole number from 1 to 1024"));
    (1..=1024).contains(&value).then_some(value).ok_or_else(wrong)
}

pub(crate) fn ways(asked: Option<usize>, of_profiles: usize) -> Result<usize, StudyError> {
    let ways = asked.unwrap_or(of_profiles);
    let wrong = || {
        let from = if asked.is_some() { "" } else { " (as many as the profiles have)" };
        StudyError::request(format!("--ways {ways}{from}: expected a whole number from 1 to {MOST_WAYS}"))
    };
    (1..=MOST_WAYS).contains(&ways).then_some(ways).ok_or_else(wrong)
}

/// The machine on which the profiles were run, otherwise the requested machine.
fn machine(ask: &Ask, profiles: &Profiles) -> Result<String, StudyError> {
    let own = profiles.file().strip_prefix(MACHINE);
    match (own, ask.machine.as_deref()) {
        (Some(own), Some(asked)) if own != asked => Err(StudyError::request(format!(
            "--machine {asked}: the profiles are of {}: leave --machine out",
            profiles.file()
        ))),
        (own, asked) => Ok(asked.or(own).unwrap_or(MEASURED_ON).to_owned()),
    }
}
