//! The readings of the simulated machine's sensors: raw cumulative counters, pages, places. They
//! contain no slowdown, no occupancy and no queue, but only what real hardware counts.

use super::SimMachine;
use super::process::{Process, Thread};
use isobar_model::{
    Bytes, Count, Counters, Indirect, NodeMap, Pages, ProcessSample, Sample, Seconds, ThreadSample, num,
};
use std::sync::Arc;

const PAGE: u64 = 4096;
/// The kernel's clock ticks a second (`USER_HZ`).
const TICKS: f64 = 100.0;

impl SimMachine {
    pub(super) fn read(&mut self) -> Sample {
        let probed = self.probe();
        let accessed: Vec<_> = (0..self.processes.len()).map(|index| self.accessed(index)).collect();
        let machine = &self.workload.machine;
        let nodes = machine.nodes();
        let page_moves = self.copies.report(&nodes, self.now);
        let free = self.free_pages();
        let there = self.processes.iter().zip(accessed).filter(|(process, _)| !process.gone);
        let mut processes: Vec<_> = there.map(|(process, accessed)| self.process(process, accessed)).collect();
        processes.sort_by_key(|process| process.pid);
        Sample {
            time: Seconds(self.now),
            topology: Arc::clone(&machine.topology),
            free: nodes.iter().zip(free).map(|(node, pages)| (*node, Bytes(pages * PAGE))).collect(),
            latency: probed.latency,
            latency_idle: probed.idle,
            latency_cycles: probed.cycles,
            processes,
            page_moves,
            indirect: Indirect::default(),
            capabilities: Arc::clone(&self.capabilities),
        }
    }

    fn process(&self, process: &Process, accessed: Option<Vec<u64>>) -> ProcessSample {
        let nodes = self.workload.machine.nodes();
        let by_node = |pages: Vec<u64>| nodes.iter().zip(pages).map(|(id, count)| (*id, Pages(count))).collect();
        let pages: NodeMap<_> = by_node((0..nodes.len()).map(|node| process.memory.on_node(node)).collect());
        let start = num::round(process.start * TICKS);
        let counted = self.counted(process);
        ProcessSample {
            pid: process.pid,
            start,
            name: Arc::from(self.workload.apps[process.app].program.name.as_str()),
            cgroup: self.workload.apps[process.app].cgroup.clone(),
            pages: Some(pages),
            accessed_pages: accessed.map(by_node),
            threads: process.threads.iter().map(|thread| read_thread(thread, start, counted)).collect(),
        }
    }

    /// The factor by which hardware counters exceed misses and lookups: they include prefetched
    /// lines if the machine counts these.
    fn counted(&self, process: &Process) -> f64 {
        let prefetched = self.workload.apps[process.app].program.prefetch;
        if self.workload.machine.counts_prefetches { 1.0 + prefetched } else { 1.0 }
    }
}

fn read_thread(thread: &Thread, start: u64, counted: f64) -> ThreadSample {
    let on_cpu = num::round(thread.cpu_seconds * 1e9);
    let count = |value: f64| Some(Count::whole(num::floor(value), on_cpu));
    ThreadSample {
        tid: thread.tid,
        start,
        cpu: Some(thread.cpu),
        allowed: thread.pinned.clone(),
        pinned: thread.pinned.is_some(),
        bound: Some(thread.is_bound()),
        vcpu: false,
        cpu_time: Some(Seconds(thread.cpu_seconds)),
        counters: Counters {
            instructions: count(thread.done + thread.spun),
            cycles: count(thread.cycles),
            llc_references: count(thread.looks * counted),
            llc_misses: count(thread.misses * counted),
            cache_transfers: None,
            bytes: count(thread.bytes),
        },
    }
}
