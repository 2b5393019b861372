//! The core groups of a machine: each LLC with its CPUs and its memory node, and which CPU a thread
//! takes there.

use crate::kit::domains::{Domains, SeatId};
use isobar_model::{CpuId, CpuSet, LlcId, Thread, Topology, num};
use std::sync::Arc;

/// A machine as core groups; groups are the LLCs, by position.
#[derive(Debug)]
pub struct CoreGroups {
    machine: Arc<Topology>,
    domains: Domains,
    groups: Vec<Group>,
    nodes: usize,
}

/// The CPUs that share an LLC.
#[derive(Debug)]
pub struct Group {
    /// The LLC.
    pub id: LlcId,
    /// Its CPUs: one thread of every core first, then the siblings.
    pub seats: Vec<SeatId>,
    /// Physical cores.
    pub cores: usize,
    /// Its memory node, by position; groups without one share a last one.
    pub node: usize,
    /// What that node's controllers deliver at most, in bytes a second, where known.
    pub max_bandwidth: Option<f64>,
    /// Its ways.
    pub ways: usize,
}

impl CoreGroups {
    /// The groups of a machine.
    #[must_use]
    pub fn of(machine: &Arc<Topology>) -> Self {
        let domains = Domains::of(machine);
        let group = |llc: &isobar_model::topology::Llc| {
            let own = domains.domains().iter().filter(|domain| domain.llc == Some(llc.id));
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
        let groups = machine.llcs().iter().map(group).collect();
        Self { machine: Arc::clone(machine), groups, nodes: machine.nodes().len() + 1, domains }
    }

    /// Whether these are the groups of a machine.
    #[must_use]
    pub fn is_of(&self, machine: &Arc<Topology>) -> bool {
        Arc::ptr_eq(&self.machine, machine) || self.machine == *machine
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// How many memory nodes groups may have.
    #[must_use]
    pub const fn nodes(&self) -> usize {
        self.nodes
    }

    /// The seat of a CPU.
    #[must_use]
    pub fn seat_of(&self, cpu: CpuId) -> Option<SeatId> {
        self.domains.seat_of(cpu)
    }

    /// The CPU of a seat.
    #[must_use]
    pub fn cpu(&self, seat: SeatId) -> CpuId {
        self.domains.seat(seat).cpu
    }

    /// CPUs of a group that a thread may use, as far as is known.
    #[must_use]
    pub fn usable(&self, group: usize, allowed: Option<&CpuSet>) -> usize {
        let seats = &self.groups[group].seats;
        match allowed {
            Some(allowed) => seats.iter().filter(|seat| allowed.contains(self.cpu(**seat))).count(),
            None => seats.len(),
        }
    }
}

/// How many threads each CPU and each core has.
#[derive(Clone, Debug, Default)]
pub struct Load {
    seats: Vec<u32>,
    cores: Vec<u32>,
}

impl Load {
    /// No thread anywhere.
    pub fn clear(&mut self, core_groups: &CoreGroups) {
        self.seats.clear();
        self.seats.resize(core_groups.domains.seats().len(), 0);
        self.cores.clear();
        self.cores.resize(core_groups.domains.core_count(), 0);
    }

    /// One thread more on a seat.
    pub fn add(&mut self, core_groups: &CoreGroups, seat: SeatId) {
        self.seats[seat.0] += 1;
        self.cores[core_groups.domains.seat(seat).core] += 1;
    }

    /// One thread less.
    pub fn remove(&mut self, core_groups: &CoreGroups, seat: SeatId) {
        self.seats[seat.0] = self.seats[seat.0].saturating_sub(1);
        let core = &mut self.cores[core_groups.domains.seat(seat).core];
        *core = core.saturating_sub(1);
    }

    /// Threads on a seat.
    #[must_use]
    pub fn on(&self, seat: SeatId) -> u32 {
        self.seats[seat.0]
    }

    /// The seat of a group that a thread may use with the fewest threads, on the core with the
    /// fewest, the first of them.
    #[must_use]
    pub fn best(&self, core_groups: &CoreGroups, group: usize, thread: &Thread) -> Option<SeatId> {
        let seats = core_groups.groups[group].seats.iter().copied();
        let usable = seats.filter(|seat| thread.may_run_on(core_groups.cpu(*seat)));
        usable.min_by_key(|seat| (self.on(*seat), self.cores[core_groups.domains.seat(*seat).core]))
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
            core_groups.groups().iter().map(|group| (group.id.0, group.node, group.cores, group.seats.len())).collect();
        assert_eq!(of, [(0, 0, 2, 4), (1, 0, 2, 4), (2, 1, 2, 4), (3, 1, 2, 4)]);
    }

    #[test]
    fn cores_fill_up_before_their_siblings() {
        let machine = Arc::new(synthetic("node:1 core:2 pu:2").unwrap());
        let core_groups = CoreGroups::of(&machine);
        let thread = Thread { allowed_cpus: Some("0-3".parse().unwrap()), ..Thread::unmeasured(isobar_model::Tid(1)) };
        let mut load = Load::default();
        load.clear(&core_groups);
        let mut taken = Vec::new();
        for _ in 0..5 {
            let seat = load.best(&core_groups, 0, &thread).unwrap();
            load.add(&core_groups, seat);
            taken.push(core_groups.cpu(seat).0);
        }
        assert_eq!(taken, [0, 1, 2, 3, 0]);
        let confined = Thread { allowed_cpus: Some("3".parse().unwrap()), ..thread };
        assert_eq!(load.best(&core_groups, 0, &confined).map(|seat| core_groups.cpu(seat).0), Some(3));
        assert_eq!(core_groups.usable(0, confined.allowed_cpus.as_ref()), 1);
    }
}
