//! `di-plain`: Distributed Intensity for threads, without memory (DINO paper, section 3.1).
//!
//! | paper | here |
//! |---|---|
//! | memory domain | [`Domains`] |
//! | miss rate: LLC misses per 1000 instructions, prefetches included | [`Mpki`] |
//! | iterating over the sorted threads from alternating ends | [`deal`] |
//!
//! ```text
//! every interval:
//!     sort the threads by miss rate, most intensive first
//!     until all are placed:
//!         from the most intensive end, one thread to an unused core of each domain in turn
//!         from the least intensive end, likewise
//!     move no memory
//! ```
//!
//! *Properties*: every measured thread that its owner did not pin has exactly one core; no core has
//! two threads while another core that they may use has none; the numbers of threads on two cores
//! differ by at most one; equal miss rates are ordered by pid and tid, so that the plan depends
//! only on the observation.
//!
//! *Departures from the paper*
//! 1. Both passes visit the domains in order (docs/design/dino.md).
//! 2. More threads than cores: see [`crate::kit::layout`].
//! 3. Threads that may use only some CPUs are laid out before the others, within those CPUs.
//! 4. A thread that executed no instruction has no miss rate in this interval and is left where it
//!    is.

use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::domains::{CachedDomains, Domains, SeatId};
use crate::kit::group::{Group, Groups, Member};
use crate::kit::layout::deal;
use crate::kit::refused::Refused;
use crate::kit::words::OneDecimal;
use crate::settings::NoSettings;
use isobar_model::{Action, Mpki, Observation, Outcome, Plan, Policy, Sensor};

/// Canonical name.
pub const NAME: &str = "di-plain";

/// The paper.
pub const PAPER: &str = "Blagodurov et al., A Case for NUMA-aware Contention Management on Multicore Systems (2011)";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "thread to core by miss rate; memory stays",
    moves: Moves::Threads,
    needs: &[Sensor::Instructions, Sensor::LlcMisses, Sensor::SeveralDomains],
    make: &PolicyMaker { defaults: NoSettings::default, new: |_| DiPlain::default() },
};

/// Distributed Intensity without memory migration. It remembers nothing of earlier intervals except
/// what was refused.
#[derive(Debug, Default)]
pub struct DiPlain {
    domains: CachedDomains,
    refused: Refused,
}

impl Policy for DiPlain {
    as_registered!();

    fn decide(&mut self, seen: &Observation) -> Plan {
        let domains = self.domains.of(&seen.machine);
        let groups = groups(seen, domains);
        let placed = place(domains, &groups);
        let mut plan = Plan { actions: moves(domains, &placed), notes: groups.notes(), ..Plan::nothing(NAME) };
        self.refused.next_epoch(seen);
        self.refused.hold_back(&mut plan);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
    }
}

/// A thread with its core in the new layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'a> {
    pub member: Member<'a>,
    pub seat: SeatId,
    /// Its rank by falling miss rate, from 1, among `of` threads.
    rank: usize,
    of: usize,
}

/// Groups of all threads whose miss rate was measured.
pub(super) fn groups<'a>(seen: &'a Observation, domains: &Domains) -> Groups<'a> {
    Groups::of(seen, domains, |_, thread| thread.mpki().is_some())
}

/// The layout: each thread with its core, ascending by pid, then tid.
pub(super) fn place<'a>(domains: &Domains, groups: &Groups<'a>) -> Vec<Placed<'a>> {
    let mut load = groups.load.clone();
    let mut placed = Vec::with_capacity(groups.members.len());
    for group in &groups.groups {
        let sorted = by_intensity(group, &groups.members);
        let seats = deal(sorted.len(), domains, &load, group.allowed);
        for (index, (member, seat)) in sorted.iter().zip(seats).enumerate() {
            load[seat.0] += 1;
            placed.push(Placed { member: *member, seat, rank: index + 1, of: sorted.len() });
        }
    }
    placed.sort_unstable_by_key(|placed| (placed.member.pid, placed.member.thread.tid));
    placed
}

/// The threads of a group, most intensive first; ties by pid, then tid.
fn by_intensity<'a>(group: &Group<'_>, members: &[Member<'a>]) -> Vec<Member<'a>> {
    let mut sorted: Vec<_> = group.members.iter().map(|&index| (mpki(&members[index]), members[index])).collect();
    sorted.sort_by(|(a, x), (b, y)| b.0.total_cmp(&a.0).then((x.pid, x.thread.tid).cmp(&(y.pid, y.thread.tid))));
    sorted.into_iter().map(|(_, member)| member).collect()
}

fn mpki(member: &Member<'_>) -> Mpki {
    member.thread.mpki().unwrap_or_default()
}

/// A move for every thread that is not on its core or is not bound to it.
pub(super) fn moves(domains: &Domains, placed: &[Placed<'_>]) -> Vec<Action> {
    let away = placed.iter().filter(|placed| placed.member.must_go_to(placed.seat));
    away.map(|placed| to_its_core(domains, placed)).collect()
}

fn to_its_core(domains: &Domains, placed: &Placed<'_>) -> Action {
    let seat = domains.seat(placed.seat);
    let Placed { member, rank, of, .. } = placed;
    let rate = OneDecimal(mpki(member).0);
    let reason = format!("{rate} MPKI, rank {rank} of {of}: dealt to {}", domains.describe(seat.domain));
    Action::MoveThread { pid: member.pid, tid: member.thread.tid, cpu: seat.cpu, cpus: None, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dino::test_kit::example;
    use crate::test_kit::cpus_after;

    #[test]
    fn passes_alternate_over_sorted_threads() {
        // Falling miss rates on 4 domains of 2 cores: the 1st to 4th go to cores 0 2 4 6, the last
        // to the 5th to cores 1 3 5 7.
        let seen = example(
            "node:4 core:2",
            &[
                (1, 7, 80.0),
                (2, 6, 70.0),
                (3, 5, 60.0),
                (4, 4, 50.0),
                (5, 3, 4.0),
                (6, 2, 3.0),
                (7, 1, 2.0),
                (8, 0, 1.0),
            ],
        );
        let plan = DiPlain::default().decide(&seen);
        assert_eq!(cpus_after(&seen, &plan), [0, 2, 4, 6, 7, 5, 3, 1]);
    }

    #[test]
    fn a_small_change_of_miss_rate_moves_threads() {
        let before = example("node:2 core:2", &[(1, 0, 50.0), (2, 2, 49.0), (3, 3, 5.0), (4, 1, 4.0)]);
        assert_eq!(DiPlain::default().decide(&before).actions, []);
        let after = example("node:2 core:2", &[(1, 0, 49.0), (2, 2, 50.0), (3, 3, 5.0), (4, 1, 4.0)]);
        assert_eq!(
            cpus_after(&after, &DiPlain::default().decide(&after)),
            [2, 0, 3, 1],
            "the two most intensive change places"
        );
    }

    #[test]
    fn reasons_name_the_rank() {
        let seen = example("node:2 core:1", &[(1, 0, 1.0), (2, 1, 30.0)]);
        let plan = DiPlain::default().decide(&seen);
        assert_eq!(plan.actions[1].reason(), "30.0 MPKI, rank 1 of 2: dealt to llc 0 (node 0)");
    }
}
