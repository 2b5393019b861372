//! The layout of Distributed Intensity: threads, sorted by memory intensity, are dealt to the
//! domains from alternating ends of that order (DINO, sections 3.1 and 3.3.3).
//!
//! ```text
//! pass 1, from the most intensive: one core's worth to each domain, in order
//! pass 2, from the least intensive: one core's worth to each domain, in order
//! ... until all are seated
//! ```
//!
//! The paper's example `D D d d d t t t` on 4 domains of 2 cores gives `D t | D t | d t | d d`:
//! every pass visits the domains in order, although the paper's text says that the second pass
//! starts at the last domain (docs/design/dino.md).
//!
//! *More threads than cores*: every core has T = threads / cores seats, and each step deals T
//! threads. If the division leaves a remainder, that many cores have one seat more, spread over the
//! domains; rounding T up literally would leave cores idle. *Fewer threads than cores*: each core
//! has one seat, and dealing stops when all are seated. *Seats taken by threads that no plan may
//! move* count as full.

use super::domains::{Domains, SeatId};
use isobar_model::{CpuSet, num};
use isobar_partition::layout::deal as alternate;

/// For each of `count` threads, sorted by falling intensity, the seat that it is dealt. `load` is
/// the number of other threads that each seat already has; `allowed` limits the CPUs. Empty if no
/// CPU is allowed.
#[must_use]
pub fn deal(count: usize, domains: &Domains, load: &[u32], allowed: Option<&CpuSet>) -> Vec<SeatId> {
    let rounds = rounds(domains, load, allowed);
    let order: Vec<SeatId> = breadth_first(&rounds);
    let room = room(count, &order, load);
    let mut dealt = vec![SeatId(0); if order.is_empty() { 0 } else { count }];
    let seated = |seat: SeatId| std::iter::repeat_n(seat, num::index(room[seat.0]));
    alternate(&mut dealt, passes(&rounds, &room).map(|pass| pass.into_iter().flat_map(seated)));
    dealt
}

/// The usable seats of each domain, in order, those with the least load first.
fn rounds(domains: &Domains, load: &[u32], allowed: Option<&CpuSet>) -> Vec<Vec<SeatId>> {
    let usable = |seat: &usize| allowed.is_none_or(|allowed| allowed.contains(domains.seats[*seat].cpu));
    let of_domain = |seats: std::ops::Range<usize>| {
        let mut seats: Vec<SeatId> = seats.filter(usable).map(SeatId).collect();
        seats.sort_by_key(|seat| load[seat.0]);
        seats
    };
    domains.domains.iter().map(|domain| of_domain(domain.seats.clone())).collect()
}

/// The first seat of every domain, then the second, and so on.
fn breadth_first(rounds: &[Vec<SeatId>]) -> Vec<SeatId> {
    let longest = rounds.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|depth| rounds.iter().filter_map(move |seats| seats.get(depth).copied())).collect()
}

/// How many threads each seat takes: every seat is filled to the same level, counting the threads
/// that are on it already. From level 2 on, surplus seats are taken off the last ones; at level 1
/// they are simply not dealt.
fn room(count: usize, order: &[SeatId], load: &[u32]) -> Vec<u32> {
    let at = |level: u32| order.iter().map(|seat| u64::from(level.saturating_sub(load[seat.0]))).sum::<u64>();
    let wanted = count as u64;
    let mut room = vec![0; load.len()];
    let Some(lowest) = order.iter().map(|seat| load[seat.0]).min() else { return room };
    let highest = lowest.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    let level = least(lowest.saturating_add(1), highest, |level| at(level) >= wanted);
    for seat in order {
        room[seat.0] = level.saturating_sub(load[seat.0]);
    }
    let mut surplus = if level > 1 { at(level).saturating_sub(wanted) } else { 0 };
    for seat in order.iter().rev() {
        if surplus > 0 && room[seat.0] > 0 {
            room[seat.0] -= 1;
            surplus -= 1;
        }
    }
    room
}

/// The least value from `low` to `high` for which `enough` holds, `high` if none does.
fn least(mut low: u32, mut high: u32, enough: impl Fn(u32) -> bool) -> u32 {
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Each pass: the next free seat of every domain that has one.
fn passes<'a>(rounds: &'a [Vec<SeatId>], room: &'a [u32]) -> impl Iterator<Item = Vec<SeatId>> + 'a {
    let mut queues: Vec<_> = rounds.iter().map(|seats| seats.iter().filter(|seat| room[seat.0] > 0)).collect();
    std::iter::from_fn(move || {
        let pass: Vec<SeatId> = queues.iter_mut().filter_map(|queue| queue.next().copied()).collect();
        (!pass.is_empty()).then_some(pass)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;

    /// The CPU of each thread, most intensive first.
    fn dealt(machine: &str, count: usize, pinned: &[usize], allowed: Option<&str>) -> Vec<u32> {
        let domains = Domains::of(&synthetic(machine).unwrap());
        let mut load = vec![0; domains.seats.len()];
        pinned.iter().for_each(|&seat| load[seat] += 1);
        let allowed = allowed.map(|cpus| cpus.parse().unwrap());
        deal(count, &domains, &load, allowed.as_ref()).iter().map(|seat| domains.seat(*seat).cpu.0).collect()
    }

    #[test]
    fn threads_are_dealt_from_alternating_ends() {
        // The paper's D D d d d t t t: first pass cores 0 2 4 6, second pass from the far end cores
        // 1 3 5 7.
        assert_eq!(dealt("node:4 core:2", 8, &[], None), [0, 2, 4, 6, 7, 5, 3, 1]);
        // 2 domains of 4 cores: front 0 1 -> cores 0 4, back 7 6 -> 1 5, front 2 3 -> 2 6, back 5 4
        // -> 3 7.
        assert_eq!(dealt("node:2 core:4", 8, &[], None), [0, 4, 2, 6, 7, 3, 5, 1]);
        assert_eq!(dealt("node:2 core:4", 3, &[], None), [0, 4, 1], "fewer threads than cores");
        assert!(dealt("node:2 core:4", 0, &[], None).is_empty());
        // T = 2: domain 0 takes the two most intensive, domain 1 the next two.
        assert_eq!(dealt("node:2 core:1", 4, &[], None), [0, 0, 1, 1]);
        assert_eq!(dealt("node:2 core:2", 8, &[], None), [0, 0, 2, 2, 3, 3, 1, 1]);
        assert_eq!(dealt("node:2 core:2", 5, &[], None), [0, 0, 2, 3, 1], "one core has two seats, none is idle");
        assert_eq!(dealt("node:2 core:2", 3, &[0], None), [1, 2, 3], "a seat is taken");
        // Two pinned threads on seat 0 and none elsewhere: 6 threads fill the other three to level
        // 2.
        assert_eq!(dealt("node:2 core:2", 6, &[0, 0], None), [1, 1, 2, 2, 3, 3]);
        assert_eq!(dealt("node:2 core:2", 3, &[], Some("2-3")), [2, 2, 3], "confined threads stay inside");
        assert!(dealt("node:2 core:2", 3, &[], Some("9")).is_empty());
    }
}
