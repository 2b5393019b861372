//! `queueing`: the simulator's contention model at its fixed point, as a static model. It is the
//! default model of a study.
//!
//! Each group is an LLC of W ways with a memory controller of its own (NUMA), or all groups share
//! one controller (UMA). Ways are as large as those of the machine on which the profiles were
//! measured. A cluster's programs share its ways by insertion rate and reuse, and all programs of a
//! controller wait for each other in its queue.
//!
//! ```text
//! slowdown_i                    = seconds an instruction here / alone with all W ways
//! slowdown_without_bandwidth_i  = the same ratio, with no wait at the controller in either
//! ```
//!
//! *Alone is 1*, by definition. *No program is ever faster than alone with the ways of its
//! cluster*: cluster mates take space, other programs take bandwidth, and neither ever reduces
//! misses. So [`StaticModel::least_slowdown`] is exact for a program that has its controller to
//! itself, and a lower bound for all others. The pace of a cluster depends on the wait at the
//! controller, and the wait depends on all clusters of that controller. So the model is not
//! separable, but for a given wait every cluster can be computed by itself ([`Queued`]).

use isobar_contention::{NoAnswer, Pace, Scratch, Sharers, Steady};
use isobar_model::Profile;
use isobar_partition::Group;
use isobar_partition::model::{Effect, Meaningless, Queued, StaticModel, Waiting};
use isobar_sim::{MachineSpec, Program, steady};
use std::sync::{Arc, Mutex, PoisonError};

/// The fixed point is found to 10^-9 of capacity and size; a bound must allow for this error.
const TOLERANCE: f64 = 1e-7;

/// The queueing model of one workload.
#[derive(Debug)]
pub struct Queueing {
    steady: Steady,
    profiles: Vec<Profile>,
    ways: usize,
    shared_controller: bool,
    /// Each program alone, with 1, 2, ... ways.
    alone: Vec<Vec<Pace>>,
    /// Scratch memory of earlier calls, kept for reuse.
    spare: Mutex<Vec<Scratch>>,
}

impl Queueing {
    /// The model of a workload on LLCs of `ways` ways; `programs` and `profiles` describe the same
    /// programs. `max_bandwidth` is in MB/s per controller; `None` takes what the machine's first
    /// node sustains.
    #[must_use]
    pub fn new(
        machine: &MachineSpec,
        programs: &[Arc<Program>],
        profiles: Vec<Profile>,
        ways: usize,
        max_bandwidth: Option<f64>,
    ) -> Self {
        let bandwidth = max_bandwidth.map(|mbps| mbps * 1e6);
        let steady = steady(machine, bandwidth, &programs.iter().map(Arc::as_ref).collect::<Vec<_>>());
        // No answer becomes a pace of 0: slowdowns relative to it are infinite, and `effects`
        // refuses them.
        let alone = |program| (1..=ways).map(|ways| steady.alone(program, ways).unwrap_or_default()).collect();
        let alone = (0..profiles.len()).map(alone).collect();
        Self { steady, profiles, ways, shared_controller: false, alone, spare: Mutex::default() }
    }

    /// The same model with one controller for all groups (UMA).
    #[must_use]
    pub fn uma(self, shared_controller: bool) -> Self {
        Self { shared_controller, ..self }
    }

    /// The controller's bandwidth in MB/s.
    #[must_use]
    pub fn max_bandwidth(&self) -> f64 {
        self.steady.bandwidth() / 1e6
    }

    /// Computes the effects for the programs behind one controller.
    fn together(&self, groups: &[Group], scratch: &mut Scratch, effects: &mut Vec<Effect>) -> Result<(), Meaningless> {
        let clusters = || groups.iter().flatten();
        let sharers = clusters().map(|cluster| Sharers { programs: &cluster.programs, ways: cluster.ways });
        let unsolved = |error: NoAnswer| Meaningless { model: self.name(), why: error.to_string() };
        let paces = self.steady.paces(sharers, scratch).map_err(unsolved)?;
        let who = clusters().flat_map(|cluster| &cluster.programs);
        effects.extend(who.zip(paces).map(|(program, pace)| self.effect(*program, pace)));
        Ok(())
    }

    fn effect(&self, program: usize, pace: &Pace) -> Effect {
        let alone = &self.alone[program][self.ways - 1];
        Effect { slowdown: pace.seconds / alone.seconds, slowdown_without_bandwidth: pace.unqueued / alone.unqueued }
    }

    fn scratch(&self) -> Scratch {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, scratch: Scratch) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }
}

impl StaticModel for Queueing {
    fn name(&self) -> &'static str {
        "queueing"
    }

    fn programs(&self) -> &[Profile] {
        &self.profiles
    }

    fn ways(&self) -> usize {
        self.ways
    }

    fn shared_controller(&self) -> bool {
        self.shared_controller
    }

    fn effects(&self, groups: &[Group]) -> Result<Vec<Effect>, Meaningless> {
        let mut scratch = self.scratch();
        let mut effects = Vec::with_capacity(self.profiles.len());
        if self.shared_controller {
            self.together(groups, &mut scratch, &mut effects)?;
        } else {
            let mut alone = groups.iter().map(std::slice::from_ref);
            alone.try_for_each(|group| self.together(group, &mut scratch, &mut effects))?;
        }
        self.give_back(scratch);
        match effects.iter().all(|effect| effect.slowdown.is_finite() && effect.slowdown > 0.0) {
            true => Ok(effects),
            false => Err(Meaningless { model: self.name(), why: "a program makes no progress".to_owned() }),
        }
    }

    fn queued(&self) -> Option<&dyn Queued> {
        Some(self)
    }

    fn least_slowdown(&self, program: usize, ways: usize) -> f64 {
        let here = &self.alone[program][ways.clamp(1, self.ways) - 1];
        here.seconds / self.alone[program][self.ways - 1].seconds * (1.0 - TOLERANCE)
    }
}

impl Queued for Queueing {
    fn waiting(&self, programs: &[usize], ways: usize, wait: f64) -> Option<Vec<Waiting>> {
        let mut scratch = self.scratch();
        let paces = self.steady.waiting(Sharers { programs, ways }, wait, &mut scratch).ok()?;
        let one = |(program, pace): (&usize, &Pace)| Waiting {
            slowdown: self.effect(*program, pace).slowdown,
            load: pace.bandwidth,
        };
        let all: Vec<Waiting> = programs.iter().zip(paces).map(one).collect();
        self.give_back(scratch);
        all.iter().all(|one| one.slowdown.is_finite() && one.slowdown > 0.0).then_some(all)
    }

    fn carried(&self, wait: f64) -> f64 {
        self.steady.carried(wait)
    }

    fn longest(&self) -> f64 {
        self.steady.longest_wait()
    }

    fn accuracy(&self) -> f64 {
        TOLERANCE
    }
}

#[cfg(test)]
mod tests;
