//! A machine to simulate: memory nodes with bandwidth, last-level caches, cores, links and the route between any two
//! nodes. Read from TOML or made from a synthetic topology; checked when made. It knows nothing of programs.

mod facts;
mod routes;
mod shipped;
mod spec;

pub(crate) use spec::positive;

pub use facts::Link;
pub use shipped::{find, shipped, text};

use crate::contention::queue::Resource;
use crate::error::SimError;
use isobar_model::topology::{self, Topology};
use isobar_model::{Bandwidth, Bytes, CpuId, CpuSet, LlcId, NodeId, NodeMatrix, Ways, num};
use std::collections::BTreeMap;
use std::sync::Arc;

const GIGA: f64 = 1e9;
const NANO: f64 = 1e-9;

/// A machine, ready to be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineSpec {
    /// What it looks like to a sensor.
    pub topology: Arc<Topology>,
    /// Cycles a second of every core.
    pub hertz: f64,
    /// Seconds of an idle memory access; row = the CPU's node, by position.
    pub(crate) latency: Vec<Vec<f64>>,
    /// Memory controllers, by position of their node, then the two directions of each link.
    pub(crate) resources: Vec<Resource>,
    /// The link directions that data passes from a node to a node, by position.
    pub(crate) routes: Vec<Vec<Vec<usize>>>,
    /// Installed base pages by position of node.
    pub(crate) pages: Vec<u64>,
    /// Every CPU's node and LLC by position.
    pub(crate) places: BTreeMap<CpuId, Place>,
    /// Size of each LLC in bytes, by position.
    pub(crate) llc_bytes: Vec<f64>,
}

/// Where a CPU is: positions in the machine's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub node: usize,
    pub llc: usize,
}

impl MachineSpec {
    /// Reads a machine from TOML; `file` is only named in errors.
    ///
    /// # Errors
    /// [`SimError`] where the text is no machine: unknown key, value out of range, nodes that no route joins.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, SimError> {
        Self::from_spec(file, &crate::error::parse(file, text)?)
    }

    /// A machine from a short string such as `node:2 llc:1 core:4` (see `isobar_model::topology::synthetic`): 2.5 GHz, 80 ns
    /// local and 130 ns remote, 20 GB/s a node, a link of 10 GB/s each way between any two nodes.
    ///
    /// # Errors
    /// [`SimError::Value`] where the string is none.
    pub fn synthetic(text: &str) -> Result<Self, SimError> {
        let shape = topology::synthetic::synthetic(text)
            .map_err(|error| SimError::value("synthetic machine", "machine", error.to_string()))?;
        Self::from_spec("synthetic machine", &spec::Spec::of_shape(&shape))
    }

    pub(crate) fn from_spec(file: &str, spec: &spec::Spec) -> Result<Self, SimError> {
        spec.validate(file)?;
        let resources = spec.resources();
        let ids: Vec<_> = spec.node.iter().map(|node| node.id).collect();
        let routes = routes::shortest(file, &ids, &spec.link)?;
        let topology = spec.topology(file)?;
        let place = |cpu: &topology::Cpu| Place {
            node: position(&ids, cpu.node),
            llc: topology.llcs().iter().position(|llc| Some(llc.id) == cpu.llc).unwrap_or_default(),
        };
        Ok(Self {
            hertz: spec.clock_ghz * GIGA,
            latency: spec.latency.ns.iter().map(|row| row.iter().map(|ns| ns * NANO).collect()).collect(),
            pages: spec.node.iter().map(|node| u64::from(node.memory_gib) << 18).collect(),
            places: topology.cpus().iter().map(|cpu| (cpu.id, place(cpu))).collect(),
            llc_bytes: topology.llcs().iter().map(|llc| num::float(llc.size.map_or(0, |size| size.0))).collect(),
            topology: Arc::new(topology),
            resources,
            routes,
        })
    }

    /// The node ids in order of position.
    pub(crate) fn nodes(&self) -> Vec<NodeId> {
        self.topology.nodes().iter().map(|node| node.id).collect()
    }

    pub(crate) fn node_position(&self, id: NodeId) -> Option<usize> {
        self.topology.nodes().iter().position(|node| node.id == id)
    }
}

fn position(ids: &[NodeId], node: Option<NodeId>) -> usize {
    ids.iter().position(|id| Some(*id) == node).unwrap_or_default()
}

impl spec::Spec {
    fn topology(&self, file: &str) -> Result<Topology, SimError> {
        let nodes: Vec<_> = self.node.iter().map(|node| node.id).collect();
        let slit = |ns: f64, local: f64| num::narrow(usize::try_from(num::round(10.0 * ns / local)).unwrap_or(255));
        let rows = self.latency.ns.iter().enumerate();
        let rows = rows.map(|(i, row)| row.iter().map(|ns| slit(*ns, row[i])).collect()).collect();
        let node = |node: &spec::NodeSpec| topology::Node {
            id: node.id,
            memory: Some(Bytes(u64::from(node.memory_gib) << 30)),
            max_bandwidth: Some(Bandwidth(node.gb_per_s * GIGA)),
        };
        let llc = |llc: &spec::LlcSpec| topology::Llc {
            id: llc.id,
            level: 3,
            size: Some(Bytes(num::round(llc.size_mib * 1_048_576.0))),
            ways: Some(Ways(llc.ways)),
        };
        let cpus = self.llc.iter().flat_map(|llc| cpus(&llc.cpus, llc.id, llc.node));
        let parts = topology::Parts {
            nodes: self.node.iter().map(node).collect(),
            llcs: self.llc.iter().map(llc).collect(),
            cpus: cpus.collect(),
            distances: NodeMatrix::from_rows(nodes, rows),
            ..topology::Parts::default()
        };
        Topology::new(parts).map_err(|error| SimError::value(file, "llc", error.to_string()))
    }

    fn resources(&self) -> Vec<Resource> {
        let controllers = self.node.iter().map(|node| (node.gb_per_s, self.queue.controller_ns));
        let links = self.link.iter().flat_map(|link| [(link.gb_per_s_each_way, self.queue.link_ns); 2]);
        let resource = |(gb, ns): (f64, f64)| Resource { capacity: gb * GIGA, queue: ns * NANO };
        controllers.chain(links).map(resource).collect()
    }
}

fn cpus(set: &CpuSet, llc: LlcId, node: NodeId) -> Vec<topology::Cpu> {
    let cpu = |id: CpuId| topology::Cpu { id, core: isobar_model::CoreId(id.0), llc: Some(llc), node: Some(node) };
    set.iter().map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_corners_of_the_square_are_two_hops_apart() {
        let machine = find("barcelona-4x4").unwrap();
        assert_eq!(machine.topology.cpus().len(), 16);
        assert_eq!(machine.routes[0][1].len(), 1);
        assert_eq!(machine.routes[0][3].len(), 2);
        assert!(machine.routes[2][2].is_empty());
        assert_eq!(machine.topology.distances().unwrap().get(NodeId(0), NodeId(3)), Some(&17));
    }

    #[test]
    fn bad_machines_get_one_line() {
        let text = include_str!("../../machines/nehalem-2x4.toml");
        let bad = |from: &str, to: &str| {
            let error = MachineSpec::from_toml("m.toml", &text.replace(from, to)).unwrap_err().to_string();
            assert!(error.starts_with("m.toml: ") && !error.contains('\n'), "{error}");
            error
        };
        assert!(bad("clock_ghz", "clock_gh").contains("clock_gh"));
        assert!(bad("clock_ghz = 2.27", "clock_ghz = -1.0").contains("clock_ghz"));
        assert!(bad("b = 1", "b = 7").contains("link"));
        assert!(bad("[[link]]\na = 0\nb = 1\ngb_per_s_each_way = 11.72", "").contains("route"));
        assert!(bad("[90.0, 50.0]]", "]").contains("latency"));
        assert!(bad("cpus = \"4-7\"", "cpus = \"0-3\"").contains("twice"));
    }
}
