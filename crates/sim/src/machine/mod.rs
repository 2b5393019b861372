//! A machine to simulate: memory nodes with bandwidth, last-level caches, cores, links and the
//! route between any two nodes. It is read from TOML or made from a synthetic topology, and checked
//! when it is made. It knows nothing of programs.

mod balancer;
mod facts;
mod linux;
mod load;
mod routes;
mod shipped;
mod spec;

pub(crate) use linux::{CHECK, Linux};
pub(crate) use spec::{positive, surrounds};

pub use facts::Link;
pub use linux::Estimated;
pub use shipped::{find, shipped, text};

use crate::error::SimError;
use crate::estimate::{End, Estimate};
use isobar_contention::{Cache, Machine, Packets, Parts, Place, Resource};
use isobar_model::topology::{self, Topology};
use isobar_model::{Bandwidth, Bytes, CpuId, NodeId, NodeMatrix, Ways, num};
use std::collections::BTreeMap;
use std::sync::Arc;

const GIGA: f64 = 1e9;
const NANO: f64 = 1e-9;
/// The largest number of nodes of a described machine: the total length of the routes between all
/// pairs of nodes in a long chain grows with the cube of their number.
const MOST_NODES: usize = 256;
const ONE_THREAD: Smt = Smt { threads: 1, throughput: 1.0 };

/// A machine, ready to be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineSpec {
    /// The topology that a sensor reports.
    pub topology: Arc<Topology>,
    /// Clock rate of every core in Hz.
    pub hertz: f64,
    /// What the contention model needs, with nodes and LLCs by position.
    pub(crate) memory: Machine,
    /// Installed base pages by position of node.
    pub(crate) pages: Vec<u64>,
    /// Every CPU's node and LLC by position.
    pub(crate) places: BTreeMap<CpuId, Place>,
    /// What each LLC can allocate, by position.
    pub(crate) classes: Vec<Classes>,
    pub(crate) smt: Smt,
    /// Whether hardware counters count a prefetched line as a miss.
    pub(crate) counts_prefetches: bool,
    /// The description that it was made from.
    spec: Arc<spec::Spec>,
    pub(crate) linux: Linux,
}

/// How the ways of an LLC can be allocated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Classes {
    /// Classes of service, including the class of threads in no cluster.
    pub clos: u32,
    /// Whether a mask may have gaps between its bits.
    pub sparse: bool,
}

/// Simultaneous multithreading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Smt {
    /// Hardware threads of a core.
    pub threads: u32,
    /// Throughput of all hardware threads of a core together, relative to one alone, while none
    /// misses the LLC.
    pub throughput: f64,
}

impl Smt {
    /// The factor on a thread's computing time while `busy` threads of its core, including itself,
    /// run. Throughput is taken as linear between one thread and all.
    pub fn crowding(self, busy: u32) -> f64 {
        if busy <= 1 || self.threads <= 1 {
            return 1.0;
        }
        let filled = f64::from(busy - 1) / f64::from(self.threads - 1);
        f64::from(busy) / (1.0 + (self.throughput - 1.0) * filled)
    }
}

impl MachineSpec {
    /// Reads a machine from TOML; `file` only appears in errors.
    ///
    /// # Errors
    /// [`SimError`] if the text does not describe a machine: an unknown key, a value out of range,
    /// nodes that no route joins.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, SimError> {
        let spec: spec::Spec = crate::error::parse(file, text)?;
        if spec.node.len() > MOST_NODES {
            let problem = format!("is there {} times; a machine has at most {MOST_NODES} nodes", spec.node.len());
            return Err(SimError::value(file, "node", problem));
        }
        Self::from_spec(file, &spec)
    }

    /// A machine from a short string such as `node:2 llc:1 core:4` (see
    /// `isobar_model::topology::synthetic`), with 2.5 GHz, 80 ns local and 130 ns remote, 20 GB/s
    /// per node, and a link of 10 GB/s each way between any two nodes.
    ///
    /// # Errors
    /// [`SimError::Value`] if the string is malformed.
    pub fn synthetic(text: &str) -> Result<Self, SimError> {
        let shape = topology::synthetic::synthetic(text)
            .map_err(|error| SimError::value("synthetic machine", "machine", error.to_string()))?;
        Self::from_spec("synthetic machine", &spec::Spec::of_shape(&shape))
    }

    pub(crate) fn from_spec(file: &str, spec: &spec::Spec) -> Result<Self, SimError> {
        spec.validate(file)?;
        let ids: Vec<_> = spec.node.iter().map(|node| node.id).collect();
        let llcs = spec.llcs();
        let parts = Parts {
            latency: spec.latency.ns.iter().map(|row| row.iter().map(|ns| ns * NANO).collect()).collect(),
            resources: spec.resources(),
            routes: routes::routes(file, &ids, &spec.link, &spec.route)?,
            packets: spec.packets(),
            llcs: llcs.iter().map(|llc| cache(llc)).collect(),
        };
        let topology = spec.topology(file)?;
        let place = |cpu: &topology::Cpu| Place {
            node: position(&ids, cpu.node),
            llc: topology.llcs().iter().position(|llc| Some(llc.id) == cpu.llc).unwrap_or_default(),
        };
        Ok(Self {
            hertz: spec.clock_ghz * GIGA,
            memory: Machine::new(parts).map_err(|error| SimError::value(file, error.part, error.problem))?,
            pages: spec.node.iter().map(|node| u64::from(node.memory_gib) << 18).collect(),
            places: topology.cpus().iter().map(|cpu| (cpu.id, place(cpu))).collect(),
            classes: llcs.iter().map(|llc| Classes { clos: llc.clos, sparse: llc.sparse_masks }).collect(),
            smt: spec.smt.as_ref().map_or(ONE_THREAD, |smt| Smt { threads: smt.threads, throughput: smt.throughput }),
            counts_prefetches: spec.counters.misses_include_prefetches,
            spec: Arc::new(spec.clone()),
            linux: spec.linux,
            topology: Arc::new(topology),
        })
    }

    /// Number of memory controllers of a node. Lines alternate between them, so that all are
    /// equally busy and one queue represents them.
    #[must_use]
    pub fn controllers(&self, node: NodeId) -> Option<u32> {
        Some(self.spec.node.get(self.node_position(node)?)?.controllers)
    }

    /// The same machine with a kind of estimate set to an end of its range; unchanged if it has no
    /// range.
    ///
    /// # Errors
    /// As [`Self::from_toml`]; never for a machine that was read from a file.
    pub fn assuming(&self, estimate: Estimate, end: End) -> Result<Self, SimError> {
        let mut spec = spec::Spec::clone(&self.spec);
        match estimate {
            Estimate::NodeRate => {
                spec.node.iter_mut().for_each(|node| node.sustained = end.of(node.sustained_range, node.sustained));
            }
            Estimate::LinkRate => {
                spec.link.iter_mut().for_each(|link| link.sustained = end.of(link.sustained_range, link.sustained));
            }
            Estimate::Prefetch => return Ok(self.clone()),
        }
        // The rate of strays may have been changed since the file was read.
        Ok(Self { linux: self.linux, ..Self::from_spec("machine under an assumption", &spec)? })
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
            max_bandwidth: Some(Bandwidth(node.gb_per_s * node.sustained * GIGA)),
        };
        let llc = |llc: &spec::LlcSpec| topology::Llc {
            id: llc.id,
            level: 3,
            size: Some(Bytes(num::round(llc.size_mib * 1_048_576.0))),
            ways: Some(Ways(llc.ways)),
        };
        let threads = self.smt.as_ref().map_or(1, |smt| smt.threads);
        let cores = self.cores();
        let cpus = self.llc.iter().flat_map(|llc| cpus(llc, threads, cores));
        let parts = topology::Parts {
            nodes: self.node.iter().map(node).collect(),
            llcs: self.llc.iter().map(llc).collect(),
            cpus: cpus.collect(),
            distances: NodeMatrix::from_rows(nodes, rows),
            allocation: self.allocation(),
            ..topology::Parts::default()
        };
        Topology::new(parts).map_err(|error| SimError::value(file, "llc", error.to_string()))
    }

    /// The LLCs, ascending by id as in the topology.
    fn llcs(&self) -> Vec<&spec::LlcSpec> {
        let mut llcs: Vec<_> = self.llc.iter().collect();
        llcs.sort_by_key(|llc| llc.id);
        llcs
    }

    /// What resctrl would report. If LLCs differ, the bits are those of the largest: each LLC names
    /// its own ways. The number of classes is the same for all.
    fn allocation(&self) -> Option<topology::CacheAllocation> {
        let ways = self.llc.iter().map(|llc| llc.ways).max()?;
        Some(topology::CacheAllocation {
            resource: "L3".to_owned(),
            cbm_mask: u64::MAX >> (64 - ways),
            min_cbm_bits: 1,
            num_closids: self.llc.iter().map(|llc| llc.clos).min()?,
            shareable_bits: 0,
            num_rmids: None,
            bandwidth: self.bandwidth_shares,
        })
    }

    fn resources(&self) -> Vec<Resource> {
        let controllers = self.node.iter().map(|node| (node.gb_per_s * node.sustained, self.queue.controller_ns));
        let link = |link: &spec::LinkSpec| [(link.gb_per_s_each_way * link.sustained, self.queue.link_ns); 2];
        let links = self.link.iter().flat_map(link);
        let resource = |(gb, ns): (f64, f64)| Resource { capacity: gb * GIGA, queue: ns * NANO };
        controllers.chain(links).map(resource).collect()
    }

    fn packets(&self) -> Packets {
        let spec::CoherenceSpec { request_bytes, probe_bytes, response_bytes } = self.coherence;
        Packets { request: request_bytes, probe: probe_bytes, response: response_bytes }
    }
}

fn cache(llc: &spec::LlcSpec) -> Cache {
    let bytes = num::float(num::round(llc.size_mib * 1_048_576.0));
    Cache { bytes, ways: llc.ways, private: llc.private_kib * 1024.0 }
}

/// The CPUs of an LLC: thread `t` of core `k` is CPU `k + t * cores`, as Linux numbers siblings on
/// most Intel machines.
fn cpus(llc: &spec::LlcSpec, threads: u32, cores: u32) -> Vec<topology::Cpu> {
    let cpu = |core: CpuId, thread: u32| topology::Cpu {
        id: CpuId(core.0 + thread * cores),
        core: isobar_model::CoreId(core.0),
        llc: Some(llc.id),
        node: Some(llc.node),
    };
    (0..threads).flat_map(|thread| llc.cpus.iter().map(move |core| cpu(core, thread))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_corners_of_the_square_are_two_hops_apart() {
        let machine = find("barcelona-4x4").unwrap();
        assert_eq!(machine.topology.cpus().len(), 16);
        assert_eq!(machine.memory.route(0, 1).len(), 1);
        assert_eq!(machine.memory.route(0, 3).len(), 2);
        assert!(machine.memory.route(2, 2).is_empty());
        assert_eq!(machine.topology.distances().unwrap().get(NodeId(0), NodeId(3)), Some(&17));
    }

    #[test]
    fn bad_machines_get_one_line() {
        let text = include_str!("../../../../machines/nehalem-2x4.toml");
        let bad = |from: &str, to: &str| {
            let error = MachineSpec::from_toml("m.toml", &text.replace(from, to)).unwrap_err().to_string();
            assert!(error.starts_with("m.toml: ") && !error.contains('\n'), "{error}");
            error
        };
        assert!(bad("clock_ghz", "clock_gh").contains("clock_gh"));
        assert!(bad("clock_ghz = 2.27", "clock_ghz = -1.0").contains("clock_ghz"));
        assert!(bad("b = 1", "b = 7").contains("link"));
        assert!(
            bad(
                "[[link]]\na = 0\nb = 1\ngb_per_s_each_way = 11.72\nsustained = 0.8\nsustained_range = [0.7, 0.89]",
                ""
            )
            .contains("route")
        );
        assert!(bad("[90.0, 50.0]]", "]").contains("latency"));
        assert!(bad("cpus = \"4-7\"", "cpus = \"0-3\"").contains("twice"));
        assert!(bad("sustained = 0.8", "sustained = 1.5").contains("node.sustained"));
        assert!(
            bad("sustained = 0.8\nsustained_range = [0.7", "sustained = 0.0\nsustained_range = [0.7")
                .contains("link.sustained")
        );
        assert!(bad("[0.6, 0.83]", "[0.82, 0.83]").contains("`node.sustained_range` must be a low end of at most 0.8"));
        assert!(bad("[0.7, 0.89]", "[0.7, 1.2]").contains("`link.sustained_range` has 1.2"));
        assert!(bad("probe_bytes = 8", "probe_bytes = -8").contains("coherence.probe_bytes"));
        assert!(bad("ways = 16", "ways = 65").contains("llc.ways"));
        assert!(bad("ways = 16", "ways = 0").contains("llc.ways"));
        assert!(bad("ways = 16", "ways = 4000000000").contains("`llc.ways` is 4000000000; it must be from 1 to 64"));
        let chain: String =
            (2..300).map(|id| format!("[[node]]\nid = {id}\nmemory_gib = 1\ngb_per_s = 1.0\n")).collect();
        assert!(
            bad("[[link]]", &format!("{chain}[[link]]"))
                .contains("`node` is there 300 times; a machine has at most 256")
        );
        assert!(bad("ways = 16", "ways = 16\nclos = 0").contains("llc.clos"));
        let shares =
            |least: u32| format!("bandwidth_shares = {{ least_percent = {least}, step_percent = 10 }}\nclock_ghz");
        assert!(bad("clock_ghz", &shares(101)).contains("bandwidth_shares.least_percent"));
        assert!(bad("clock_ghz", "smt = { threads = 2, throughput = 2.5 }\nclock_ghz").contains("smt.throughput"));
        assert!(bad("clock_ghz", "smt = { threads = 0, throughput = 1.0 }\nclock_ghz").contains("smt.threads"));
    }

    #[test]
    fn siblings_are_numbered_after_all_cores() {
        let text = include_str!("../../../../machines/nehalem-2x4.toml");
        let text = format!("smt = {{ threads = 2, throughput = 1.3 }}\n{text}");
        let machine = MachineSpec::from_toml("m.toml", &text).unwrap();
        let cpu = |id| machine.topology.cpu(CpuId(id)).unwrap();
        assert_eq!(machine.topology.cpus().len(), 16);
        assert_eq!((cpu(13).core, cpu(13).node, cpu(13).llc), (cpu(5).core, cpu(5).node, cpu(5).llc));
        assert!((machine.smt.crowding(1) - 1.0).abs() < 1e-12 && (machine.smt.crowding(2) - 2.0 / 1.3).abs() < 1e-12);
    }
}
