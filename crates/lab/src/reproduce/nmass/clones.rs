//! Four clones of soplex, memory on node 0, in every mapping from all local to all remote (section
//! 3.1, figures 4 and 5), and the mapping that N-MASS chooses.

use super::profiles::Profiles;
use crate::compare::{CompareSpec, compare};
use crate::error::LabError;
use crate::optimum::{MOST_MAPPINGS, optimum};
use crate::reproduce::options::Options;
use crate::stats::mean;
use isobar_model::{LlcId, Machine, NodeId, Observation, Policy, Seconds, num};
use isobar_policy::nmass::n_mass;
use isobar_runtime::{Epoch, Limits, Loop};
use isobar_sim::schedules::{Schedule, mappings};
use isobar_sim::{SimMachine, Workload};

/// The home of all clones, and the cache there.
const HOME: (NodeId, LlcId) = (NodeId(0), LlcId(0));
/// Seconds after which cold caches are warm.
const WARM: Seconds = Seconds(5.0);
/// Number of decisions after which a policy has settled, and before which no clone ends.
const EPOCHS: u64 = 8;

/// The results.
#[derive(Clone, Debug)]
pub(super) struct Clones {
    /// By the number of clones that run remotely, from 0.
    pub mappings: Vec<Split>,
    /// Number of clones that N-MASS runs remotely in the end.
    pub n_mass_remote: usize,
    /// Mean slowdown under N-MASS.
    pub n_mass: Option<f64>,
}

/// One mapping of the clones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    pub remote: usize,
    /// Mean slowdown of all clones, of the local ones and of the remote ones.
    pub mean: f64,
    pub local_mean: Option<f64>,
    pub remote_mean: Option<f64>,
    /// Local accesses in per cent of all: the x-axis of figures 4 and 5.
    pub locality: f64,
    /// MPKI, mean over the clones, relative to soplex alone: the increase in per cent.
    pub mpki_increase: f64,
}

impl Clones {
    /// The mapping with the least mean slowdown.
    pub fn best(&self) -> Option<&Split> {
        self.mappings.iter().min_by(|a, b| a.mean.total_cmp(&b.mean))
    }
}

/// Runs all mappings, and N-MASS.
pub(super) fn run(workload: &Workload, profiles: &Profiles, options: &Options) -> Result<Clones, LabError> {
    let mut mappings = every_mapping(workload, profiles, options)?;
    mappings.sort_by_key(|split| split.remote);
    let policies: Vec<_> = profiles.policies()?.into_iter().filter(|(name, _)| name == n_mass::NAME).collect();
    let remote = policies.first().map_or(Ok(0), |(_, make)| remote_in_the_end(workload, make().as_mut()))?;
    let spec = CompareSpec { seed: options.seed, jobs: options.jobs, ..CompareSpec::new(workload.clone()) };
    let compared = compare(&spec, &policies)?;
    Ok(Clones { mappings, n_mass_remote: remote, n_mass: compared.policies.first().map(|row| row.summary.antt) })
}

fn every_mapping(workload: &Workload, profiles: &Profiles, options: &Options) -> Result<Vec<Split>, LabError> {
    let ranked = optimum(workload, MOST_MAPPINGS, options.jobs)?;
    let listed = mappings(workload, MOST_MAPPINGS);
    let listed = listed.map_err(|error| LabError::TooMany { what: "static mappings", error })?;
    let alone = profiles.0.get("soplex").map(|solo| solo.mpki);
    let split = |one: &crate::optimum::Mapping| {
        let schedule = listed.iter().find(|schedule| schedule.llcs == one.llcs)?;
        let (locality, mpki) = look(workload, schedule)?;
        let of = |local: bool| {
            let pairs = one.llcs.iter().zip(&one.slowdowns);
            mean(pairs.filter(|(llcs, _)| llcs.contains(&HOME.1) == local).map(|(_, slowdown)| *slowdown))
        };
        Some(Split {
            remote: one.llcs.iter().filter(|llcs| !llcs.contains(&HOME.1)).count(),
            mean: one.summary.antt,
            local_mean: of(true),
            remote_mean: of(false),
            locality: 100.0 * locality,
            mpki_increase: 100.0 * (mpki / alone? - 1.0),
        })
    };
    Ok(ranked.iter().filter_map(split).collect())
}

/// The fraction of accesses that are local, and the mean MPKI, once caches are warm.
fn look(workload: &Workload, schedule: &Schedule) -> Option<(f64, f64)> {
    let mut machine = SimMachine::new(&workload.seated(schedule, true), 0);
    machine.wait(WARM).ok()?;
    let before = machine.sample().ok()?;
    machine.wait(WARM).ok()?;
    let after = machine.sample().ok()?;
    let seen = Observation::between(&before, &after);
    let threads: Vec<_> = seen.threads().map(|(_, thread)| thread).collect();
    let misses = |local: bool| {
        let here = threads.iter().filter(|thread| (home_of(&seen, thread.cpu) == Some(HOME.0)) == local);
        here.filter_map(|thread| thread.llc_misses).map(num::float).fold(0.0, std::ops::Add::add)
    };
    let mpki = mean(threads.iter().filter_map(|thread| thread.mpki()).map(|mpki| mpki.0))?;
    Some((misses(true) / (misses(true) + misses(false)), mpki))
}

fn home_of(seen: &Observation, cpu: Option<isobar_model::CpuId>) -> Option<NodeId> {
    seen.machine.cpu(cpu?)?.node
}

/// The number of clones that are away from home after [`EPOCHS`] decisions of a policy.
fn remote_in_the_end(workload: &Workload, policy: &mut dyn Policy) -> Result<usize, LabError> {
    let machine = SimMachine::new(workload, 0);
    let limits = Limits { epochs: Some(EPOCHS), despite_missing: true, ..Limits::every(machine.epoch()) };
    let mut run = Loop::new(machine, Box::new(policy), limits);
    let mut remote = 0;
    while let Some(Epoch { seen, .. }) = run.step()? {
        remote = seen.threads().filter(|(_, thread)| home_of(seen, thread.cpu) != Some(HOME.0)).count();
    }
    Ok(remote)
}
