//! The stock scheduler: threads are spread over the CPUs by load, at random among equals, without regard to memory intensity, and stay where
//! they are (sticky) until a CPU idles while others are shared. Memory goes to the node of first touch, and where that
//! is full to the nearest with room. A plan's binding is respected.
//!
//! Departures: no wake-ups and no load averages, since simulated threads never sleep; NUMA balancing is not simulated yet (it
//! was not in the kernels of the papers' machines).

use super::SimMachine;
use isobar_model::CpuId;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::BTreeMap;

/// One of the candidates, evenly; `None` where there is none. Written out, so that it is the same on every platform.
pub(super) fn pick<T: Copy>(rng: &mut ChaCha8Rng, candidates: &[T]) -> Option<T> {
    let count = u64::try_from(candidates.len()).ok().filter(|count| *count > 0)?;
    let index = (u64::from(rng.next_u32()) * count) >> 32;
    candidates.get(usize::try_from(index).ok()?).copied()
}

impl SimMachine {
    /// How many runnable threads each CPU has.
    pub(super) fn load(&self) -> BTreeMap<CpuId, u32> {
        let mut load: BTreeMap<_, _> = self.workload.machine.topology.cpus().iter().map(|cpu| (cpu.id, 0)).collect();
        let running = self.processes.iter().flat_map(|process| &process.threads).filter(|thread| !thread.ended());
        running.for_each(|thread| {
            load.entry(thread.cpu).and_modify(|count| *count += 1);
        });
        load
    }

    /// Places the threads of the process at `index`, and no other.
    pub(super) fn place(&mut self, index: usize) {
        let app = self.workload.apps[self.processes[index].app].clone();
        let mut load = self.load();
        for thread in &self.processes[index].threads {
            load.entry(thread.cpu).and_modify(|count| *count -= 1); // it has no place yet
        }
        for number in 0..self.processes[index].threads.len() {
            let cpu = match app.cpu {
                Some(first) => self.following(first, number),
                None => self.least_loaded(&load, app.start_node),
            };
            *load.entry(cpu).or_default() += 1;
            self.processes[index].threads[number].cpu = cpu;
        }
    }

    /// The CPU so many places after a given one, wrapping around.
    fn following(&self, first: CpuId, number: usize) -> CpuId {
        let cpus = self.workload.machine.topology.cpus();
        let start = cpus.iter().position(|cpu| cpu.id == first).unwrap_or_default();
        cpus[(start + number) % cpus.len()].id
    }

    fn least_loaded(&mut self, load: &BTreeMap<CpuId, u32>, node: Option<isobar_model::NodeId>) -> CpuId {
        let topology = &self.workload.machine.topology;
        let here = |cpu: &CpuId| node.is_none_or(|node| topology.node_of(*cpu) == Some(node));
        let allowed: Vec<_> = load.iter().filter(|(cpu, _)| here(cpu)).collect();
        let least = allowed.iter().map(|(_, count)| **count).min();
        let equals: Vec<_> = allowed.iter().filter(|(_, count)| Some(**count) == least).map(|(cpu, _)| **cpu).collect();
        pick(&mut self.rng, &equals).unwrap_or(CpuId(0))
    }

    /// Idle CPUs pull unbound threads from shared ones.
    pub(super) fn balance(&mut self) {
        loop {
            let load = self.load();
            let idle: Vec<_> = load.iter().filter(|(_, count)| **count == 0).map(|(cpu, _)| *cpu).collect();
            let shared = |cpu: CpuId| load.get(&cpu).is_some_and(|count| *count > 1);
            let waiting = self.processes.iter_mut().flat_map(|process| &mut process.threads);
            let Some(thread) = waiting.filter(|thread| !thread.bound && !thread.ended()).find(|t| shared(t.cpu)) else {
                return;
            };
            let Some(cpu) = pick(&mut self.rng, &idle) else { return };
            (thread.cpu, thread.occupancy) = (cpu, 0.0);
        }
    }

    /// Touches what the process at `index` should have touched by now.
    pub(super) fn touch(&mut self, index: usize) {
        let process = &self.processes[index];
        let app = &self.workload.apps[process.app];
        let part = match app.program.touch_share {
            share if share > 0.0 => (process.progress() / share).clamp(0.01, 1.0),
            _ => 1.0,
        };
        let machine = &self.workload.machine;
        let fixed = app.memory_node.and_then(|node| machine.node_position(node));
        let nodes: Vec<_> = process.threads.iter().map(|t| fixed.unwrap_or(machine.places[&t.cpu].node)).collect();
        let mut free = self.free_pages();
        let latency = &machine.latency;
        self.processes[index]
            .memory
            .touch(part, |thread, pages| spill(&latency[nodes[thread]], nodes[thread], pages, &mut free));
    }

    /// Free pages by position of node; a process never starts for want of memory, so it may fall to 0 and stay there.
    pub(super) fn free_pages(&self) -> Vec<u64> {
        let used = |node: usize| self.processes.iter().map(|process| process.memory.on_node(node)).sum::<u64>();
        let machine = &self.workload.machine;
        (0..machine.pages.len()).map(|node| machine.pages[node].saturating_sub(used(node))).collect()
    }
}

/// Pages go to the first-touch node, then to the nearest with room; what fits nowhere stays on the first (swap is not simulated).
fn spill(latency: &[f64], first: usize, pages: u64, free: &mut [u64]) -> Vec<(usize, u64)> {
    let mut nearest: Vec<_> = (0..free.len()).collect();
    nearest.sort_by(|a, b| latency[*a].total_cmp(&latency[*b]).then(a.cmp(b)));
    let mut left = pages;
    let mut taken = Vec::new();
    for node in nearest {
        let here = left.min(free[node]);
        free[node] -= here;
        left -= here;
        taken.push((node, here));
    }
    taken.push((first, left));
    taken
}
