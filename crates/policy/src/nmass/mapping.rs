//! A mapping of threads to cores while it is being made: which thread is on which core, which cores
//! are free, and the pressure on every LLC. This file only keeps the accounts and knows no rules:
//! which process goes where is decided by [`super::max_local`] and [`super::refine`].
//!
//! The pressure of an LLC is the sum of the MPKI of the threads on it. The MPKI of a thread that
//! runs remotely is multiplied by its process's NUMA penalty ("if mapping processes onto a
//! different LLC results in the remote execution of the re-mapped process, then we account also for
//! the performance penalty", section 3.1).
//!
//! *Departure from the paper*: lines 3 and 4 of algorithm 3 add up plain MPKI, even of surplus
//! processes that step 2 mapped remotely. Here these are weighted like the processes that step 3
//! maps remotely.

use super::home::distance;
use super::programs::{Program, Programs};
use crate::kit::domains::{Domain, DomainId, Domains, SeatId};
use crate::kit::group::Member;
use crate::kit::load::Load;
use isobar_model::{NodeId, NodeMap, Topology};

/// An unfinished mapping.
#[derive(Debug)]
pub struct Mapping<'m, 'a> {
    /// The machine's domains, which are the paper's processors.
    pub domains: &'m Domains,
    members: &'m [Member<'a>],
    rates: &'m [f64],
    /// The LLC of each domain; an LLC over several nodes is shared by several domains.
    cache_of: Vec<usize>,
    /// The pressure by LLC.
    pressure: Vec<f64>,
    load: Load,
    /// Number of cores without a thread, by domain.
    free: Vec<usize>,
    /// The least loaded seat of each domain, if nothing has changed since it was last searched for.
    /// With thousands of threads beyond the cores, the search would dominate the cost of a
    /// decision.
    least: Vec<Option<SeatId>>,
    /// The distance of each domain from each node.
    far: NodeMap<Vec<u32>>,
    /// The seat of each member.
    pub at: Vec<Option<SeatId>>,
}

impl<'m, 'a> Mapping<'m, 'a> {
    /// Starts with no thread mapped, except that pinned threads and threads of processes without a
    /// home add pressure where they are.
    #[must_use]
    pub fn new(machine: &Topology, domains: &'m Domains, programs: &'m Programs<'a>) -> Self {
        let load = Load::of(domains, programs.load.clone());
        let mut mapping = Self {
            domains,
            members: &programs.groups.members,
            rates: &programs.rates,
            cache_of: caches(domains),
            pressure: vec![0.0; domains.domains.len()],
            free: domains.domains.iter().map(|domain| free_cores(domains, domain, &load)).collect(),
            least: vec![None; domains.domains.len()],
            far: far(machine, domains),
            load,
            at: vec![None; programs.groups.members.len()],
        };
        let homeless = programs.homeless.iter().filter(|it| it.ran).map(|it| (it.seat, it.pressure));
        for (seat, pressure) in programs.pinned.iter().copied().chain(homeless) {
            mapping.pressure[mapping.cache_of[domains.seat(seat).domain.0]] += pressure;
        }
        mapping
    }

    /// The LLC of a domain, numbered from 0.
    #[must_use]
    pub fn cache(&self, domain: DomainId) -> usize {
        self.cache_of[domain.0]
    }

    /// The pressure on the LLC of a domain.
    #[must_use]
    pub fn pressure(&self, domain: DomainId) -> f64 {
        self.pressure[self.cache_of[domain.0]]
    }

    /// The pressure in a domain that corresponds to a pressure at home.
    #[must_use]
    pub fn weighted(&self, program: &Program<'_>, pressure: f64, domain: DomainId) -> f64 {
        if self.is_local(program, domain) { pressure } else { pressure * program.penalty.value }
    }

    /// Whether a program would run locally in a domain.
    #[must_use]
    pub fn is_local(&self, program: &Program<'_>, domain: DomainId) -> bool {
        self.domains.domain(domain).node == Some(program.home)
    }

    /// The distance of a domain from a node.
    #[must_use]
    pub fn distance(&self, from: NodeId, to: DomainId) -> u32 {
        self.far.get(from).map_or(u32::MAX, |far| far[to.0])
    }

    /// The domain on which all threads of a program sit, if it is a single one.
    #[must_use]
    pub fn domain_of(&self, program: &Program<'_>) -> Option<DomainId> {
        let mut domains = program.members.clone().map(|member| Some(self.domains.seat(self.at[member]?).domain));
        let first = domains.next()??;
        domains.all(|domain| domain == Some(first)).then_some(first)
    }

    /// The number of free cores of a domain.
    #[must_use]
    pub fn free_cores(&self, domain: DomainId) -> usize {
        self.free[domain.0]
    }

    /// A free core in a domain that a member may use.
    #[must_use]
    pub fn free_core(&self, member: usize, domain: DomainId) -> Option<SeatId> {
        self.free_core_but(member, domain, &[])
    }

    /// Free cores in a domain for all threads of a program, one each.
    #[must_use]
    pub fn free_cores_for(&self, program: &Program<'_>, domain: DomainId) -> Option<Vec<SeatId>> {
        let mut taken = Vec::with_capacity(program.members.len());
        for member in program.members.clone() {
            taken.push(self.free_core_but(member, domain, &taken)?);
        }
        Some(taken)
    }

    fn free_core_but(&self, member: usize, domain: DomainId, taken: &[SeatId]) -> Option<SeatId> {
        if self.free[domain.0] <= taken.len() {
            return None;
        }
        let mut seats = self.domains.domain(domain).seats.clone().map(SeatId);
        seats.find(|id| {
            let seat = self.domains.seat(*id);
            let is_taken = || taken.iter().any(|other| self.domains.seat(*other).core == seat.core);
            self.load.on_core(seat.core) == 0 && self.members[member].thread.may_run_on(seat.cpu) && !is_taken()
        })
    }

    /// The least loaded core for a program's thread. Of several, the one on the node that is
    /// nearest to its home; among these, the one on the LLC with the least pressure.
    #[must_use]
    pub fn least_loaded(&mut self, program: &Program<'_>, member: usize) -> Option<SeatId> {
        let mut best: Option<(SeatId, (u32, u32), f64)> = None;
        for domain in (0..self.domains.domains.len()).map(DomainId) {
            let Some(seat) = self.least_of(program, member, domain) else { continue };
            let key = (self.load.on_core(self.domains.seat(seat).core), self.distance(program.home, domain));
            let pressure = self.pressure(domain);
            let is_less =
                |(_, old, least): &(SeatId, (u32, u32), f64)| key.cmp(old).then(pressure.total_cmp(least)).is_lt();
            if best.as_ref().is_none_or(is_less) {
                best = Some((seat, key, pressure));
            }
        }
        best.map(|(seat, ..)| seat)
    }

    /// The least loaded seat of a domain that a program's thread may use.
    fn least_of(&mut self, program: &Program<'_>, member: usize, domain: DomainId) -> Option<SeatId> {
        if let Some(known) = self.least[domain.0].filter(|_| !program.confined) {
            return Some(known);
        }
        let usable = |seat: &usize| self.members[member].thread.may_run_on(self.domains.seats[*seat].cpu);
        let load =
            |seat: &usize| (self.load.on_core(self.domains.seats[*seat].core), self.load.on(SeatId(*seat)), *seat);
        let found = self.domains.domain(domain).seats.clone().filter(usable).min_by_key(load).map(SeatId);
        if !program.confined {
            self.least[domain.0] = found;
        }
        found
    }

    /// Seats a member.
    pub fn sit(&mut self, program: &Program<'_>, member: usize, seat: SeatId) {
        self.book(program, member, seat, 1.0);
        self.load.add(self.domains, seat);
        self.recount(seat);
        self.at[member] = Some(seat);
    }

    /// Takes a member off its seat.
    pub fn leave(&mut self, program: &Program<'_>, member: usize) {
        let Some(seat) = self.at[member].take() else { return };
        self.book(program, member, seat, -1.0);
        self.load.remove(self.domains, seat);
        self.recount(seat);
    }

    /// Updates what depends on the load of a seat's domain.
    fn recount(&mut self, seat: SeatId) {
        let id = self.domains.seat(seat).domain;
        self.free[id.0] = free_cores(self.domains, self.domains.domain(id), &self.load);
        self.least[id.0] = None;
    }

    fn book(&mut self, program: &Program<'_>, member: usize, seat: SeatId, sign: f64) {
        let domain = self.domains.seat(seat).domain;
        self.pressure[self.cache_of[domain.0]] += sign * self.weighted(program, self.rates[member], domain);
    }
}

fn free_cores(domains: &Domains, domain: &Domain, load: &Load) -> usize {
    // The first seats of a domain are one of each core.
    let cores = domains.seats[domain.seats.clone()].iter().take(domain.cores);
    cores.filter(|seat| load.on_core(seat.core) == 0).count()
}

/// For each node, the distance of each domain.
fn far(machine: &Topology, domains: &Domains) -> NodeMap<Vec<u32>> {
    let of_domain = |from: NodeId, domain: &Domain| domain.node.map_or(u32::MAX, |node| distance(machine, from, node));
    let row = |from: NodeId| domains.domains.iter().map(|domain| of_domain(from, domain)).collect();
    machine.nodes().iter().map(|node| (node.id, row(node.id))).collect()
}

/// Domains that share an LLC have the same number; a domain without an LLC has its own.
fn caches(domains: &Domains) -> Vec<usize> {
    let all = &domains.domains;
    let first = |at: usize| all[at].llc.and_then(|llc| all.iter().position(|other| other.llc == Some(llc)));
    (0..all.len()).map(|at| first(at).unwrap_or(at)).collect()
}
