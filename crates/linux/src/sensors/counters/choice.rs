//! Chooses the threads that get counters when there are more threads than descriptors: the busiest.
//! Threads that already have counters are preferred, because a counter that is closed and opened
//! again loses an interval. Pure.

use crate::sensors::thread_counters::Running;
use isobar_model::Tid;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A thread without counters displaces one that has them only when it is busier by a quarter and
/// two ticks.
const LOYALTY: (u64, u64) = (4, 2);

/// The threads to count, at most `capacity`, ascending by tid; `counted` are the threads that have
/// counters now. A thread that has never been busy waits until it is; one that has counters keeps
/// them while descriptors last.
#[must_use]
pub fn choose(threads: &[Running], counted: &BTreeSet<Tid>, capacity: usize) -> Vec<Running> {
    let counted = |thread: &Running| counted.contains(&thread.tid);
    let mut chosen: Vec<_> = threads.iter().copied().filter(|thread| counted(thread) || thread.load > 0).collect();
    if chosen.len() > capacity {
        chosen.sort_by_key(|thread| (Reverse(rank(thread, counted(thread))), thread.tid));
        chosen.truncate(capacity);
    }
    chosen.sort_by_key(|thread| thread.tid);
    chosen
}

const fn rank(thread: &Running, counted: bool) -> u64 {
    if counted && thread.load > 0 {
        thread.load.saturating_add(thread.load / LOYALTY.0).saturating_add(LOYALTY.1)
    } else {
        thread.load
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Threads by tid, load, and whether they have counters.
    fn tids(threads: &[(u32, u64, bool)], capacity: usize) -> Vec<u32> {
        let counted = threads.iter().filter(|(.., counted)| *counted).map(|(tid, ..)| Tid(*tid)).collect();
        let running = |&(tid, load, _): &(u32, u64, bool)| Running { tid: Tid(tid), start: 0, load };
        let threads: Vec<_> = threads.iter().map(running).collect();
        choose(&threads, &counted, capacity).iter().map(|thread| thread.tid.0).collect()
    }

    #[test]
    fn the_busiest_are_chosen_and_those_that_are_counted_are_preferred() {
        let all: &[_] = &[(1, 5, false), (2, 90, false), (3, 5, false), (4, 0, false)];
        let cases: [(&[_], usize, &[u32], &str); 7] = [
            (all, 2, &[1, 2], "ties by tid"),
            (all, 9, &[1, 2, 3], "who was never busy waits"),
            (all, 0, &[], "no descriptors"),
            (&[(1, 40, true), (2, 51, false)], 1, &[1], "40 + 40/4 + 2 = 52"),
            (&[(1, 40, true), (2, 53, false)], 1, &[2], "clearly busier"),
            (&[(1, 0, true), (2, 1, false)], 2, &[1, 2], "a sleeper stays while descriptors last"),
            (&[(1, 0, true), (2, 1, false)], 1, &[2], "and yields to any work"),
        ];
        for (threads, capacity, expected, why) in cases {
            assert_eq!(tids(threads, capacity), expected, "{why}");
        }
    }

    proptest! {
        #[test]
        fn never_more_than_there_is_room_for_and_nobody_left_out_without_need(
            loads in prop::collection::vec((0u64..100, any::<bool>()), 0..50), capacity in 0usize..60) {
            let threads: Vec<_> = (0u32..).zip(&loads).map(|(tid, &(load, counted))| (tid, load, counted)).collect();
            let wanted = loads.iter().filter(|(load, counted)| *counted || *load > 0).count();
            prop_assert_eq!(tids(&threads, capacity).len(), wanted.min(capacity));
        }
    }
}
