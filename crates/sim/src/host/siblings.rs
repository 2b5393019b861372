//! Threads that share a core while another core of their cache is idle: the kernel separates them.
//! Cores are the groups of a cache's scheduling domain, and a core with two busy threads is busier
//! than an idle one, which pulls one of them (`SD_PREFER_SIBLING` in `kernel/sched/fair.c`; before
//! 2.6.35 by the power of a group of siblings, `smt_gain`). The kernel needs some ticks; here it
//! takes no time. This affects only threads that no plan has bound to their CPU, of programs that a
//! workload did not start on a CPU of its own choice (`cpu`): those stay, however the machine
//! numbers hardware threads.

use super::SimMachine;
use isobar_model::{CoreId, CpuId};
use std::collections::BTreeMap;

impl SimMachine {
    /// Moves threads that share a core to idle cores of their cache, as long as there are any.
    pub(super) fn part_siblings(&mut self) {
        if self.workload.machine.smt.threads < 2 {
            return;
        }
        let load = self.load();
        let mut busy: BTreeMap<CoreId, u32> = BTreeMap::new();
        for cpu in self.workload.machine.topology.cpus() {
            *busy.entry(cpu.core).or_insert(0) += u32::from(load.get(&cpu.id).is_some_and(|count| *count > 0));
        }
        for p in 0..self.processes.len() {
            if self.workload.apps[self.processes[p].app].cpu.is_some() {
                continue;
            }
            for t in 0..self.processes[p].threads.len() {
                let thread = &self.processes[p].threads[t];
                if thread.stays() || thread.ended() || load.get(&thread.cpu).is_some_and(|count| *count > 1) {
                    continue;
                }
                if let Some((from, to, cpu)) = self.idle_core(thread.cpu, &busy) {
                    self.processes[p].threads[t].cpu = cpu;
                    busy.entry(from).and_modify(|count| *count -= 1);
                    busy.insert(to, 1);
                }
            }
        }
    }

    /// The core of a CPU, if several of its CPUs are busy, and the first idle core of its cache
    /// with the first CPU of that core.
    fn idle_core(&self, cpu: CpuId, busy: &BTreeMap<CoreId, u32>) -> Option<(CoreId, CoreId, CpuId)> {
        let topology = &self.workload.machine.topology;
        let here = topology.cpu(cpu).filter(|here| busy.get(&here.core).is_some_and(|count| *count > 1))?;
        let near = topology.cpus().iter().filter(|other| (other.node, other.llc) == (here.node, here.llc));
        let idle = near.filter(|other| busy.get(&other.core) == Some(&0));
        idle.map(|other| (here.core, other.core, other.id)).min_by_key(|(_, _, id)| *id)
    }
}
