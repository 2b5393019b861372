//! The loads of the core groups: threads, ways and bandwidth of their programs (section V.B,
//! `AG_LLC` and `AG_BW`), and the programs of a pair of groups in the form that the balancing
//! takes.
//!
//! *More threads than CPUs.* Such a group is not partitioned (section V.A), so its programs are not
//! sampled. What still distinguishes them is their misses with the whole cache available. A program
//! without a profile counts as streaming if it misses as often as streaming programs do, and as
//! light-sharing otherwise. If two groups together lack CPUs, they get slots for all of their
//! threads in proportion to their CPUs, so that crowding is evened out too.

use super::core_groups::{CoreGroups, Group};
use super::partitioner::Partitioner;
use super::programs::Program as Profiled;
use crate::kit::words::OneDecimal;
use isobar_model::{CacheClass, Observation, Pid, Process, num};
use isobar_partition::balance::{self, Pressure, Program, Side};

/// Lower bound of a node's maximum bandwidth, in bytes per second, if that is not given: one
/// channel of DDR3-1333.
const LEAST_MAXIMUM: f64 = 10e9;

/// Loads of all groups in the last epoch.
#[derive(Debug, Default)]
pub struct Pressures {
    /// Number of threads by program (as in the observation), then group.
    threads: Vec<usize>,
    groups: Vec<Pressure>,
    nodes: Vec<f64>,
    /// The highest bandwidth of a node seen so far.
    greatest: f64,
}

impl Pressures {
    /// Computes the loads of an epoch.
    pub fn observe(&mut self, seen: &Observation, partitioner: &Partitioner) {
        let core_groups = partitioner.groups();
        let groups = core_groups.list.len();
        self.threads.clear();
        self.threads.resize(groups * seen.processes.len(), 0);
        self.groups.clear();
        self.groups.resize(groups, Pressure::default());
        for (index, (process, program)) in seen.processes.iter().zip(partitioner.programs()).enumerate() {
            let here = &mut self.threads[index * groups..(index + 1) * groups];
            for thread in &process.threads {
                if let Some(group) = partitioner.llc_of(thread) {
                    here[group] += 1;
                }
            }
            let each = program.bandwidth.unwrap_or(0.0) / num::float_len(process.threads.len().max(1));
            let llc = llc_load(program, partitioner);
            for (group, threads) in here.iter().enumerate().filter(|(_, threads)| **threads > 0) {
                self.groups[group].llc += llc;
                self.groups[group].bandwidth += each * num::float_len(*threads);
            }
        }
        self.nodes.clear();
        self.nodes.resize(core_groups.list.iter().map(|group| group.node + 1).max().unwrap_or(0), 0.0);
        let by_node = core_groups.list.iter().zip(&self.groups);
        by_node.for_each(|(group, pressure)| self.nodes[group.node] += pressure.bandwidth);
        self.greatest = self.nodes.iter().copied().fold(self.greatest.max(LEAST_MAXIMUM), f64::max);
    }

    /// The value that replaces a node's maximum bandwidth if that is not known.
    #[must_use]
    pub const fn greatest(&self) -> f64 {
        self.greatest
    }

    /// The loads of two groups; bandwidth is that of their nodes.
    #[must_use]
    pub fn of_pair(&self, core_groups: &CoreGroups, pair: [usize; 2]) -> [Pressure; 2] {
        pair.map(|group| Pressure { llc: self.groups[group].llc, bandwidth: self.nodes[core_groups.list[group].node] })
    }

    /// The slots of two groups, and the bandwidth that other groups take of their nodes. If there
    /// is a core for every thread of both groups, a slot is a core.
    #[must_use]
    pub fn sides(&self, partitioner: &Partitioner, pair: [usize; 2]) -> [Side; 2] {
        let core_groups = partitioner.groups();
        let threads: usize = pair.iter().map(|group| partitioner.crowd(*group)).sum();
        let sum = |of: fn(&Group) -> usize| pair.iter().map(|group| of(&core_groups.list[*group])).sum::<usize>();
        let (cores, cpus) = (sum(|group| group.cores), sum(|group| group.seats.len()));
        let [one, other] = pair.map(|group| core_groups.list[group].node);
        pair.map(|index| {
            let group = &core_groups.list[index];
            let both: f64 = pair.iter().map(|group| self.groups[*group].bandwidth).sum();
            let own = if one == other { both } else { self.groups[index].bandwidth };
            let slots = match (threads <= cores, threads <= cpus) {
                (true, _) => group.cores,
                (false, true) => group.seats.len(),
                (false, false) => (threads * group.seats.len()).div_ceil(cpus.max(1)),
            };
            Side { slots, other_bandwidth: (self.nodes[group.node] - own).max(0.0) }
        })
    }

    /// The programs with threads on a pair of groups: their positions, and the form in which the
    /// balancing sees them. `stays` says whether a program has to stay where it is.
    pub fn programs(
        &self,
        seen: &Observation,
        partitioner: &Partitioner,
        pair: [usize; 2],
        stays: impl Fn(Pid) -> bool,
    ) -> (Vec<usize>, Vec<Program>) {
        let groups = partitioner.groups().list.len();
        let mut members = Vec::with_capacity(seen.processes.len());
        let mut programs = Vec::with_capacity(seen.processes.len());
        for (index, (process, program)) in seen.processes.iter().zip(partitioner.programs()).enumerate() {
            let threads = pair.map(|group| self.threads[index * groups + group]);
            let here = threads[0] + threads[1];
            if here == 0 {
                continue;
            }
            let share = num::float_len(here) / num::float_len(process.threads.len());
            members.push(index);
            programs.push(Program {
                class: class(program, partitioner).unwrap_or(CacheClass::LightSharing),
                threads,
                bandwidth: program.bandwidth.unwrap_or(0.0) * share,
                llc: llc_load(program, partitioner),
                fixed: class(program, partitioner).is_none()
                    || program.bandwidth.is_none()
                    || stays(process.pid)
                    || is_bound(process, partitioner.groups(), pair, here),
            });
        }
        (members, programs)
    }

    /// The loads of a pair in words: `the programs of llc 0 need 18 ways and 31.0 GB/s, those of
    /// llc 1 6 and 8.5`; if the LLCs differ in their ways, `18 of 16`.
    #[must_use]
    pub fn words(&self, core_groups: &CoreGroups, pair: [usize; 2]) -> String {
        let groups = pair.map(|group| &core_groups.list[group]);
        let alike = groups[0].ways == groups[1].ways;
        let of = |at: usize| if alike { String::new() } else { format!(" of {}", groups[at].ways) };
        let [a, b] =
            self.of_pair(core_groups, pair).map(|side| (num::round(side.llc), OneDecimal(side.bandwidth / 1e9)));
        let [one, other] = groups.map(|group| group.id);
        format!(
            "the programs of llc {one} need {}{} ways and {} GB/s, those of llc {other} {}{} and {}",
            a.0,
            of(0),
            a.1,
            b.0,
            of(1),
            b.1
        )
    }
}

/// The class of a program; `None` if nothing shows it.
fn class(program: &Profiled, partitioner: &Partitioner) -> Option<CacheClass> {
    let crowded = program.llc.is_some_and(|llc| partitioner.is_oversubscribed(llc));
    let guess = || {
        let misses = program.reading.filter(|_| crowded)?.llcmpkc;
        let streams = misses >= partitioner.streaming_llcmpkc();
        Some(if streams { CacheClass::Streaming } else { CacheClass::LightSharing })
    };
    program.profile.as_ref().map(|profile| profile.class).or_else(guess)
}

/// `L_LLC`; a program of unknown class counts as light-sharing.
fn llc_load(program: &Profiled, partitioner: &Partitioner) -> f64 {
    let by_class = || class(program, partitioner).map_or(balance::LIGHT_WAYS, |class| balance::llc_load(class, 1));
    program.profile.as_ref().map_or_else(by_class, super::profile::Profile::llc_load)
}

/// Whether a user keeps a program where it is: a thread is pinned, or is not allowed enough CPUs in
/// one of the two groups.
fn is_bound(process: &Process, core_groups: &CoreGroups, pair: [usize; 2], threads: usize) -> bool {
    let too_few = |allowed| {
        let full = |group: &usize| threads.min(core_groups.list[*group].seats.len());
        pair.iter().any(|group| core_groups.usable(*group, allowed) < full(group))
    };
    process.threads.iter().any(|thread| thread.pinned || thread.allowed_cpus.as_ref().is_some_and(too_few))
}
