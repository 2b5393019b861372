//! Studies the workloads of section IV, each answered by every approach under a static model.

use super::approaches::{self, Answer, Point};
use super::workloads::{PLATFORMS, Platform};
use crate::error::LabError;
use crate::parallel;
use crate::reproduce::dc::draw::WorkloadRng;
use crate::reproduce::dc::extent::Extent;
use crate::reproduce::options::Options;
use isobar_partition::model::{Bandwidth, PbbCache, StaticModel};
use isobar_profiles::Profiles;
use isobar_sim::machine::{MachineSpec, find};
use isobar_sim::program::{Library, shipped};
use isobar_sim::{Run, Workload};
use isobar_study::Queueing;
use std::sync::Arc;

/// The static model to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// The simulator's contention model.
    Queueing,
    /// The model of the paper's simulator.
    PbbCache,
}

/// A workload and the answers of every approach.
#[derive(Clone, Debug)]
pub(crate) struct Studied {
    pub platform: &'static str,
    pub programs: Vec<&'static str>,
    pub random: Point,
    /// In the order of [`APPROACHES`].
    pub answers: Vec<Answer>,
}

impl Studied {
    /// Unfairness and STP of an approach, divided by those of the random mapping.
    pub fn normalised(&self, approach: usize) -> Point {
        let Point { unfairness, stp } = self.answers[approach].point;
        Point { unfairness: unfairness / self.random.unfairness, stp: stp / self.random.stp }
    }
}

/// The shared inputs for a platform's workloads.
struct Bench {
    platform: Platform,
    machine: MachineSpec,
    library: Library,
    profiles: Profiles,
    /// Bandwidth of a memory node, in MB/s.
    bandwidth: f64,
}

/// The machines without programs: in a static study, programs are only profiles.
pub(crate) fn machines(options: &Options) -> Result<Vec<Workload>, LabError> {
    let bare = |platform: Platform| {
        let machine = options.vary_machine(find(platform.machine)?)?;
        Ok(Workload { machine: Arc::new(machine), apps: Vec::new(), run: Run::default() })
    };
    PLATFORMS.into_iter().map(bare).collect()
}

/// Studies every workload of both platforms; `progress` is called after each.
pub(crate) fn study(
    model: Model,
    extent: &Extent,
    options: &Options,
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<Studied>, LabError> {
    let mut all = Vec::new();
    for (platform, count) in PLATFORMS.into_iter().zip(extent.workloads) {
        let bench = Bench::new(platform, options)?;
        let workloads: Vec<_> = (0..).zip(platform.workloads(&bench.library, count, options.seed)?).collect();
        all.extend(parallel::each(options.jobs, &workloads, |(number, programs)| {
            let seen = bench.one(model, programs, platform.dice(options.seed, *number));
            progress();
            seen
        })?);
    }
    Ok(all)
}

impl Bench {
    fn new(platform: Platform, options: &Options) -> Result<Self, LabError> {
        let profiles = isobar_study::of_machine(platform.machine)?;
        let machine = options.vary_machine(find(platform.machine)?)?;
        let bandwidth =
            machine.topology.nodes().first().and_then(|node| node.max_bandwidth).map_or(0.0, |most| most.0 / 1e6);
        Ok(Self { platform, machine, library: shipped()?, profiles, bandwidth })
    }

    fn one(&self, model: Model, programs: &[&'static str], mut dice: WorkloadRng) -> Result<Studied, LabError> {
        let model = self.model(model, programs)?;
        let groups = self.platform.groups;
        Ok(Studied {
            platform: self.platform.name,
            programs: programs.to_vec(),
            random: approaches::random(&*model, groups, &mut dice)?,
            answers: approaches::answers(&*model, groups, self.bandwidth)?,
        })
    }

    fn model(&self, model: Model, programs: &[&'static str]) -> Result<Box<dyn StaticModel>, LabError> {
        let profiles: Vec<_> = programs.iter().filter_map(|name| self.profiles.profile(name)).cloned().collect();
        let ways = self.profiles.ways();
        let found = programs.iter().map(|name| self.library.find("section IV", "program", name));
        let programs = found.collect::<Result<Vec<_>, _>>()?;
        let queueing = || Queueing::new(&self.machine, &programs, profiles.clone(), ways, None);
        Ok(match model {
            Model::Queueing => Box::new(queueing()),
            Model::PbbCache => Box::new(PbbCache::new(Bandwidth::Stalls, profiles.clone(), ways, Some(self.bandwidth))),
        })
    }
}
