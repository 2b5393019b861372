//! What was counted between two readings. A counter that ran backwards was zeroed in between
//! (`numasim-ctl zero`): what it shows is what was counted since then. Levels (delays, occupancy)
//! stay as they are.

use crate::figures::{ClassFigures, CpuFigures, LinkFigures, NodeFigures, Snapshot};
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
            error: self.error,
            cpus: pairwise(&self.cpus, &before.cpus, CpuFigures::since),
            nodes: pairwise(&self.nodes, &before.nodes, NodeFigures::since),
            links: links.collect::<BTreeMap<_, _>>(),
            classes: classes.collect(),
        }
    }
}

impl CpuFigures {
    /// The counts after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut misses_by_node = self.misses_by_node;
        misses_by_node.iter_mut().zip(before.misses_by_node).for_each(|(now, before)| *now = less(*now, before));
        Self {
            instructions: less(self.instructions, before.instructions),
            cycles: less(self.cycles, before.cycles),
            llc_references: less(self.llc_references, before.llc_references),
            llc_misses: less(self.llc_misses, before.llc_misses),
            misses_by_node,
            bytes_read: less(self.bytes_read, before.bytes_read),
            bytes_written: less(self.bytes_written, before.bytes_written),
            stall_ps: less(self.stall_ps, before.stall_ps),
            busy_ps: less(self.busy_ps, before.busy_ps),
            covered: less(self.covered, before.covered),
            accesses: less(self.accesses, before.accesses),
        }
    }
}

impl NodeFigures {
    fn since(&self, before: &Self) -> Self {
        Self {
            bytes_read: less(self.bytes_read, before.bytes_read),
            bytes_written: less(self.bytes_written, before.bytes_written),
            busy_ps: less(self.busy_ps, before.busy_ps),
            delay_ps: self.delay_ps,
            from_local: less(self.from_local, before.from_local),
            from_remote: less(self.from_remote, before.from_remote),
        }
    }
}

impl LinkFigures {
    const fn since(&self, before: &Self) -> Self {
        Self {
            bytes: less(self.bytes, before.bytes),
            busy_ps: less(self.busy_ps, before.busy_ps),
            delay_ps: self.delay_ps,
        }
    }
}

impl ClassFigures {
    const fn since(&self, before: &Self) -> Self {
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

const fn less(now: u64, before: u64) -> u64 {
    match now.checked_sub(before) {
        Some(less) => less,
        None => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
