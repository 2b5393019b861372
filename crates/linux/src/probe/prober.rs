//! Runs the probing threads, one per node with CPUs, and collects their rounds: the matrix of the
//! present latencies, and the lowest figures so far, which stand for the idle machine.

use super::figures::Figures;
use super::instructions::SUPPORTED;
use super::reason::NotMeasured;
use super::row::{Row, RowReading};
use crate::kernel::affinity;
use isobar_model::{CpuId, CpuSet, NodeId, NodeMap, NodeMatrix, Tid, Topology, num};
use rustix::thread::{gettid, sched_getcpu};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

/// How long a round waits for each of its threads. If a thread answers later, its row is not
/// measured in this round, and its answer is discarded so that old figures do not count as present
/// ones.
const PATIENCE: Duration = Duration::from_millis(100);

/// Why this machine cannot be probed at all, if it cannot.
#[must_use]
pub fn unavailable() -> Option<NotMeasured> {
    (!SUPPORTED).then_some(NotMeasured::Architecture)
}

/// One probing of the machine.
#[derive(Clone, Debug)]
pub struct Round {
    /// By node of the CPU and node of the memory; a pair that was not measured has no value.
    pub now: NodeMatrix<Figures>,
    /// The lowest median of each pair so far, in ns. If the machine was idle once, this is its idle
    /// latency.
    pub lowest: NodeMatrix<f64>,
    /// CPU time that the thread of each node used in the round.
    pub cost: NodeMap<Duration>,
    /// Why pairs were not measured.
    pub problems: Vec<NotMeasured>,
    /// Number of the probe's pages that something had moved to another node; they have been
    /// allocated again.
    pub rebound: usize,
}

/// The probing threads, which end when this is dropped.
#[derive(Debug)]
pub struct Prober {
    nodes: Vec<NodeId>,
    threads: Vec<Thread>,
    /// Pairs that can never be measured here.
    never: Vec<NotMeasured>,
    lowest: BTreeMap<(NodeId, NodeId), f64>,
}

#[derive(Debug)]
struct Thread {
    node: NodeId,
    /// Requests a round; the value is the CPU on which the requesting thread waits.
    ask: SyncSender<CpuId>,
    answers: Receiver<RowReading>,
    /// Whether the thread still has to answer an earlier round, which does not count any more.
    late: bool,
}

impl Prober {
    /// Starts a thread for each node that has CPUs which the calling thread may use. The threads
    /// sleep until they are asked.
    ///
    /// # Errors
    /// If no thread can be started, or if none would have anything to measure.
    pub fn start(machine: &Topology) -> Result<Self, NotMeasured> {
        if let Some(why) = unavailable() {
            return Err(why);
        }
        let own = Tid(gettid().as_raw_nonzero().get().unsigned_abs());
        let usable = affinity::get(own).map_err(NotMeasured::refused("cannot ask for the CPUs of this thread"))?;
        let nodes: Vec<NodeId> = machine.nodes().iter().map(|node| node.id).collect();
        let targets: Vec<NodeId> = nodes.iter().copied().filter(|node| with_memory(machine, *node).is_ok()).collect();
        let memoryless = nodes.iter().filter(|node| !targets.contains(node));
        let mut prober = Self {
            threads: Vec::new(),
            never: memoryless.map(|node| NotMeasured::NoMemory(*node)).collect(),
            lowest: BTreeMap::new(),
            nodes: nodes.clone(),
        };
        for node in nodes {
            match cpus_for(machine, node, &usable) {
                Ok(cpus) => prober.threads.push(Thread::start(node, cpus, targets.clone())?),
                Err(why) => prober.never.push(why),
            }
        }
        match prober.never.first() {
            Some(why) if prober.threads.is_empty() || targets.is_empty() => Err(why.clone()),
            _ => Ok(prober),
        }
    }

    /// Probes every pair once and waits for it, at most a tenth of a second per node. Nodes take
    /// turns, so that their probes do not disturb each other's measurements.
    pub fn round(&mut self) -> Round {
        let mut cells = BTreeMap::new();
        let (mut problems, mut cost, mut rebound) = (self.never.clone(), NodeMap::default(), 0);
        for thread in &mut self.threads {
            let Some(reading) = thread.answer() else {
                problems.push(NotMeasured::Late(thread.node));
                continue;
            };
            cost.insert(thread.node, reading.cost);
            rebound += reading.rebound;
            for (target, found) in reading.cells {
                match found {
                    Ok(figures) => drop(cells.insert((thread.node, target), figures)),
                    Err(why) => problems.push(why),
                }
            }
        }
        for (pair, figures) in &cells {
            let lowest = self.lowest.entry(*pair).or_insert(figures.median_ns);
            *lowest = lowest.min(figures.median_ns);
        }
        problems.sort_unstable();
        problems.dedup();
        Round { now: self.matrix(&cells), lowest: self.matrix(&self.lowest), cost, problems, rebound }
    }

    fn matrix<T: Copy>(&self, cells: &BTreeMap<(NodeId, NodeId), T>) -> NodeMatrix<T> {
        let row = |from: &NodeId| self.nodes.iter().map(|to| cells.get(&(*from, *to)).copied()).collect();
        let rows = self.nodes.iter().map(row).collect();
        // A topology's nodes ascend, and every pair has a cell.
        NodeMatrix::from_cells(self.nodes.clone(), rows).unwrap_or_default()
    }
}

/// Checks that a node has memory; if that is not known, it is assumed.
pub fn with_memory(machine: &Topology, node: NodeId) -> Result<(), NotMeasured> {
    let none = machine.node(node).and_then(|node| node.memory).is_some_and(|memory| memory.0 == 0);
    if none { Err(NotMeasured::NoMemory(node)) } else { Ok(()) }
}

/// The CPUs to probe a node from.
pub fn cpus_for(machine: &Topology, node: NodeId, usable: &CpuSet) -> Result<CpuSet, NotMeasured> {
    let cpus = machine.cpus_of_node(node).filter(|cpus| !cpus.is_empty()).ok_or(NotMeasured::NoCpu(node));
    // Without NUMA the kernel assigns CPUs to no node, but there is one node.
    let cpus = if machine.nodes().len() == 1 { cpus.unwrap_or_else(|_| machine.online()) } else { cpus? };
    let usable = cpus.intersection(usable);
    if usable.is_empty() { Err(NotMeasured::CpusForbidden(node)) } else { Ok(usable) }
}

impl Thread {
    fn start(node: NodeId, cpus: CpuSet, targets: Vec<NodeId>) -> Result<Self, NotMeasured> {
        let (ask, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let work = move || {
            let mut row = Row::new(node, cpus, targets);
            while asked.recv().is_ok_and(|best| answer.send(row.read(Some(best))).is_ok()) {}
        };
        let started = thread::Builder::new().name(format!("probe-{node}")).spawn(work);
        started.map_err(NotMeasured::refused("cannot start a probing thread"))?;
        Ok(Self { node, ask, answers, late: false })
    }

    /// Runs one round of the thread, unless the thread still has to answer an earlier round. An
    /// answer that came too late is discarded.
    fn answer(&mut self) -> Option<RowReading> {
        if self.late && matches!(self.answers.try_recv(), Err(TryRecvError::Empty)) {
            return None;
        }
        let left = CpuId(num::narrow(sched_getcpu()));
        let answer = self.ask.try_send(left).ok().and_then(|()| self.answers.recv_timeout(PATIENCE).ok());
        self.late = answer.is_none();
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::Bytes;
    use isobar_model::topology::synthetic::synthetic;
    use isobar_model::topology::{Node, Parts};

    #[test]
    fn a_node_is_probed_from_its_own_cpus_that_we_may_use() {
        let machine = synthetic("node:2 llc:1 core:2").unwrap();
        let usable = |text: &str| text.parse::<CpuSet>().unwrap();
        assert_eq!(cpus_for(&machine, NodeId(1), &usable("0-2")).unwrap().to_string(), "2");
        let forbidden = cpus_for(&machine, NodeId(1), &usable("0-1")).unwrap_err();
        assert_eq!(forbidden, NotMeasured::CpusForbidden(NodeId(1)));
        let mut parts = machine.into_parts();
        parts.nodes.push(Node { id: NodeId(2), memory: Some(Bytes(1 << 30)), max_bandwidth: None });
        parts.distances = None;
        let machine = Topology::new(parts).unwrap();
        assert_eq!(cpus_for(&machine, NodeId(2), &usable("0-3")).unwrap_err(), NotMeasured::NoCpu(NodeId(2)));
    }

    #[test]
    fn rounds_of_this_machine_fill_its_matrix_and_keep_the_lowest() {
        let machine = crate::topology::read(&crate::tree::Tree::live()).unwrap();
        let mut prober = Prober::start(&machine).unwrap();
        let rounds: Vec<Round> = (0..5).map(|_| prober.round()).collect();
        let node = machine.nodes()[0].id;
        let medians: Vec<f64> =
            rounds.iter().filter_map(|round| round.now.get(node, node)).map(|f| f.median_ns).collect();
        let Some(least) = medians.iter().copied().min_by(f64::total_cmp) else {
            return eprintln!("SKIPPED: this machine is too busy to be probed: {:?}", rounds[4].problems);
        };
        assert_eq!(rounds[4].lowest.get(node, node), Some(&least));
        assert_eq!(rounds[4].now.nodes().len(), machine.nodes().len());
    }

    #[test]
    fn a_machine_without_memory_is_refused_in_words() {
        let bare = synthetic("node:1 core:1").unwrap().into_parts();
        let nodes = bare.nodes.into_iter().map(|node| Node { memory: Some(Bytes(0)), ..node }).collect();
        let machine = Topology::new(Parts { nodes, ..bare }).unwrap();
        assert_eq!(Prober::start(&machine).unwrap_err(), NotMeasured::NoMemory(NodeId(0)));
    }
}
