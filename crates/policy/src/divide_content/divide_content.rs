//! `divide-content`: Divide&Content (section V, algorithms 2 and 3).
//!
//! | paper | here |
//! |---|---|
//! | core group | LLC, by position ([`super::core_groups`]) |
//! | `in_sampling_mode` | [`Partitioner::is_sampling`] |
//! | `migrations_pending` | [`Stability::pending`] |
//! | `recently_balanced` | [`Stability::rests`] |
//! | `compare_llc_load`, `compare_bw_load` | [`balance::uneven`] |
//! | `balance_groups` | [`balance::balance`], and [`Migrations`] for which threads go where |
//! | `lfoc_plus_partitioning` | [`Partitioner::partition`] |
//! | `min_migration_period` | [`Balancing::min_migration_seconds`] |
//!
//! ```text
//! every epoch, on every group:
//!     sampling mode: next reading; no thread moves
//!     migrations pending: wait
//!     a remote group that is stable and bears clearly more or less:
//!         balance the two                                            (at most once a second)
//!     nothing was balanced: LFOC+ on this group; more threads than CPUs: no partitions,
//!         and balanced alone (section V.A: it "just evens out the degree of contention")
//! ```
//!
//! *Properties*: threads that their owner bound stay; no program moves twice within
//! `min_migration_seconds`; while a group is sampled, no plan moves a thread into or out of it; a
//! thread that moves gets a CPU that it may use, a free one if there is one, and preferably on a
//! free core.
//!
//! *Departures from the paper*
//! 1. The paper assigns threads to groups by affinity masks and leaves the choice of CPUs to Linux;
//!    here a plan binds a thread to one CPU. So that the kernel does not change the groups
//!    unnoticed, threads that no owner bound are bound where they run, unless the group or the
//!    machine has more threads than CPUs. Bound threads that share a CPU are spread over the CPUs
//!    of their group.
//! 2. The loads of an epoch in which a group was sampled or received threads are not used for
//!    balancing, because they are not the loads of its undisturbed programs.
//! 3. A program whose class or bandwidth is not known yet stays where it is. If there are more
//!    threads than CPUs, no program is sampled, because sampling needs partitions. A program
//!    without a class then counts as streaming if it misses as often as streaming programs, and as
//!    light-sharing otherwise ([`super::pressure`]).
//! 4. LLCs of one memory node share its bandwidth. Bandwidth is balanced between nodes; between
//!    LLCs of one node only ways are balanced.
//! 5. Two groups are balanced once they have held the same programs for some epochs
//!    ([`Stability::lasts`]). Otherwise a program that is absent for a moment between two runs
//!    would cause others to move.
//! 6. Loads are compared as fractions of what each group has: the ways of its LLC, the bandwidth of
//!    its node. The paper's groups are equal.
//! 7. If the move of a thread was refused, its program stays until the next attempt.
//! 8. A program stays if its cpuset does not allow it, in each of the two groups, a CPU for each of
//!    its threads.

use super::balancing::{Balancing, Config};
use super::core_groups::Group;
use super::lfoc_plus::PAPER;
use super::migrations::{Balanced, Migrations};
use super::partitioner::Partitioner;
use super::pressure::Pressures;
use super::stability::Stability;
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::refused::{Refused, RequestKey};
use isobar_model::{Action, Observation, Outcome, Pid, Plan, Policy, Sensor, WayCurves};
use isobar_partition::balance;

/// Canonical name.
pub const NAME: &str = "divide-content";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "threads to LLCs so that all bear alike, then ways as lfoc+",
    moves: Moves::Threads,
    needs: &[Sensor::Instructions, Sensor::LlcMisses, Sensor::SeveralDomains, Sensor::CacheWays],
    make: &PolicyMaker { defaults: Config::default, new: DivideContent::new },
};

/// Divide&Content.
#[derive(Debug)]
pub struct DivideContent {
    config: Balancing,
    partitioner: Partitioner,
    pressures: Pressures,
    stability: Stability,
    migrations: Migrations,
    /// When groups were last compared, in seconds.
    compared: Option<f64>,
    refused: Refused,
}

impl DivideContent {
    /// Takes validated settings.
    #[must_use]
    pub fn new((balancing, lfoc): Config) -> Self {
        Self {
            config: balancing,
            partitioner: Partitioner::new(lfoc),
            pressures: Pressures::default(),
            stability: Stability::default(),
            migrations: Migrations::default(),
            compared: None,
            refused: Refused::default(),
        }
    }
}

impl Policy for DivideContent {
    as_registered!();

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan::nothing(NAME);
        self.refused.next_epoch(seen);
        self.partitioner.observe(seen);
        self.stability.observe(seen, &self.partitioner);
        self.pressures.observe(seen, &self.partitioner);
        self.migrations.observe(seen, self.partitioner.groups());
        let balancing = self.is_due(seen.time.0);
        let groups = 0..self.partitioner.groups().list.len();
        groups.clone().for_each(|group| self.sample(seen, group));
        let mut ways = Vec::new();
        for group in groups {
            self.divide_and_content(seen, group, balancing, &mut plan.actions, &mut ways);
        }
        self.migrations.settle(seen, &self.partitioner, &mut plan.actions);
        self.refused.hold_back(&mut plan);
        plan.actions.append(&mut ways);
        self.stability.end_epoch(&self.partitioner);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.partitioner.applied(plan, outcome);
        self.refused.applied(plan, outcome);
        self.stability.refused(|pid, tid| self.refused.doubts(RequestKey::Thread(pid, tid)));
    }

    fn learnt(&self) -> Vec<WayCurves> {
        self.partitioner.learnt()
    }
}

impl DivideContent {
    /// Whether it is time to compare groups.
    fn is_due(&mut self, now: f64) -> bool {
        // An epoch that ends a little early must not delay the comparison by a whole epoch.
        let due = self.compared.is_none_or(|last| now - last >= 0.9 * self.config.balance_seconds);
        self.compared = if due { Some(now) } else { self.compared };
        due
    }

    /// LFOC+'s sampling mode, if sampling makes sense here. Classes decide which programs move, so
    /// one program per group is enough to sample.
    fn sample(&mut self, seen: &Observation, group: usize) {
        let calm = !self.stability.pending(group) && !self.partitioner.is_oversubscribed(group);
        self.partitioner.sample(group, seen.time.0, calm && seen.processes.len() > 1);
    }

    /// Algorithm 2.
    fn divide_and_content(
        &mut self,
        seen: &Observation,
        group: usize,
        due: bool,
        moves: &mut Vec<Action>,
        ways: &mut Vec<Action>,
    ) {
        if self.partitioner.is_sampling(group) {
            return self.partitioner.partition(group, ways);
        }
        if self.stability.pending(group) {
            return;
        }
        let partner = if due { self.partner(group, seen.time.0) } else { None };
        if partner.is_some_and(|remote| self.balance_groups(seen, group, remote, moves)) {
            return;
        }
        if self.partitioner.is_oversubscribed(group) {
            self.partitioner.release(group, ways);
        } else {
            self.partitioner.partition(group, ways);
        }
    }

    /// The first remote group that is eligible for balancing (algorithm 2, line 5).
    fn partner(&mut self, local: usize, now: f64) -> Option<usize> {
        let groups = self.partitioner.groups().list.len();
        let stable = self.is_stable(local, now);
        (0..groups).find(|remote| stable && *remote != local && self.eligible(*remote, local, now))
    }

    /// Whether a group may take part in a balancing. The paper checks only the remote group, but
    /// measurements of an unstable local group are no better.
    fn is_stable(&self, group: usize, now: f64) -> bool {
        let unstable =
            self.partitioner.is_sampling(group) || self.stability.pending(group) || !self.stability.calm(group);
        !unstable && !self.stability.rests(group, now, self.config.group_rest_seconds)
    }

    /// Algorithm 3.
    fn eligible(&mut self, remote: usize, local: usize, now: f64) -> bool {
        if !self.is_stable(remote, now) {
            return false;
        }
        let pressures = self.pressures.of_pair(self.partitioner.groups(), [local, remote]);
        let uneven = balance::uneven(&pressures, &self.limits([local, remote]));
        // Each pair is compared from both sides; the comparison by the lower group counts.
        if local < remote { self.stability.lasts(local, remote, uneven, self.config.uneven_epochs) } else { false }
    }

    /// Whether the move of one of a program's threads was refused so recently that the program
    /// stays.
    fn is_refused(&self, seen: &Observation, pid: Pid) -> bool {
        let threads = seen.process(pid).map_or(&[][..], |process| &process.threads);
        threads.iter().any(|thread| self.refused.waits(RequestKey::Thread(pid, thread.tid)))
    }

    /// The thresholds for two groups, each with the ways of its LLC and the bandwidth of its node.
    fn limits(&self, pair: [usize; 2]) -> balance::Limits {
        let groups = pair.map(|group| &self.partitioner.groups().list[group]);
        let set = Some(self.config.max_bandwidth_gb_per_s * 1e9).filter(|max| *max > 0.0);
        let has = |group: &Group| balance::Capacity {
            ways: group.ways,
            bandwidth: set.or(group.max_bandwidth).unwrap_or(self.pressures.greatest()),
        };
        let limits = self.config.thresholds().limits_of(groups.map(has));
        balance::Limits { shared_memory: groups[0].node == groups[1].node, ..limits }
    }

    /// Applies section V.B to two groups. Returns whether any thread moves.
    fn balance_groups(&mut self, seen: &Observation, local: usize, remote: usize, actions: &mut Vec<Action>) -> bool {
        let pair = [local, remote];
        let limits = self.limits(pair);
        let core_groups = self.partitioner.groups();
        let now = seen.time.0;
        let stays =
            |pid| self.stability.resides(pid, now, self.config.min_migration_seconds) || self.is_refused(seen, pid);
        let (members, programs) = self.pressures.programs(seen, &self.partitioner, pair, stays);
        let found = balance::balance(&programs, &self.pressures.sides(&self.partitioner, pair), &limits);
        let why = self.pressures.words(core_groups, pair);
        let balanced = Balanced { pair, members: &members, programs: &programs, after: &found };
        let moved = self.migrations.carry_out(seen, &self.partitioner, &balanced, &why, actions);
        let any = !moved.is_empty();
        self.stability.moved(&moved, now);
        if any {
            self.stability.balanced(local, remote, now);
        }
        any
    }
}

#[cfg(test)]
#[path = "divide_content_tests.rs"]
mod tests;
