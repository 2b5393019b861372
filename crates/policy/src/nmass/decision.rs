//! A decision, and whether it still holds: "the scheduler is invoked if a process's MPKI changes by
//! more than 20 % relative to the previous scheduler epoch" (section 3.4). As long as it holds,
//! every thread that is not on its core is brought back to it.
//!
//! *Departures from the paper*
//! 1. The change is measured against the MPKI of the last decision, not of the last interval, so
//!    that slow drift counts too.
//! 2. Changes among miss rates below a floor do not count (section 4.5 calls programs below 1 MPKI
//!    not memory-bound): a change from 0.01 to 0.02 is noise.
//! 3. If threads have ended and nothing is new, one interval passes before the next decision. A
//!    program that ends is often followed by the next of its kind, whose miss rate is known an
//!    interval later. A core that is free for so short a time is not worth two moves.
//! 4. A thread of a process without a home, which no plan moves, may change its core as long as it
//!    stays within its LLC and node. When it sleeps, the decision counts it where it was, like the
//!    threads that the decision placed: a thread that sleeps in one interval may run in the next.
//! 5. A decision also ends when a process or thread comes or goes, when a home changes, when the
//!    CPUs that a thread may use change, or when the machine or the load of pinned threads changes.

use super::config::Config;
use super::mapping::Mapping;
use super::max_local::map_maxlocal;
use super::programs::{Homeless, Program, Programs};
use super::refine::{Refined, refine_mapping};
use super::seating::seat;
use crate::kit::domains::{Domains, SeatId};
use isobar_model::{CpuSet, NodeId, Pid, Tid, Topology};
use std::sync::Arc;

/// A mapping, together with the facts on which it rests.
#[derive(Clone, Debug)]
pub struct Decision {
    machine: Arc<Topology>,
    /// The load of pinned threads, by seat.
    load: Vec<u32>,
    /// Threads of processes without a home that ran, ascending by pid, then tid.
    counted: Vec<(Pid, Tid)>,
    /// The number of threads of processes without a home, and their pressure, by domain.
    homeless: Vec<(usize, f64)>,
    programs: Vec<Basis>,
    threads: Vec<(Tid, Option<CpuSet>)>,
    /// The seat of each member.
    pub seats: Vec<Option<SeatId>>,
    /// For each program, how the refinement moved it, if it did.
    pub refined: Vec<Option<Refined>>,
}

/// What a decision knew of a program.
#[derive(Clone, Copy, Debug)]
struct Basis {
    pid: Pid,
    home: NodeId,
    threads: usize,
    pressure: f64,
}

impl Decision {
    /// Makes a decision by algorithm 1.
    #[must_use]
    pub fn make(machine: &Arc<Topology>, domains: &Domains, programs: &Programs<'_>, config: &Config) -> Self {
        let mut mapping = Mapping::new(machine, domains, programs);
        map_maxlocal(&mut mapping, &programs.list);
        let refined = match config.threshold_mpki {
            Some(threshold) => refine_mapping(&mut mapping, &programs.list, threshold),
            None => vec![None; programs.list.len()],
        };
        let basis = |program: &Program<'_>| Basis {
            pid: program.process.pid,
            home: program.home,
            threads: program.members.len(),
            pressure: program.pressure,
        };
        let members = &programs.groups.members;
        Self {
            machine: Arc::clone(machine),
            load: programs.groups.load.clone(),
            counted: programs.homeless.iter().filter(|it| it.ran).map(|it| (it.pid, it.tid)).collect(),
            homeless: by_domain(domains, programs.homeless.iter().filter(|it| it.ran)),
            programs: programs.list.iter().map(basis).collect(),
            threads: members.iter().map(|it| (it.thread.tid, it.thread.allowed_cpus.clone())).collect(),
            seats: seat(domains, programs, &mapping.at),
            refined,
        }
    }

    /// Whether nothing on which the decision rests has changed by much.
    #[must_use]
    pub fn holds(&self, machine: &Arc<Topology>, domains: &Domains, programs: &Programs<'_>, config: &Config) -> bool {
        let same_program = |(old, new): (&Basis, &Program<'_>)| {
            (old.pid, old.home, old.threads) == (new.process.pid, new.home, new.members.len())
                && !config.is_change(old.pressure, new.pressure)
        };
        let same_load = |(old, new): (&(usize, f64), (usize, f64))| old.0 == new.0 && !config.is_change(old.1, new.1);
        let counted = |it: &&Homeless| it.ran || self.counted.binary_search(&(it.pid, it.tid)).is_ok();
        let homeless = by_domain(domains, programs.homeless.iter().filter(counted));
        let members = &programs.groups.members;
        (Arc::ptr_eq(&self.machine, machine) || self.machine == *machine)
            && self.load == programs.groups.load
            && self.homeless.iter().zip(homeless).all(same_load)
            && self.programs.len() == programs.list.len()
            && self.programs.iter().zip(&programs.list).all(same_program)
            && self
                .threads
                .iter()
                .zip(members)
                .all(|((tid, allowed), new)| *tid == new.thread.tid && *allowed == new.thread.allowed_cpus)
    }

    /// Whether threads have ended and none is new.
    #[must_use]
    pub fn has_lost(&self, programs: &Programs<'_>) -> bool {
        let members = &programs.groups.members;
        let mut old: Vec<Tid> = self.threads.iter().map(|(tid, _)| *tid).collect();
        old.sort_unstable();
        members.len() < old.len() && members.iter().all(|it| old.binary_search(&it.thread.tid).is_ok())
    }
}

/// The number of threads of processes without a home, and their pressure, by domain.
fn by_domain<'a>(domains: &Domains, threads: impl Iterator<Item = &'a Homeless>) -> Vec<(usize, f64)> {
    let mut sums = vec![(0, 0.0); domains.domains.len()];
    for thread in threads {
        let sum = &mut sums[domains.seat(thread.seat).domain.0];
        *sum = (sum.0 + 1, sum.1 + thread.pressure);
    }
    sums
}
