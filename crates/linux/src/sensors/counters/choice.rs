//! Which threads get counters when there are more threads than descriptors: the busiest, with a
//! preference for those that have them, since a counter that is closed and opened again loses an
//! interval. Pure.

use isobar_model::Tid;

/// A thread that may be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// the thread
    pub tid: Tid,
    /// its start time: with the tid, its identity
    pub start: u64,
    /// CPU time since the last sample, in clock ticks
    pub load: u64,
    /// whether it has counters now
    pub counted: bool,
}

/// A thread without counters displaces one that has them only when it is busier by a quarter and
/// two ticks.
const LOYALTY: (u64, u64) = (4, 2);

/// Those to count, at most `capacity`, ascending by tid. A thread that has never been busy waits
/// until it is; one that has counters keeps them while there is room.
#[must_use]
pub fn choose(candidates: &[Candidate], capacity: usize) -> Vec<Candidate> {
    let mut chosen: Vec<_> = candidates.iter().copied().filter(|thread| thread.counted || thread.load > 0).collect();
    if chosen.len() > capacity {
        chosen.sort_by_key(|thread| (std::cmp::Reverse(rank(thread)), thread.tid));
        chosen.truncate(capacity);
    }
    chosen.sort_by_key(|thread| thread.tid);
    chosen
}

const fn rank(thread: &Candidate) -> u64 {
    if thread.counted && thread.load > 0 {
        thread.load.saturating_add(thread.load / LOYALTY.0).saturating_add(LOYALTY.1)
    } else {
        thread.load
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn thread(tid: u32, load: u64, counted: bool) -> Candidate {
        Candidate { tid: Tid(tid), start: 0, load, counted }
    }

    fn tids(candidates: &[Candidate], capacity: usize) -> Vec<u32> {
        choose(candidates, capacity).iter().map(|thread| thread.tid.0).collect()
    }

    #[test]
    fn the_busiest_first_and_ties_by_tid() {
        let all = [thread(1, 5, false), thread(2, 90, false), thread(3, 5, false), thread(4, 0, false)];
        assert_eq!(tids(&all, 2), [1, 2]);
        assert_eq!(tids(&all, 9), [1, 2, 3]);
        assert_eq!(tids(&all, 0), [0u32; 0]);
    }

    #[test]
    fn a_counted_thread_yields_only_to_a_clearly_busier_one() {
        // 40 + 40/4 + 2 = 52.
        assert_eq!(tids(&[thread(1, 40, true), thread(2, 51, false)], 1), [1]);
        assert_eq!(tids(&[thread(1, 40, true), thread(2, 53, false)], 1), [2]);
    }

    #[test]
    fn a_counted_sleeper_stays_while_there_is_room_and_yields_to_any_work() {
        assert_eq!(tids(&[thread(1, 0, true), thread(2, 1, false)], 2), [1, 2]);
        assert_eq!(tids(&[thread(1, 0, true), thread(2, 1, false)], 1), [2]);
    }

    proptest! {
        #[test]
        fn never_more_than_there_is_room_for_and_nobody_left_out_without_need(
            loads in prop::collection::vec((0u64..100, any::<bool>()), 0..50), capacity in 0usize..60) {
            let threads: Vec<_> = (0u32..).zip(&loads).map(|(tid, &(load, counted))| thread(tid, load, counted)).collect();
            let wanted = threads.iter().filter(|thread| thread.counted || thread.load > 0).count();
            prop_assert_eq!(choose(&threads, capacity).len(), wanted.min(capacity));
        }
    }
}
