//! The machine as the predictions need it: latencies, controllers, links and caches. What sensors
//! report comes first (idle latencies, bandwidth of nodes, sizes of caches). What they do not
//! report (links, queues) starts from typical figures and is corrected by observations: a probed
//! wait, at a counted traffic, shows how much a resource can carry.

use super::cores::Cores;
use super::part::Part;
use super::reading::WRITE_BACK;
use crate::kit::domains::Domains;
use isobar_contention::{Cache, Machine, Packets, Parts, Place, Resource};
use isobar_model::{CpuSet, Nanoseconds, NodeId, NodeMatrix, Observation, Topology, num};
use std::sync::Arc;

/// Seconds of a local access per unit of the distance table: 85 ns at a distance of 10.
const BY_DISTANCE: f64 = 8.5e-9;
/// Seconds of a remote access if nothing reports it.
const REMOTE: f64 = 135e-9;
/// Bytes per second that a CPU can ask of a node whose bandwidth is not known (3 GB/s of sustained
/// bandwidth per core is common on servers).
const BY_CPU: f64 = 3e9;
/// Scale of the queue of a controller, as a fraction of the idle local latency: a wait of one tenth
/// at half load, and of two to three times near saturation, as bandwidth-latency curves show.
const QUEUE: f64 = 0.19;
/// Scale of the queue of a link, in seconds: half of a hop.
const LINK_QUEUE: f64 = 12e-9;
/// If nothing is known, a link carries half of what a node does (UPI and Infinity Fabric: 0.4 to
/// 0.8).
const LINK: f64 = 0.5;
/// Size of a cache whose size is not reported.
const CACHE: f64 = 8.0 * 1_048_576.0;
/// Weight of a new figure in an epoch.
const TAKEN: f64 = 0.2;
/// Waits below this cannot be told from errors of a probe (a twentieth of a local access).
const CLEAR: f64 = 5e-9;

/// A controller or link that lines pass on their way between a CPU and a node's memory.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Which, by position in the machine's resources.
    pub resource: usize,
    /// The lines that a miss waits for there.
    pub awaited: f64,
    /// The lines that pass there per line that is read: lines are written back, too.
    pub lines: f64,
}

/// The memory of a machine.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The nodes, by position.
    pub nodes: Vec<NodeId>,
    /// Where each domain is, by position of domain.
    pub places: Vec<Place>,
    /// Cores and CPUs of each domain.
    pub cores: Vec<Cores>,
    /// The model's machine; rebuilt as figures are corrected.
    pub machine: Machine,
    /// The way of lines, by node of the CPU, then node of the memory.
    hops: Vec<Vec<Vec<Hop>>>,
    /// Whether a node's bandwidth was reported, by position.
    reported: Vec<bool>,
}

impl Memory {
    /// The machine of an observation; `None` if it has no node, or if its figures do not fit.
    #[must_use]
    pub fn of(seen: &Observation, domains: &Domains) -> Option<Self> {
        let nodes: Vec<NodeId> = seen.machine.nodes().iter().map(|node| node.id).collect();
        if nodes.is_empty() {
            return None;
        }
        let latency = idle_by_node(seen, &nodes);
        let reported: Vec<bool> = seen.machine.nodes().iter().map(|node| node.max_bandwidth.is_some()).collect();
        let capacity = |at: usize| {
            let cpus = seen.machine.cpus_of_node(nodes[at]).map_or(0, CpuSet::len).max(1);
            let most = seen.machine.nodes()[at].max_bandwidth.map(|most| most.0).filter(|most| *most > 0.0);
            most.unwrap_or(BY_CPU * num::float_len(cpus))
        };
        let mut resources: Vec<Resource> =
            (0..nodes.len()).map(|at| Resource { capacity: capacity(at), queue: QUEUE * latency[at][at] }).collect();
        let (mut routes, count) = (Vec::new(), nodes.len());
        for from in 0..count {
            let route = |to: usize| if from == to { Vec::new() } else { vec![link(count, from, to)] };
            routes.push((0..count).map(route).collect());
            for to in (0..count).filter(|to| *to != from) {
                let capacity = LINK * resources[from].capacity.min(resources[to].capacity);
                resources.push(Resource { capacity, queue: LINK_QUEUE });
            }
        }
        let (places, llcs) = caches(seen, domains, &nodes);
        let machine = Machine::new(Parts { latency, resources, routes, packets: Packets::default(), llcs }).ok()?;
        let hops = (0..count).map(|home| (0..count).map(|node| hops(&machine, home, node)).collect()).collect();
        Some(Self { nodes, places, cores: Cores::of(domains), machine, hops, reported })
    }

    /// The way of the lines that a CPU of a node reads from a node, both by position.
    #[must_use]
    pub fn hops(&self, home: usize, node: usize) -> &[Hop] {
        &self.hops[home][node]
    }

    /// Seconds by which a bandwidth share delays each line that a thread on a domain reads.
    #[must_use]
    pub fn delay(&self, domain: usize, part: Part) -> f64 {
        let node = self.places[domain].node;
        isobar_contention::delay(part.percent, self.machine.latency()[node][node])
    }

    /// Position of a node.
    #[must_use]
    pub fn position(&self, node: NodeId) -> Option<usize> {
        self.nodes.binary_search(&node).ok()
    }

    /// Whether the machine reported the bandwidth of a node, by position.
    #[must_use]
    pub fn is_reported(&self, node: usize) -> bool {
        self.reported.get(node).copied().unwrap_or(false)
    }

    /// The fractions of pages on each node if all of them are on one, by position.
    #[must_use]
    pub fn only(&self, node: usize) -> Vec<f64> {
        (0..self.nodes.len()).map(|at| if at == node { 1.0 } else { 0.0 }).collect()
    }

    /// Seconds of an access to the nearest memory when that is idle.
    #[must_use]
    pub fn nearest(&self) -> f64 {
        self.machine.latency().iter().flatten().copied().fold(f64::INFINITY, f64::min)
    }

    /// Seconds of an access under the load of the epoch, from one node to another by position: as
    /// probed, otherwise the idle latency.
    #[must_use]
    pub fn loaded(&self, seen: &Observation, from: usize, to: usize) -> f64 {
        let idle = self.machine.latency()[from][to];
        seconds(seen.latency.as_ref(), self.nodes[from], self.nodes[to]).map_or(idle, |probed| probed.max(idle))
    }

    /// The memory of an observation: as it was `before`, if that was the same machine, with the
    /// idle latencies as they are known now. A probe on a busy machine measures too much at first,
    /// and less once a node is less busy.
    #[must_use]
    pub fn renewed(before: Option<(Arc<Topology>, Self)>, seen: &Observation, domains: &Domains) -> Option<Self> {
        match before {
            Some((machine, mut memory)) if Arc::ptr_eq(&machine, &seen.machine) => {
                if seen.latency_idle.is_some() {
                    memory.settle(idle_by_node(seen, &memory.nodes));
                }
                Some(memory)
            }
            _ => Self::of(seen, domains),
        }
    }

    fn settle(&mut self, latency: Vec<Vec<f64>>) {
        if latency == *self.machine.latency() {
            return;
        }
        let mut parts = self.machine.parts().clone();
        for (at, resource) in parts.resources.iter_mut().take(self.nodes.len()).enumerate() {
            resource.queue *= latency[at][at] / parts.latency[at][at];
        }
        parts.latency = latency;
        if let Ok(machine) = Machine::new(parts) {
            self.machine = machine;
        }
    }

    /// Corrects capacities by the bytes per second through each resource (`flows`, by position) and
    /// the waits that were probed.
    pub fn correct(&mut self, seen: &Observation, flows: &[f64]) {
        let mut parts = self.machine.parts().clone();
        let nodes = self.nodes.len();
        // Beyond the lowest latency of the same pair: another pair may be faster.
        let lowest = |from: usize, to: usize| {
            measured(seen, self.nodes[from], self.nodes[to]).unwrap_or(self.machine.latency()[from][to])
        };
        let waits = |from: usize, to: usize| self.loaded(seen, from, to) - lowest(from, to);
        for from in 0..nodes {
            if !self.reported[from] && flows[from] > 0.9 * parts.resources[from].capacity {
                parts.resources[from].capacity = flows[from] / 0.9;
            }
            if seen.latency.is_some() {
                fit(&mut parts.resources[from], flows[from], waits(from, from), self.reported[from]);
            }
            for to in (0..nodes).filter(|to| *to != from) {
                let k = link(nodes, from, to);
                // Data flows from `from` to CPUs of `to`: this is the wait in addition to the
                // controller's.
                if seen.latency.is_some() && flows[k] > 0.0 {
                    fit(&mut parts.resources[k], flows[k], waits(to, from) - waits(from, from), false);
                }
                let least = flows[k] / 0.95;
                parts.resources[k].capacity = parts.resources[k].capacity.max(least);
            }
        }
        if let Ok(machine) = Machine::new(parts) {
            self.machine = machine;
        }
    }
}

/// Adopts part of what a wait at a flow implies: for the queue if the capacity was reported,
/// otherwise for the capacity.
fn fit(resource: &mut Resource, flow: f64, wait: f64, reported: bool) {
    if wait < CLEAR || flow <= 0.0 {
        return;
    }
    if reported {
        let used = (flow / resource.capacity).clamp(0.05, 0.97);
        let queue = wait * (1.0 - used) / (used * used);
        let least = 0.5 * resource.queue;
        if used > 0.3 {
            resource.queue += TAKEN * (queue.clamp(least, 2.0 * resource.queue) - resource.queue);
        }
    } else {
        let used = resource.utilisation(wait);
        if used > 0.3 {
            let capacity = (flow / used).clamp(0.5 * resource.capacity, 2.0 * resource.capacity);
            resource.capacity += TAKEN * (capacity - resource.capacity);
        }
    }
}

/// Position of the link that data takes from one node to another; each direction is its own.
const fn link(nodes: usize, from: usize, to: usize) -> usize {
    nodes + from * (nodes - 1) + if to > from { to - 1 } else { to }
}

/// Data comes from the memory's node, and write-backs go there.
fn hops(machine: &Machine, home: usize, node: usize) -> Vec<Hop> {
    let controller = Hop { resource: node, awaited: 1.0, lines: 1.0 + WRITE_BACK };
    let read = machine.route(node, home).iter().map(|link| Hop { resource: *link, awaited: 1.0, lines: 1.0 });
    let written = |link: &usize| Hop { resource: *link, awaited: 0.0, lines: WRITE_BACK };
    [controller].into_iter().chain(read).chain(machine.route(home, node).iter().map(written)).collect()
}

/// Seconds of an access to idle memory, by node of the CPU, then node of the memory. A probe may
/// have found a node busy each time. Nodes with CPUs usually reach their own memory equally fast,
/// and a route usually takes as long one way as the other, so the lowest latency that was measured
/// counts, for what could not be measured, too.
fn idle_by_node(seen: &Observation, nodes: &[NodeId]) -> Vec<Vec<f64>> {
    let distance = |from: usize, to: usize| seen.machine.distances()?.get(nodes[from], nodes[to]).copied();
    let has_cpus = |at: usize| seen.machine.cpus_of_node(nodes[at]).is_some_and(|cpus| !cpus.is_empty());
    let probed = |from: usize, to: usize| measured(seen, nodes[from], nodes[to]);
    let lowest = |pairs: &mut dyn Iterator<Item = (usize, usize)>| {
        pairs.filter_map(|(from, to)| probed(from, to)).min_by(f64::total_cmp)
    };
    let local = lowest(&mut (0..nodes.len()).filter(|at| has_cpus(*at)).map(|at| (at, at)));
    let at = |from: usize, to: usize| {
        let known = match (has_cpus(from) && has_cpus(to), from == to) {
            (true, true) => local,
            (true, false) if distance(from, to) == distance(to, from) => {
                lowest(&mut [(from, to), (to, from)].into_iter())
            }
            _ => probed(from, to),
        };
        known.unwrap_or_else(|| guessed(seen, nodes[from], nodes[to]))
    };
    (0..nodes.len()).map(|from| (0..nodes.len()).map(|to| at(from, to)).collect()).collect()
}

/// Seconds of an access to idle memory, as measured for a pair of nodes.
fn measured(seen: &Observation, from: NodeId, to: NodeId) -> Option<f64> {
    seconds(seen.latency_idle.as_ref(), from, to).filter(|one| *one > 0.0)
}

fn seconds(table: Option<&NodeMatrix<Nanoseconds>>, from: NodeId, to: NodeId) -> Option<f64> {
    table?.get(from, to).map(|one| one.0 * 1e-9)
}

/// The same, if it was not measured.
fn guessed(seen: &Observation, from: NodeId, to: NodeId) -> f64 {
    let distance = || Some(f64::from(*seen.machine.distances()?.get(from, to)?) * BY_DISTANCE);
    let guess = if from == to { 10.0 * BY_DISTANCE } else { REMOTE };
    distance().filter(|one| *one > 0.0).unwrap_or(guess)
}

/// The place of each domain, and the caches. CPUs of a domain without an LLC share a cache of a
/// typical size.
fn caches(seen: &Observation, domains: &Domains, nodes: &[NodeId]) -> (Vec<Place>, Vec<Cache>) {
    let list = seen.machine.llcs();
    let cache = |size: Option<f64>, ways: Option<u32>| Cache {
        bytes: size.filter(|bytes| *bytes > 0.0).unwrap_or(CACHE),
        ways: ways.unwrap_or(16).clamp(1, 64),
        private: 0.0,
    };
    let mut llcs: Vec<Cache> =
        list.iter().map(|llc| cache(llc.size.map(|size| num::float(size.0)), llc.ways.map(|ways| ways.0))).collect();
    let mut places = Vec::with_capacity(domains.domains.len());
    for domain in &domains.domains {
        let node = domain.node.and_then(|node| nodes.binary_search(&node).ok()).unwrap_or_default();
        let known = domain.llc.and_then(|llc| list.iter().position(|other| other.id == llc));
        let llc = known.unwrap_or_else(|| {
            llcs.push(cache(None, None));
            llcs.len() - 1
        });
        places.push(Place { node, llc });
    }
    (places, llcs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::observation;

    fn memory(seen: &Observation) -> Memory {
        Memory::of(seen, &Domains::of(&seen.machine)).unwrap()
    }

    #[test]
    fn a_machine_that_tells_nothing_has_usual_figures() {
        let seen = observation("node:2 core:4", vec![]);
        let memory = memory(&seen);
        assert_eq!(memory.machine.nodes(), 2);
        assert_eq!(memory.machine.resources().len(), 4);
        assert!(memory.machine.latency()[0][1] > memory.machine.latency()[0][0]);
    }

    /// At first both nodes are busy, and so is one direction between them. Then the first node is
    /// idle: both are known by it. The scale of a controller's queue stays the same part of a local
    /// access. What is not measured in an epoch, or not at all, changes nothing.
    #[test]
    fn idle_latencies_follow_the_least_busy_node() {
        let mut seen = observation("node:2 core:4", vec![]);
        let domains = Domains::of(&seen.machine);
        let mut before = None;
        let mut known = |rows: Option<[[Option<f64>; 2]; 2]>| {
            let row = |row: [Option<f64>; 2]| row.map(|one| one.map(Nanoseconds)).to_vec();
            let table =
                rows.and_then(|rows| NodeMatrix::from_cells(vec![NodeId(0), NodeId(1)], rows.map(row).to_vec()));
            seen.latency_idle = table;
            let memory = Memory::renewed(before.take(), &seen, &domains).unwrap();
            let latency = memory.machine.latency().concat();
            let parts = memory.machine.resources()[1].queue / latency[3];
            assert!((parts / QUEUE - 1.0).abs() < 1e-9, "{parts}");
            before = Some((Arc::clone(&seen.machine), memory));
            latency.iter().map(|one| num::round(one * 1e9)).collect::<Vec<u64>>()
        };
        let all = |rows: [[f64; 2]; 2]| Some(rows.map(|row| row.map(Some)));
        assert_eq!(known(all([[100.0, 150.0], [180.0, 120.0]])), [100, 150, 150, 100]);
        assert_eq!(known(all([[80.0, 150.0], [140.0, 120.0]])), [80, 140, 140, 80]);
        assert_eq!(known(None), [80, 140, 140, 80]);
        assert_eq!(known(Some([[Some(120.0), None], [Some(190.0), None]])), [120, 190, 190, 120]);
    }

    /// 4 GB/s that wait 20 ns on a link: `12 u^2 / (1 - u) = 20`, u = 0.705, so it carries 5.7
    /// GB/s.
    #[test]
    fn a_wait_at_a_flow_tells_what_a_link_carries() {
        let mut seen = observation("node:2 core:4", vec![]);
        let nodes = vec![NodeId(0), NodeId(1)];
        let table = |remote: f64| {
            let rows = vec![vec![Nanoseconds(85.0), Nanoseconds(135.0)], vec![Nanoseconds(remote), Nanoseconds(85.0)]];
            NodeMatrix::from_rows(nodes.clone(), rows)
        };
        seen.latency_idle = table(135.0);
        seen.latency = table(155.0);
        let mut memory = memory(&seen);
        for _ in 0..60 {
            memory.correct(&seen, &[4e9, 0.0, 4e9, 0.0]);
        }
        let capacity = memory.machine.resources()[2].capacity;
        assert!((capacity / 5.67e9 - 1.0).abs() < 0.02, "{capacity}");
    }
}
