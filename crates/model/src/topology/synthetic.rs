//! Makes machines from a short string, for tests, examples and benchmarks: `node:4 llc:1 core:2` is
//! four nodes, each with one LLC, each with two cores. `pu:2` adds SMT. Levels that are left out
//! count 1. The order is fixed (node, llc, core, pu).

use super::{Cpu, Llc, Node, Parts, Topology};
use crate::ids::{CoreId, CpuId, LlcId, NodeId};
use crate::maps::NodeMatrix;
use crate::units::{Bytes, Ways};

/// Why a synthetic description was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` does not describe a machine: expected such as `node:2 llc:1 core:8 pu:2`, at most 65536 CPUs \
     and 1024 nodes"
)]
pub struct SyntheticError {
    text: String,
}

const LEVELS: [&str; 4] = ["node", "llc", "core", "pu"];
/// The maximum number of nodes that Linux supports (`NODES_SHIFT` is at most 10); the table of
/// distances has an entry for each pair.
const MOST_NODES: u32 = 1024;
const MEMORY: Bytes = Bytes(4 << 30);
const LLC_SIZE: Bytes = Bytes(8 << 20);
const LLC_WAYS: Ways = Ways(16);

/// Makes the machine of a description: 4 GiB per node, 8 MiB and 16 ways per LLC, distances of 10
/// (local) and 20 (remote). CPU numbers run node by node and LLC by LLC; SMT siblings come in a
/// second round, as on Linux.
///
/// # Errors
/// [`SyntheticError`] if a level is unknown, repeated, out of order or zero, or if the machine has
/// more than 65,536 CPUs or 1024 nodes.
pub fn synthetic(text: &str) -> Result<Topology, SyntheticError> {
    let [nodes, llcs, cores, threads] = counts(text).ok_or_else(|| SyntheticError { text: text.to_owned() })?;
    let all_cores = nodes * llcs * cores;
    let cpus = (0..all_cores * threads).map(|id| {
        let core = id % all_cores;
        let llc = core / cores;
        Cpu { id: CpuId(id), core: CoreId(core), llc: Some(LlcId(llc)), node: Some(NodeId(llc / llcs)) }
    });
    let node_ids: Vec<_> = (0..nodes).map(NodeId).collect();
    let rows = node_ids.iter().map(|a| node_ids.iter().map(|b| if a == b { 10 } else { 20 }).collect()).collect();
    let llc = |id| Llc { id: LlcId(id), level: 3, size: Some(LLC_SIZE), ways: Some(LLC_WAYS) };
    let parts = Parts {
        nodes: node_ids.iter().map(|&id| Node { id, memory: Some(MEMORY), max_bandwidth: None }).collect(),
        llcs: (0..nodes * llcs).map(llc).collect(),
        cpus: cpus.collect(),
        distances: NodeMatrix::from_rows(node_ids, rows),
        ..Parts::default()
    };
    Topology::new(parts).map_err(|_| SyntheticError { text: text.to_owned() })
}

fn counts(text: &str) -> Option<[u32; 4]> {
    let mut counts = [1; 4];
    let mut next_level = 0;
    for word in text.split_whitespace() {
        let (name, number) = word.split_once(':')?;
        let level = LEVELS.iter().position(|level| *level == name).filter(|level| *level >= next_level)?;
        counts[level] = number.parse().ok().filter(|n| (1..=65_536).contains(n))?;
        next_level = level + 1;
    }
    let total: u64 = counts.iter().map(|&n| u64::from(n)).try_fold(1u64, u64::checked_mul)?;
    (next_level > 0 && total <= 65_536 && counts[0] <= MOST_NODES).then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_nodes_of_two_llcs_with_smt() {
        let machine = synthetic("node:2 llc:2 core:3 pu:2").unwrap();
        assert_eq!(machine.cpus().len(), 24);
        assert_eq!(machine.cpus_of_llc(LlcId(1)).unwrap().to_string(), "3-5,15-17");
        assert_eq!(machine.cpus_of_node(NodeId(1)).unwrap().to_string(), "6-11,18-23");
        assert_eq!(machine.cpu(CpuId(15)).unwrap().core, CoreId(3));
        assert_eq!(machine.distances().unwrap().get(NodeId(0), NodeId(1)), Some(&20));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "node",
            "node:0",
            "core:2 node:1",
            "node:2 node:2",
            "node:70000",
            "disk:3",
            "node:999 core:999",
            "node:1025",
        ] {
            assert!(synthetic(text).is_err(), "{text}");
        }
    }

    #[test]
    fn as_many_nodes_as_linux_has_are_taken() {
        let machine = synthetic("node:1024").unwrap();
        assert_eq!(machine.distances().unwrap().get(NodeId(1023), NodeId(1023)), Some(&10));
    }
}
