//! The stock scheduler. Threads are spread over nodes, caches and CPUs by load, at random among
//! equals, without regard to memory intensity. They stay where they are (sticky) until a CPU idles
//! while others are shared, or one node or cache runs two threads more than another. Memory goes to
//! the node of first touch, or where an allocation policy says (`allocation.rs`); if that node is
//! full, memory goes to the nearest node with free memory. A plan's binding is respected.
//!
//! Departures: no wake-ups and no load averages, because simulated threads never sleep.

use super::SimMachine;
use super::process::{Process, Thread};
use crate::workload::LlcAssignment;
use isobar_model::topology::Cpu;
use isobar_model::{CpuId, LlcId};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Picks one of the candidates with equal probability; `None` if there is none. Written out, so
/// that the result is the same on every platform.
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

    /// Starts every application, in random order: which come first is chance on a real machine too
    /// (N-MASS, section 4.3). Their next runs start where these runs start, other things being
    /// equal.
    pub(super) fn start_all(&mut self) {
        let mut waiting: Vec<_> = (0..self.workload.apps.len()).map(|app| self.fresh(app)).collect();
        while !waiting.is_empty() {
            let order: Vec<_> = (0..waiting.len()).collect();
            let next = pick(&mut self.rng, &order).unwrap_or_default();
            self.processes.push(waiting.remove(next));
            self.place(self.processes.len() - 1);
        }
        self.processes.sort_by_key(|process| process.app);
        for index in 0..self.processes.len() {
            let llc = |thread: &Thread| self.workload.machine.topology.cpu(thread.cpu).and_then(|cpu| cpu.llc);
            let llcs: Option<Vec<_>> = self.processes[index].threads.iter().map(llc).collect();
            let app = &mut self.workload.apps[index];
            app.seats = app.seats.take().or_else(|| Some(LlcAssignment { llcs: llcs?, keep: false }));
            self.touch(index);
        }
    }

    /// Places the threads of the process at `index`, and no others.
    pub(super) fn place(&mut self, index: usize) {
        let app = self.workload.apps[self.processes[index].app].clone();
        let mut load = self.load();
        for thread in &self.processes[index].threads {
            load.entry(thread.cpu).and_modify(|count| *count -= 1); // it has no place yet
        }
        for number in 0..self.processes[index].threads.len() {
            let seat = app.seats.as_ref().and_then(|seats| Some((*seats.llcs.get(number)?, seats.keep)));
            let cpu = match (app.cpu, seat) {
                (Some(first), _) => self.following(first, number),
                (None, Some((llc, keep))) if keep || self.now <= 0.0 => {
                    self.idlest(&load, Some(llc), |at| at.llc == Some(llc))
                }
                (None, seat) => {
                    let here = |at: &Cpu| app.start_node.is_none_or(|node| at.node == Some(node));
                    self.idlest(&load, seat.map(|(llc, _)| llc), here)
                }
            };
            *load.entry(cpu).or_default() += 1;
            self.processes[index].threads[number].cpu = cpu;
        }
    }

    /// The CPU that is `number` positions after a given one, wrapping around.
    fn following(&self, first: CpuId, number: usize) -> CpuId {
        let cpus = self.workload.machine.topology.cpus();
        let start = cpus.iter().position(|cpu| cpu.id == first).unwrap_or_default();
        cpus[(start + number) % cpus.len()].id
    }

    /// The idlest of the allowed CPUs as the kernel finds it, from the top of the scheduling
    /// domains to the bottom: the node with the least load per CPU, then the cache, the core and
    /// the CPU (`find_idlest_group` in `kernel/sched/fair.c`). Among equals the wanted cache is
    /// preferred.
    fn idlest(&mut self, load: &BTreeMap<CpuId, u32>, wanted: Option<LlcId>, allowed: impl Fn(&Cpu) -> bool) -> CpuId {
        let topology = Arc::clone(&self.workload.machine.topology);
        let mut left: Vec<&Cpu> = topology.cpus().iter().filter(|cpu| allowed(cpu)).collect();
        let levels: [fn(&Cpu) -> u64; 4] = [
            |cpu| cpu.node.map_or(0, |node| u64::from(node.0)),
            |cpu| cpu.llc.map_or(0, |llc| u64::from(llc.0)),
            |cpu| u64::from(cpu.core.0),
            |cpu| u64::from(cpu.id.0),
        ];
        for group in levels {
            let mut loads: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
            for cpu in topology.cpus() {
                let (threads, cpus) = loads.entry(group(cpu)).or_default();
                *threads += load.get(&cpu.id).copied().unwrap_or(0);
                *cpus += 1;
            }
            let relative = |cpu: &&Cpu| {
                loads.get(&group(cpu)).map_or(0.0, |(threads, cpus)| f64::from(*threads) / f64::from(*cpus))
            };
            let least = left.iter().map(relative).fold(f64::INFINITY, f64::min);
            left.retain(|cpu| relative(cpu) <= least);
            let mut groups: Vec<_> = left.iter().map(|cpu| group(cpu)).collect();
            groups.dedup();
            let own = left.iter().find(|cpu| wanted.is_some() && cpu.llc == wanted).map(|cpu| group(cpu));
            let chosen = own.or_else(|| pick(&mut self.rng, &groups));
            left.retain(|cpu| Some(group(cpu)) == chosen);
        }
        left.first().map_or(CpuId(0), |cpu| cpu.id)
    }

    /// Idle CPUs pull threads that may go there from shared ones, idle cores from shared cores, and
    /// emptier nodes from fuller ones.
    pub(super) fn balance(&mut self) {
        self.fill_idle();
        if self.even_out() {
            self.fill_idle();
        }
        self.part_siblings();
    }

    /// Idle CPUs pull from shared ones, the nearest first: within the same cache, then within the
    /// same node, then from anywhere.
    fn fill_idle(&mut self) {
        loop {
            let load = self.load();
            let idle: Vec<_> = load.iter().filter(|(_, count)| **count == 0).map(|(cpu, _)| *cpu).collect();
            let shared = |cpu: CpuId| load.get(&cpu).is_some_and(|count| *count > 1);
            let waiting = self
                .processes
                .iter()
                .enumerate()
                .flat_map(|(p, process)| process.threads.iter().enumerate().map(move |(t, thread)| (p, t, thread)));
            let mut waiting = waiting.filter(|(_, _, thread)| !thread.ended() && shared(thread.cpu));
            let Some((p, t, from, open)) = waiting.find_map(|(p, t, thread)| {
                let open: Vec<_> = idle.iter().copied().filter(|cpu| thread.may_go_to(*cpu)).collect();
                (!open.is_empty()).then_some((p, t, thread.cpu, open))
            }) else {
                return;
            };
            let places = &self.workload.machine.places;
            let far = |cpu: &CpuId| match (places[cpu], places[&from]) {
                (to, from) if to.llc == from.llc => 0,
                (to, from) if to.node == from.node => 1,
                _ => 2,
            };
            let nearest = open.iter().map(far).min();
            let near: Vec<_> = open.iter().copied().filter(|cpu| Some(far(cpu)) == nearest).collect();
            let Some(cpu) = pick(&mut self.rng, &near) else { return };
            let thread = &mut self.processes[p].threads[t];
            thread.cpu = cpu;
            if nearest > Some(0) {
                self.chill(p, t);
            }
        }
    }

    /// Touches the memory that the process at `index` should have touched by now.
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
        let latency = machine.memory.latency();
        let Process { memory, allocation, .. } = &mut self.processes[index];
        memory.touch(part, |thread, pages| {
            let wanted = allocation.deal(nodes[thread], pages).into_iter();
            wanted.flat_map(|(node, pages)| spill(&latency[node], node, pages, &mut free)).collect()
        });
    }

    /// Free pages by position of node. A process always starts, even without memory, so the number
    /// may fall to 0 and stay there.
    pub(super) fn free_pages(&self) -> Vec<u64> {
        let used = |node: usize| self.processes.iter().map(|process| process.memory.on_node(node)).sum::<u64>();
        let machine = &self.workload.machine;
        (0..machine.pages.len()).map(|node| machine.pages[node].saturating_sub(used(node))).collect()
    }
}

/// Puts pages on the first-touch node, then on the nearest nodes with free memory. Pages that fit
/// nowhere stay on the first node (swap is not simulated).
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

#[cfg(test)]
mod tests {
    use super::super::SimMachine;
    use crate::workload::Workload;
    use isobar_model::{Machine, Seconds, Wake};
    use std::collections::BTreeSet;

    fn workload(apps: &str) -> Workload {
        let run = "[run]\nruns = 3\ninstructions_factor = 0.02\n";
        Workload::from_toml("w.toml", &format!("machine = \"nehalem-2x4\"\n{run}{apps}")).unwrap()
    }

    fn nodes(machine: &SimMachine) -> Vec<usize> {
        let place = |cpu| machine.workload.machine.places[&cpu].node;
        machine.processes.iter().map(|process| place(process.threads[0].cpu)).collect()
    }

    const FOUR: &str = "[[app]]\nprogram = \"mcf\"\n[[app]]\nprogram = \"milc\"\n[[app]]\nprogram = \"namd\"\n\
                        [[app]]\nprogram = \"povray\"\n";

    /// Two threads on each node whatever the seed, and in the course of many seeds all six ways to
    /// do that (N-MASS, section 4.3).
    #[test]
    fn load_is_balanced_over_nodes_and_every_balanced_schedule_is_drawn() {
        let drawn: BTreeSet<_> = (0..60).map(|seed| nodes(&SimMachine::new(&workload(FOUR), seed))).collect();
        assert!(drawn.iter().all(|nodes| nodes.iter().sum::<usize>() == 2), "{drawn:?}");
        assert_eq!(drawn.len(), 6);
    }

    #[test]
    fn a_program_that_starts_again_starts_where_it_was() {
        let mut machine = SimMachine::new(&workload(FOUR), 3);
        let before = nodes(&machine);
        while machine.wait(Seconds(0.1)).unwrap() != Wake::Ended {
            assert_eq!(nodes(&machine), before);
        }
        assert!(machine.report().apps.iter().all(|app| app.completed >= 3));
    }
}
