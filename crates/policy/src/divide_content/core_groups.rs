//! The core groups of a machine: each LLC with its CPUs and its memory node, and the choice of a
//! CPU for a thread there.

use crate::kit::domains::{Domains, SeatId};
use crate::kit::load::Load;
use isobar_model::{CpuId, CpuSet, LlcId, Thread, Topology, num};
use std::sync::Arc;

/// A machine as core groups. The groups are the LLCs, by position.
#[derive(Debug, Default)]
pub struct CoreGroups {
    machine: Option<Arc<Topology>>,
    /// The CPUs as seats.
    pub domains: Domains,
    /// The groups.
    pub list: Vec<Group>,
    /// The group of each CPU, by CPU id.
    of_cpu: Vec<Option<usize>>,
}

/// The CPUs that share an LLC.
#[derive(Debug)]
pub struct Group {
    /// The LLC.
    pub id: LlcId,
    /// Its CPUs: one hardware thread of every core first, then their siblings.
    pub seats: Vec<SeatId>,
    /// Number of physical cores.
    pub cores: usize,
    /// Its memory node, by position; groups without a node share an additional last position.
    pub node: usize,
    /// Maximum bandwidth of that node's controllers, in bytes per second, if known.
    pub max_bandwidth: Option<f64>,
    /// Number of its ways.
    pub ways: usize,
}

impl CoreGroups {
    /// The groups of a machine.
    #[must_use]
    pub fn of(machine: &Arc<Topology>) -> Self {
        let domains = Domains::of(machine);
        let group = |llc: &isobar_model::topology::Llc| {
            let own = domains.domains.iter().filter(|domain| domain.llc == Some(llc.id));
            let node = machine.nodes_of_llc(llc.id).first().copied();
            let position = machine.nodes().iter().position(|other| Some(other.id) == node);
            Group {
                id: llc.id,
                seats: own.clone().flat_map(|domain| domain.seats.clone()).map(SeatId).collect(),
                cores: own.map(|domain| domain.cores).sum(),
                node: position.unwrap_or(machine.nodes().len()),
                max_bandwidth: position.and_then(|at| machine.nodes()[at].max_bandwidth).map(|max| max.0),
                ways: llc.ways.map_or(0, |ways| num::index(ways.0)),
            }
        };
        let list: Vec<Group> = machine.llcs().iter().map(group).collect();
        let highest = machine.cpus().last().map_or(0, |cpu| num::index(cpu.id.0) + 1);
        let mut of_cpu = vec![None; highest];
        for (at, group) in list.iter().enumerate() {
            group.seats.iter().for_each(|seat| of_cpu[num::index(domains.seat(*seat).cpu.0)] = Some(at));
        }
        Self { machine: Some(Arc::clone(machine)), domains, list, of_cpu }
    }

    /// Becomes the groups of a machine, and returns whether that is a different machine than
    /// before.
    pub fn fit(&mut self, machine: &Arc<Topology>) -> bool {
        let same = self.machine.as_ref().is_some_and(|own| Arc::ptr_eq(own, machine) || own == machine);
        if same {
            self.machine = Some(Arc::clone(machine));
        } else {
            *self = Self::of(machine);
        }
        !same
    }

    /// The group of a CPU, by position.
    #[must_use]
    pub fn of_cpu(&self, cpu: CpuId) -> Option<usize> {
        self.of_cpu.get(num::index(cpu.0)).copied().flatten()
    }

    /// Number of CPUs of a group that are among these.
    #[must_use]
    pub fn usable(&self, group: usize, allowed: &CpuSet) -> usize {
        self.list[group].seats.iter().filter(|seat| allowed.contains(self.domains.seat(**seat).cpu)).count()
    }

    /// The seat for a thread in a group: of the seats that it may use, the one with the fewest
    /// threads, on the core with the fewest; on a tie the first.
    #[must_use]
    pub fn best(&self, load: &Load, group: usize, thread: &Thread) -> Option<SeatId> {
        let seats = self.list[group].seats.iter().copied();
        let usable = seats.filter(|seat| thread.may_run_on(self.domains.seat(*seat).cpu));
        usable.min_by_key(|seat| (load.on(*seat), load.on_core(self.domains.seat(*seat).core)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;

    #[test]
    fn groups_know_their_nodes() {
        let core_groups = CoreGroups::of(&Arc::new(synthetic("node:2 llc:2 core:2 pu:2").unwrap()));
        let of: Vec<(u32, usize, usize, usize)> =
            core_groups.list.iter().map(|group| (group.id.0, group.node, group.cores, group.seats.len())).collect();
        assert_eq!(of, [(0, 0, 2, 4), (1, 0, 2, 4), (2, 1, 2, 4), (3, 1, 2, 4)]);
    }

    #[test]
    fn cores_fill_up_before_their_siblings() {
        let machine = Arc::new(synthetic("node:1 core:2 pu:2").unwrap());
        let core_groups = CoreGroups::of(&machine);
        let thread = Thread { allowed_cpus: Some("0-3".parse().unwrap()), ..Thread::unmeasured(isobar_model::Tid(1)) };
        let mut load = Load::of(&core_groups.domains, vec![0; 4]);
        let mut taken = Vec::new();
        for _ in 0..5 {
            let seat = core_groups.best(&load, 0, &thread).unwrap();
            load.add(&core_groups.domains, seat);
            taken.push(core_groups.domains.seat(seat).cpu.0);
        }
        assert_eq!(taken, [0, 1, 2, 3, 0]);
        let confined = Thread { allowed_cpus: Some("3".parse().unwrap()), ..thread };
        assert_eq!(core_groups.best(&load, 0, &confined).map(|seat| core_groups.domains.seat(seat).cpu.0), Some(3));
        assert_eq!(core_groups.usable(0, &"3".parse().unwrap()), 1);
    }
}
