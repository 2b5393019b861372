//! Selects nodes with free CPUs and memory, as `numad -w CPUS:MIB` does for libvirt. libvirt reads
//! a list of nodes such as `0-1` or `2` (`virBitmapParse`). It uses these nodes for the memory of a
//! guest and, through the nodes' CPUs, for its threads. If the list is empty, the guest does not
//! start, so the list always has a node.
//!
//! The rule is numad's. Nodes with the most free CPU and memory come first: a node's value is the
//! product of both, divided by the square of its distance from the first node. Nodes are added
//! until CPUs and memory suffice at 85 % of what is free. If they never do, all nodes are listed.

use isobar_model::{CpuId, CpuSet, NodeId, Observation, num};
use std::str::FromStr;

/// The fraction of the free resources that may be used (numad's target utilisation).
const FULL: f64 = 0.85;
const MIB: f64 = 1_048_576.0;

/// What must be free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// CPUs.
    pub cpus: f64,
    /// MiB of memory; 0 for any amount.
    pub mib: f64,
}

impl Eq for Wanted {}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (cpus, mib) = text.split_once(':').unwrap_or((text, "0"));
        let whole = |text: &str| text.parse::<u32>().ok().map(f64::from);
        let wrong = || format!("`{text}`: expected CPUS or CPUS:MIB in whole numbers, such as 4:8192");
        match (whole(cpus), whole(mib)) {
            (Some(cpus), Some(mib)) if cpus > 0.0 => Ok(Self { cpus, mib }),
            _ => Err(wrong()),
        }
    }
}

/// The free resources of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// The node.
    pub node: NodeId,
    /// Free CPUs.
    pub cpus: f64,
    /// Free memory in MiB; `None` if that is not known.
    pub mib: Option<f64>,
    /// Distances to the nodes with CPUs, in their order.
    pub distances: Vec<f64>,
}

/// What was free in an interval, by node; nodes without CPUs are left out.
pub fn room(seen: &Observation) -> Vec<Room> {
    let ids: Vec<NodeId> = seen.machine.nodes().iter().map(|node| node.id).collect();
    let mut all = Vec::new();
    for node in &ids {
        let Some(cpus) = seen.machine.cpus_of_node(*node).filter(|cpus| !cpus.is_empty()) else { continue };
        let here = seen.threads().filter(|(_, thread)| thread.cpu.is_some_and(|cpu| cpus.contains(cpu)));
        let used: f64 = here.filter_map(|(_, thread)| thread.cpu_time).map(|time| time.0).sum();
        let free = num::float_len(cpus.len()) - used / seen.interval.0.max(1e-9);
        let distance = |to: &NodeId| {
            let given = seen.machine.distances().and_then(|table| table.get(*node, *to));
            given.map_or(if to == node { 10.0 } else { 20.0 }, |given| f64::from(*given))
        };
        let mib = seen.free.get(*node).map(|bytes| num::float(bytes.0) / MIB);
        let with_cpus = ids.iter().filter(|id| seen.machine.cpus_of_node(**id).is_some_and(|cpus| !cpus.is_empty()));
        all.push(Room { node: *node, cpus: free.max(0.0), mib, distances: with_cpus.map(distance).collect() });
    }
    all
}

/// The selected nodes, as a list.
pub fn nodes(all: &[Room], wanted: Wanted) -> String {
    let mut chosen: Vec<usize> = Vec::new();
    let enough = |chosen: &[usize]| {
        let cpus: f64 = chosen.iter().map(|at| all[*at].cpus).sum();
        let mib: Option<f64> = chosen.iter().map(|at| all[*at].mib).sum();
        FULL * cpus >= wanted.cpus && mib.is_none_or(|mib| FULL * mib >= wanted.mib)
    };
    while !enough(&chosen) && chosen.len() < all.len() {
        let value = |at: usize| {
            let far = chosen.first().map_or(10.0, |first| all[*first].distances[at].max(1.0)) / 10.0;
            all[at].cpus.max(0.01) * all[at].mib.unwrap_or(1.0).max(0.01) / (far * far)
        };
        let left = (0..all.len()).filter(|at| !chosen.contains(at));
        let Some(best) = left.max_by(|a, b| value(*a).total_cmp(&value(*b)).then(b.cmp(a))) else { break };
        chosen.push(best);
    }
    // A list of nodes is written like a list of CPUs.
    chosen.iter().map(|at| CpuId(all[*at].node.0)).collect::<CpuSet>().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id=cpus:mib`. All distances are 20, except between 0 and 1 and between 2 and 3, where they
    /// are 12.
    fn rooms(text: &str) -> Vec<Room> {
        let far = |from: u32, to: u32| {
            if from == to {
                10.0
            } else if from / 2 == to / 2 {
                12.0
            } else {
                20.0
            }
        };
        let ids: Vec<u32> = text.split(' ').map(|one| one.split_once('=').unwrap().0.parse().unwrap()).collect();
        let one = |text: &str| {
            let (id, rest) = text.split_once('=').unwrap();
            let (cpus, mib) = rest.split_once(':').unwrap();
            let id: u32 = id.parse().unwrap();
            let distances = ids.iter().map(|to| far(id, *to)).collect();
            Room { node: NodeId(id), cpus: cpus.parse().unwrap(), mib: mib.parse().ok(), distances }
        };
        text.split(' ').map(one).collect()
    }

    /// The cases of `numad-cases.txt`: what is free, what is wanted, and what libvirt reads.
    #[test]
    fn libvirt_reads_a_list_of_nodes() {
        let cases: Vec<&str> =
            include_str!("numad-cases.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(cases.len() >= 10);
        for case in cases {
            let [free, wanted, expected] = case.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
                panic!("{case}");
            };
            let said = nodes(&rooms(free), wanted.parse().unwrap());
            assert_eq!(said, expected, "{case}");
            assert!(said.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '-') && !said.is_empty(), "{case}");
        }
    }

    #[test]
    fn what_is_wanted_is_read_as_numad_reads_it() {
        assert_eq!("4:8192".parse(), Ok(Wanted { cpus: 4.0, mib: 8192.0 }));
        assert_eq!("4".parse(), Ok(Wanted { cpus: 4.0, mib: 0.0 }));
        for wrong in ["", "0", "4:", "4:a", "-1", "4.5", "4:1:2"] {
            assert!(wrong.parse::<Wanted>().unwrap_err().contains("expected CPUS or CPUS:MIB"), "{wrong}");
        }
    }
}
