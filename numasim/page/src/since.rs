//! What was counted between two readings. A counter that ran backwards was zeroed in between
//! (`numasim-ctl zero`): its value is then what was counted since. Levels (delays, occupancy) stay
//! as they are.

use crate::figures::{ClassFigures, Snapshot, ThreadFigures};
use crate::row::{Row, less};
use std::collections::BTreeMap;

impl Snapshot {
    /// The counts after `before`; `time_ns` is the guest time between the two.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let links = self.links.iter().map(|(ends, link)| {
            let before = before.links.get(ends).copied().unwrap_or_default();
            (*ends, link.since(&before))
        });
        let classes = self.classes.iter().enumerate().map(|(llc, classes)| {
            pairwise(classes, before.classes.get(llc).map_or(&[], Vec::as_slice), ClassFigures::since)
        });
        Self {
            time_ns: less(self.time_ns, before.time_ns),
            modelling: self.modelling,
            cpus: pairwise(&self.cpus, &before.cpus, Row::since),
            nodes: pairwise(&self.nodes, &before.nodes, Row::since),
            links: links.collect::<BTreeMap<_, _>>(),
            classes: classes.collect(),
        }
    }
}

impl ThreadFigures {
    /// The counts of each thread after `before`, in which threads are ascending by number. For a
    /// thread that was not there, all of its counts.
    #[must_use]
    pub fn since(now: &[Self], before: &[Self]) -> Vec<Self> {
        let old = |tid: u64| before.binary_search_by_key(&tid, |thread| thread.tid).ok().and_then(|at| before.get(at));
        now.iter().map(|thread| Row::since(thread, &old(thread.tid).copied().unwrap_or_default())).collect()
    }
}

impl ClassFigures {
    fn since(&self, before: &Self) -> Self {
        Self {
            occupancy: self.occupancy,
            total_bytes: less(self.total_bytes, before.total_bytes),
            local_bytes: less(self.local_bytes, before.local_bytes),
        }
    }
}

fn pairwise<T: Copy + Default>(now: &[T], before: &[T], since: impl Fn(&T, &T) -> T) -> Vec<T> {
    let before = before.iter().copied().chain(std::iter::repeat(T::default()));
    now.iter().zip(before).map(|(now, before)| since(now, &before)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::CpuFigures;

    #[test]
    fn counts_are_differences_levels_are_not_and_a_zeroing_in_between_is_seen() {
        let at = |instructions, occupancy, time_ns| Snapshot {
            time_ns,
            cpus: vec![CpuFigures { instructions, ..CpuFigures::default() }],
            classes: vec![vec![ClassFigures { occupancy, ..ClassFigures::default() }]],
            ..Snapshot::default()
        };
        let between = at(150, 64, 900).since(&at(100, 640, 400));
        assert_eq!((between.time_ns, between.cpus[0].instructions, between.classes[0][0].occupancy), (500, 50, 64));
        assert_eq!(at(30, 0, 900).since(&at(100, 0, 400)).cpus[0].instructions, 30);
        assert_eq!(at(30, 0, 900).since(&Snapshot::default()).cpus[0].instructions, 30, "nothing was read before");
    }

    #[test]
    fn a_thread_is_found_by_its_number_and_keeps_number_and_name() {
        let thread = |tid, instructions| ThreadFigures { tid, name: [b'x'; 16], instructions, ..Default::default() };
        let between = ThreadFigures::since(&[thread(3, 9), thread(7, 50)], &[thread(7, 20)]);
        assert_eq!(between, [thread(3, 9), thread(7, 30)]);
    }
}
