//! Decides which core of its processor a thread gets. The paper maps to processors and takes any
//! free core. Here a thread keeps its present core if it can, so that making a mapping again after
//! it was carried out moves nothing.
//!
//! *Properties*: every thread stays in the domain that the mapping gave it; the cores of a domain
//! differ by at most one thread if no thread is confined or pinned; a thread leaves its core only
//! if it has to.

use super::programs::Programs;
use crate::kit::domains::{DomainId, Domains, SeatId};
use crate::kit::load::Load;

/// The final seats: in the domains of `mapped`, on the cores that threads already have if they can
/// keep them. A thread for which the mapping has no place has no seat.
#[must_use]
pub fn seat(domains: &Domains, programs: &Programs<'_>, mapped: &[Option<SeatId>]) -> Vec<Option<SeatId>> {
    let mut assignment = Assignment::new(domains, programs, mapped);
    // The most confined threads come first, because they have the least choice.
    for group in &programs.groups.groups {
        group.members.iter().for_each(|member| assignment.keep(*member));
        group.members.iter().for_each(|member| assignment.fill(*member));
    }
    assignment.seats
}

struct Assignment<'m, 'a> {
    domains: &'m Domains,
    programs: &'m Programs<'a>,
    /// The domain of each member.
    wanted: Vec<Option<DomainId>>,
    /// Number of threads that each core of a domain, and each of its seats, must have at least.
    level: Vec<(u32, u32)>,
    load: Load,
    seats: Vec<Option<SeatId>>,
}

impl<'m, 'a> Assignment<'m, 'a> {
    fn new(domains: &'m Domains, programs: &'m Programs<'a>, mapped: &[Option<SeatId>]) -> Self {
        let wanted: Vec<_> = mapped.iter().map(|seat| Some(domains.seat((*seat)?).domain)).collect();
        let mut threads = vec![0; domains.domains.len()];
        let seats = domains.seats.iter().zip(&programs.load);
        seats.for_each(|(seat, load)| threads[seat.domain.0] += load);
        wanted.iter().flatten().for_each(|domain| threads[domain.0] += 1);
        let share = |threads: u32, places: usize| (threads / isobar_model::num::narrow(places.max(1))).max(1);
        let of_domain = domains.domains.iter().zip(&threads);
        let level =
            of_domain.map(|(it, &threads)| (share(threads, it.cores), share(threads, it.seats.len()))).collect();
        let load = Load::of(domains, programs.load.clone());
        Self { domains, programs, wanted, level, load, seats: vec![None; mapped.len()] }
    }

    /// A thread that is in its domain keeps its core, unless the core already has its share.
    fn keep(&mut self, member: usize) {
        let (Some(domain), Some(now)) = (self.wanted[member], self.programs.groups.members[member].seat) else {
            return;
        };
        let seat = self.domains.seat(now);
        let (core, place) = self.level[domain.0];
        let has_room = self.load.on_core(seat.core) < core && self.load.on(now) < place;
        if seat.domain == domain && has_room && self.programs.groups.members[member].thread.may_run_on(seat.cpu) {
            self.sit(member, now);
        }
    }

    /// The other threads take the least loaded cores.
    fn fill(&mut self, member: usize) {
        let (Some(domain), None) = (self.wanted[member], self.seats[member]) else { return };
        let this = &self.programs.groups.members[member];
        let usable = |seat: &usize| this.thread.may_run_on(self.domains.seats[*seat].cpu);
        let order = |seat: &usize| {
            let core = self.load.on_core(self.domains.seats[*seat].core);
            (core, self.load.on(SeatId(*seat)), this.seat != Some(SeatId(*seat)), *seat)
        };
        let found = self.domains.domain(domain).seats.clone().filter(usable).min_by_key(order);
        if let Some(seat) = found {
            self.sit(member, SeatId(seat));
        }
    }

    fn sit(&mut self, member: usize, seat: SeatId) {
        self.load.add(self.domains, seat);
        self.seats[member] = Some(seat);
    }
}
