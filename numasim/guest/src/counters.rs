//! The machine's counters: by CPU, by node, by link. This file knows how to subtract them, and
//! nothing of where they come from. `numasim-counters --json` prints these members and more.

use serde::{Deserialize, Serialize};

/// The counters of the machine at one time, or between two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Guest time, in nanoseconds.
    pub time_ns: u64,
    /// CPUs, by CPU number.
    pub cpus: Vec<Cpu>,
    /// Memory controllers, by node number.
    pub nodes: Vec<Node>,
    /// Links: those that carried anything, or all of them.
    pub links: Vec<Link>,
}

/// The counts of a CPU, which only grow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Its node.
    pub node: u64,
    /// Its last-level cache.
    pub llc: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles, including stalls, without idle time.
    pub cycles: u64,
    /// Accesses that left the private cache.
    pub llc_references: u64,
    /// Accesses that left the last-level cache.
    pub llc_misses: u64,
    /// LLC misses by the node that served them.
    pub misses_by_node: Vec<u64>,
    /// Bytes fetched.
    pub bytes_read: u64,
    /// Bytes written back.
    pub bytes_written: u64,
    /// Time that it was stalled, in picoseconds.
    pub stall_ps: u64,
    /// Time that it was not idle, in picoseconds.
    pub busy_ps: u64,
    /// References that a stream covered; not in earlier recordings.
    #[serde(default)]
    pub covered: u64,
    /// References to lines that a CPU of the same last-level cache had modified; not in earlier
    /// recordings.
    #[serde(default)]
    pub hitm_local: u64,
    /// References to lines that a CPU of another last-level cache had modified.
    #[serde(default)]
    pub hitm_remote: u64,
}

/// The counts of a memory controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Bytes that were read from it.
    pub bytes_read: u64,
    /// Bytes that were written to it.
    pub bytes_written: u64,
    /// Time of service, in picoseconds.
    pub busy_ps: u64,
    /// Delay of a miss here at present, in picoseconds; a level, not a sum; not in earlier
    /// recordings.
    #[serde(default)]
    pub delay_ps: u64,
    /// Time that all its lines have waited in total, in picoseconds; not in earlier recordings.
    #[serde(default)]
    pub waited_ps: u64,
}

/// The counts of one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The node from which lines come.
    pub from: u64,
    /// The node to which lines go.
    pub to: u64,
    /// Bytes it carried.
    pub bytes: u64,
    /// Time of service, in picoseconds.
    pub busy_ps: u64,
    /// Time that all its lines have waited in total, in picoseconds; not in earlier recordings.
    #[serde(default)]
    pub waited_ps: u64,
}

impl Counters {
    /// What was counted between `before` and these counters.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let cpus = pairs(&self.cpus, &before.cpus).map(|(now, old)| now.since(&old)).collect();
        let nodes = pairs(&self.nodes, &before.nodes).map(|(now, old)| Node {
            bytes_read: now.bytes_read.saturating_sub(old.bytes_read),
            bytes_written: now.bytes_written.saturating_sub(old.bytes_written),
            busy_ps: now.busy_ps.saturating_sub(old.busy_ps),
            delay_ps: now.delay_ps,
            waited_ps: now.waited_ps.saturating_sub(old.waited_ps),
        });
        let old = |link: &Link| before.links.iter().find(|old| (old.from, old.to) == (link.from, link.to)).cloned();
        let link = |link: &Link| {
            let old = old(link).unwrap_or_default();
            let (bytes, busy_ps) = (link.bytes.saturating_sub(old.bytes), link.busy_ps.saturating_sub(old.busy_ps));
            let waited_ps = link.waited_ps.saturating_sub(old.waited_ps);
            Link { bytes, busy_ps, waited_ps, ..*link }
        };
        let time_ns = self.time_ns.saturating_sub(before.time_ns);
        Self { time_ns, cpus, nodes: nodes.collect(), links: self.links.iter().map(link).collect() }
    }
}

/// Each entry with the earlier entry of the same number, or with a default if there was none.
fn pairs<'a, T: Clone + Default>(now: &'a [T], before: &'a [T]) -> impl Iterator<Item = (&'a T, T)> {
    now.iter().enumerate().map(|(at, now)| (now, before.get(at).cloned().unwrap_or_default()))
}

impl Cpu {
    fn since(&self, old: &Self) -> Self {
        let by_node = pairs(&self.misses_by_node, &old.misses_by_node).map(|(now, old)| now.saturating_sub(old));
        Self {
            node: self.node,
            llc: self.llc,
            instructions: self.instructions.saturating_sub(old.instructions),
            cycles: self.cycles.saturating_sub(old.cycles),
            llc_references: self.llc_references.saturating_sub(old.llc_references),
            llc_misses: self.llc_misses.saturating_sub(old.llc_misses),
            misses_by_node: by_node.collect(),
            bytes_read: self.bytes_read.saturating_sub(old.bytes_read),
            bytes_written: self.bytes_written.saturating_sub(old.bytes_written),
            stall_ps: self.stall_ps.saturating_sub(old.stall_ps),
            busy_ps: self.busy_ps.saturating_sub(old.busy_ps),
            covered: self.covered.saturating_sub(old.covered),
            hitm_local: self.hitm_local.saturating_sub(old.hitm_local),
            hitm_remote: self.hitm_remote.saturating_sub(old.hitm_remote),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 misses before and 25 after, 4 and 9 of them to node 1: 15 in all, 5 of them to node 1.
    #[test]
    fn a_difference_is_taken_entry_by_entry() {
        let at = |time_ns, misses, remote| Counters {
            time_ns,
            cpus: vec![Cpu { llc_misses: misses, misses_by_node: vec![misses - remote, remote], ..Cpu::default() }],
            nodes: vec![Node { bytes_read: misses * 64, ..Node::default() }],
            links: vec![Link { from: 1, to: 0, bytes: remote * 64, ..Link::default() }],
        };
        let delta = at(900, 25, 9).since(&at(400, 10, 4));
        assert_eq!(delta, at(500, 15, 5));
        assert_eq!(at(900, 25, 9).since(&Counters::default()), at(900, 25, 9));
    }
}
