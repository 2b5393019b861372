//! Memory domains: CPUs that share a last-level cache and a node (DINO, section 1). A domain has
//! one seat per CPU.
//!
//! On the paper's machines a domain is a node with its L3. On other machines, a node with several
//! LLCs has several domains, an LLC over several nodes has one domain for each node, and CPUs
//! without an LLC form one domain per node.

use isobar_model::ids::{CoreId, CpuId, LlcId, NodeId};
use isobar_model::{Topology, num};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A place for a thread: a CPU, by its position in [`Domains::seats`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeatId(pub usize);

/// A memory domain, by its position in [`Domains::domains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DomainId(pub usize);

/// One CPU of a domain.
#[derive(Clone, Copy, Debug)]
pub struct DomainCpu {
    /// The CPU.
    pub cpu: CpuId,
    /// Its domain.
    pub domain: DomainId,
    /// The physical core, numbered over the machine without gaps; SMT siblings share it.
    pub core: usize,
}

/// One memory domain.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Its LLC, if the CPUs have one.
    pub llc: Option<LlcId>,
    /// Its node, if the CPUs have one.
    pub node: Option<NodeId>,
    /// Its seats: one thread of every core first, then the SMT siblings.
    pub seats: Range<usize>,
    /// Number of its physical cores.
    pub cores: usize,
}

/// The domains of a machine, in the order in which layouts visit them: the first LLC of every node,
/// then the second, and so on, so that consecutive domains have separate memory controllers.
#[derive(Clone, Debug, Default)]
pub struct Domains {
    /// All domains, in visiting order.
    pub domains: Vec<Domain>,
    /// All seats, domain by domain.
    pub seats: Vec<DomainCpu>,
    by_cpu: Vec<Option<SeatId>>,
    names: Vec<String>,
}

/// The CPUs of a domain, by core.
type Members = ((Option<NodeId>, Option<LlcId>), Vec<(CoreId, CpuId)>);

/// Keeps the domains of the machine that was seen last. A machine changes only when a CPU comes or
/// goes, which is rare.
#[derive(Clone, Debug, Default)]
pub struct CachedDomains {
    last: Option<(Arc<Topology>, Domains)>,
}

impl CachedDomains {
    /// The domains of a machine, computed anew only if it is not the machine of the last call.
    pub fn of(&mut self, machine: &Arc<Topology>) -> &Domains {
        let same = self.last.as_ref().is_some_and(|(seen, _)| Arc::ptr_eq(seen, machine));
        let kept = if same { self.last.take() } else { None };
        let (_, domains) = self.last.insert(kept.unwrap_or_else(|| (Arc::clone(machine), Domains::of(machine))));
        domains
    }
}

impl Domains {
    /// The domains of a machine.
    #[must_use]
    pub fn of(machine: &Topology) -> Self {
        let mut members = BTreeMap::<_, Vec<_>>::new();
        for cpu in machine.cpus() {
            members.entry((cpu.node, cpu.llc)).or_default().push((cpu.core, cpu.id));
        }
        let mut found = Self::default();
        let mut cores = 0;
        for ((node, llc), cpus) in visiting_order(members.into_iter().collect()) {
            found.add(node, llc, cpus, &mut cores);
        }
        let highest = machine.cpus().last().map_or(0, |cpu| num::index(cpu.id.0) + 1);
        found.by_cpu = vec![None; highest];
        for (index, seat) in found.seats.iter().enumerate() {
            found.by_cpu[num::index(seat.cpu.0)] = Some(SeatId(index));
        }
        found
    }

    fn add(&mut self, node: Option<NodeId>, llc: Option<LlcId>, mut cpus: Vec<(CoreId, CpuId)>, cores: &mut usize) {
        cpus.sort_unstable();
        let mut number: BTreeMap<CoreId, (usize, usize)> = BTreeMap::new();
        let mut ranked: Vec<_> = cpus
            .into_iter()
            .map(|(core, cpu)| {
                let next = *cores + number.len();
                let (core, siblings) = number.entry(core).or_insert((next, 0));
                *siblings += 1;
                (*siblings, cpu, *core)
            })
            .collect();
        ranked.sort_unstable();
        let domain = DomainId(self.domains.len());
        self.names.push(name(node, llc));
        let first = self.seats.len();
        self.seats.extend(ranked.into_iter().map(|(_, cpu, core)| DomainCpu { cpu, domain, core }));
        self.domains.push(Domain { llc, node, seats: first..self.seats.len(), cores: number.len() });
        *cores += number.len();
    }

    /// A domain.
    #[must_use]
    pub fn domain(&self, id: DomainId) -> &Domain {
        &self.domains[id.0]
    }

    /// A seat.
    #[must_use]
    pub fn seat(&self, id: SeatId) -> DomainCpu {
        self.seats[id.0]
    }

    /// The seat of a CPU; `None` when the CPU is not online.
    #[must_use]
    pub fn seat_of(&self, cpu: CpuId) -> Option<SeatId> {
        self.by_cpu.get(num::index(cpu.0)).copied().flatten()
    }

    /// The domain of a CPU; `None` when the CPU is not online.
    #[must_use]
    pub fn domain_of(&self, cpu: CpuId) -> Option<DomainId> {
        self.seat_of(cpu).map(|seat| self.seat(seat).domain)
    }

    /// The CPUs of a domain.
    pub fn cpus(&self, id: DomainId) -> impl Iterator<Item = CpuId> + '_ {
        self.seats[self.domain(id).seats.clone()].iter().map(|seat| seat.cpu)
    }

    /// The node of a seat.
    #[must_use]
    pub fn node_of(&self, seat: SeatId) -> Option<NodeId> {
        self.domain(self.seat(seat).domain).node
    }

    /// The number of physical cores.
    #[must_use]
    pub fn core_count(&self) -> usize {
        self.domains.iter().map(|domain| domain.cores).sum()
    }

    /// A domain in words: `llc 3 (node 1)`.
    #[must_use]
    pub fn describe(&self, id: DomainId) -> &str {
        &self.names[id.0]
    }
}

fn name(node: Option<NodeId>, llc: Option<LlcId>) -> String {
    match (llc, node) {
        (Some(llc), Some(node)) => format!("llc {llc} (node {node})"),
        (Some(llc), None) => format!("llc {llc}"),
        (None, Some(node)) => format!("node {node}"),
        (None, None) => "the machine".to_owned(),
    }
}

/// Ordered by rank within the node, then by node, then by LLC. CPUs without a node count as one
/// more node, which comes last.
fn visiting_order(members: Vec<Members>) -> Vec<Members> {
    let mut ranks: BTreeMap<Option<NodeId>, usize> = BTreeMap::new();
    let mut order: Vec<_> = members
        .into_iter()
        .map(|(key, cpus)| {
            let rank = ranks.entry(key.0).or_default();
            *rank += 1;
            ((*rank, key.0.is_none(), key), cpus)
        })
        .collect();
    order.sort_by_key(|(key, _)| *key);
    order.into_iter().map(|((_, _, key), cpus)| (key, cpus)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;

    fn cpus(domains: &Domains, id: usize) -> Vec<u32> {
        domains.domains[id].seats.clone().map(|seat| domains.seats[seat].cpu.0).collect()
    }

    #[test]
    fn consecutive_domains_lie_on_different_nodes() {
        let domains = Domains::of(&synthetic("node:2 llc:2 core:2").unwrap());
        let order: Vec<_> = domains.domains.iter().map(|d| (d.node.unwrap().0, d.llc.unwrap().0)).collect();
        assert_eq!(order, [(0, 0), (1, 2), (0, 1), (1, 3)]);
        assert_eq!(cpus(&domains, 1), [4, 5]);
    }

    #[test]
    fn every_core_gets_one_thread_before_its_sibling_does() {
        let domains = Domains::of(&synthetic("node:1 core:2 pu:2").unwrap());
        assert_eq!(cpus(&domains, 0), [0, 1, 2, 3]);
        let cores: Vec<_> = domains.seats.iter().map(|seat| seat.core).collect();
        assert_eq!(cores, [0, 1, 0, 1]);
        assert_eq!(domains.core_count(), 2);
        assert_eq!(domains.seat_of(CpuId(4)), None);
    }
}
