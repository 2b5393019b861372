//! A mapping of threads to cores while it is being made: which thread is on which core, which cores
//! are free, and the pressure on every LLC. It knows arithmetic and no rule: which process goes
//! where is [`super::max_local`]'s and [`super::refine`]'s.
//!
//! The pressure of an LLC is the sum of the MPKI of the threads on it; that of a thread which runs
//! remotely is multiplied by its process's NUMA penalty ("if mapping processes onto a different LLC
//! results in the remote execution of the re-mapped process, then we account also for the
//! performance penalty", section 3.1).
//!
//! *Departure from the paper*: lines 3 and 4 of algorithm 3 add up plain MPKI, also of surplus
//! processes that step 2 mapped remotely. Here those are weighted as the ones are that step 3 maps
//! remotely.

use super::home::distance;
use super::programs::{Program, Programs};
use crate::kit::domains::{DomainId, Domains, SeatId};
use crate::kit::group::Member;
use crate::kit::load::Load;
use isobar_model::{NodeId, Topology};

/// An unfinished mapping.
#[derive(Debug)]
pub struct Mapping<'m, 'a> {
    /// The processors.
    pub domains: &'m Domains,
    machine: &'m Topology,
    members: &'m [Member<'a>],
    rates: &'m [f64],
    /// The LLC of each domain; an LLC over several nodes is shared by several domains.
    cache_of: Vec<usize>,
    /// By LLC.
    pressure: Vec<f64>,
    load: Load,
    /// The seat of each member.
    pub at: Vec<Option<SeatId>>,
}

impl<'m, 'a> Mapping<'m, 'a> {
    /// No thread mapped; pinned threads sit where they are.
    #[must_use]
    pub fn new(machine: &'m Topology, domains: &'m Domains, programs: &'m Programs<'a>) -> Self {
        let mut mapping = Self {
            domains,
            machine,
            members: &programs.groups.members,
            rates: &programs.rates,
            cache_of: caches(domains),
            pressure: vec![0.0; domains.domains.len()],
            load: Load::of(domains, programs.groups.load.clone()),
            at: vec![None; programs.groups.members.len()],
        };
        for (seat, pressure) in &programs.pinned {
            mapping.pressure[mapping.cache_of[domains.seat(*seat).domain.0]] += pressure;
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

    /// What a pressure at home amounts to in a domain.
    #[must_use]
    pub fn weighted(&self, program: &Program<'_>, pressure: f64, domain: DomainId) -> f64 {
        if self.is_local(program, domain) { pressure } else { pressure * program.penalty.value }
    }

    /// Whether a program would run locally in a domain.
    #[must_use]
    pub fn is_local(&self, program: &Program<'_>, domain: DomainId) -> bool {
        self.domains.domain(domain).node == Some(program.home)
    }

    /// How far a domain is from a node.
    #[must_use]
    pub fn distance(&self, from: NodeId, to: DomainId) -> u32 {
        self.domains.domain(to).node.map_or(u32::MAX, |node| distance(self.machine, from, node))
    }

    /// The one domain on which all threads of a program sit.
    #[must_use]
    pub fn domain_of(&self, program: &Program<'_>) -> Option<DomainId> {
        let mut domains = program.members.clone().map(|member| Some(self.domains.seat(self.at[member]?).domain));
        let first = domains.next()??;
        domains.all(|domain| domain == Some(first)).then_some(first)
    }

    /// The number of free cores of a domain.
    #[must_use]
    pub fn free_cores(&self, domain: DomainId) -> usize {
        let seats = &self.domains.seats[self.domains.domain(domain).seats.clone()];
        // One seat of every core comes first.
        seats.iter().take(self.domains.domain(domain).cores).filter(|seat| self.load.on_core(seat.core) == 0).count()
    }

    /// A free core of a domain that a member may use.
    #[must_use]
    pub fn free_core(&self, member: usize, domain: DomainId) -> Option<SeatId> {
        self.free_core_but(member, domain, &[])
    }

    /// Free cores of a domain for all threads of a program, one each.
    #[must_use]
    pub fn free_cores_for(&self, program: &Program<'_>, domain: DomainId) -> Option<Vec<SeatId>> {
        let mut taken = Vec::with_capacity(program.members.len());
        for member in program.members.clone() {
            taken.push(self.free_core_but(member, domain, &taken)?);
        }
        Some(taken)
    }

    fn free_core_but(&self, member: usize, domain: DomainId, taken: &[SeatId]) -> Option<SeatId> {
        let mut seats = self.domains.domain(domain).seats.clone().map(SeatId);
        seats.find(|id| {
            let seat = self.domains.seat(*id);
            let is_taken = || taken.iter().any(|other| self.domains.seat(*other).core == seat.core);
            self.load.on_core(seat.core) == 0 && self.members[member].thread.may_run_on(seat.cpu) && !is_taken()
        })
    }

    /// The least loaded core that a member may use, in the first of the domains where there are
    /// several.
    #[must_use]
    pub fn least_loaded(&self, member: usize, order: &[DomainId]) -> Option<SeatId> {
        let ranked = order.iter().enumerate();
        let seats = ranked.flat_map(|(rank, id)| self.domains.domain(*id).seats.clone().map(move |seat| (rank, seat)));
        let usable = |&(_, seat): &(usize, usize)| self.members[member].thread.may_run_on(self.domains.seats[seat].cpu);
        let load = |&(rank, seat): &(usize, usize)| {
            (self.load.on_core(self.domains.seats[seat].core), rank, self.load.on(SeatId(seat)), seat)
        };
        seats.filter(usable).min_by_key(load).map(|(_, seat)| SeatId(seat))
    }

    /// A member takes a seat.
    pub fn sit(&mut self, program: &Program<'_>, member: usize, seat: SeatId) {
        self.book(program, member, seat, 1.0);
        self.load.add(self.domains, seat);
        self.at[member] = Some(seat);
    }

    /// A member leaves its seat.
    pub fn leave(&mut self, program: &Program<'_>, member: usize) {
        let Some(seat) = self.at[member].take() else { return };
        self.book(program, member, seat, -1.0);
        self.load.remove(self.domains, seat);
    }

    fn book(&mut self, program: &Program<'_>, member: usize, seat: SeatId, sign: f64) {
        let domain = self.domains.seat(seat).domain;
        self.pressure[self.cache_of[domain.0]] += sign * self.weighted(program, self.rates[member], domain);
    }
}

/// Domains of one LLC have one number; a domain without an LLC has its own.
fn caches(domains: &Domains) -> Vec<usize> {
    let all = &domains.domains;
    let first = |at: usize| all[at].llc.and_then(|llc| all.iter().position(|other| other.llc == Some(llc)));
    (0..all.len()).map(|at| first(at).unwrap_or(at)).collect()
}
