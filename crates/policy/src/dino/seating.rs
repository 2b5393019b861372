//! Decides which thread takes which slot of a layout: threads that keep their core first, then the
//! rest (DINO, section 3.3.3, second and third step).
//!
//! A layout says how many slots of each class every domain has, and to which core each was dealt.
//! "Any thread of the given class can potentially fill the slot", so threads are matched to slots
//! with as few migrations as possible:
//!
//! 1. a thread whose core was dealt a slot of its class keeps the core (the paper's rule);
//! 2. a thread whose domain still has a slot of its class keeps its core, if the core has a free
//!    CPU: LLC and memory controller are the same, so moving it would be superfluous (our rule);
//! 3. the others fill the remaining slots of their class, if possible in their own domain or else
//!    on their own node.

use super::class::{CLASSES, Class};
use crate::kit::domains::{DomainId, Domains, SeatId};
use crate::kit::group::Member;
use crate::kit::load::Load;

/// A slot of the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The core to which it was dealt.
    pub seat: SeatId,
    /// The class that it is for.
    pub class: Class,
}

/// A group of threads being seated.
pub struct Seating<'a> {
    domains: &'a Domains,
    /// Slots left, by seat and class.
    dealt: Vec<[u32; CLASSES]>,
    /// Slots left, by domain and class.
    open: Vec<[u32; CLASSES]>,
    /// Number of threads that each seat can still take.
    room: Vec<u32>,
    /// Threads on each physical core.
    load: Load,
    /// Number of threads that a physical core of each domain takes at most.
    core_limit: Vec<u32>,
    /// Each member's seat, once it has one.
    pub seated: Vec<Option<SeatId>>,
}

impl<'a> Seating<'a> {
    /// `slots` for `members` threads, none of them seated yet; `load` is the number of threads
    /// already on each seat.
    #[must_use]
    pub fn new(domains: &'a Domains, slots: &[Slot], load: &[u32], members: usize) -> Self {
        let mut seating = Self {
            domains,
            dealt: vec![[0; CLASSES]; domains.seats.len()],
            open: vec![[0; CLASSES]; domains.domains.len()],
            room: load.iter().map(|load| u32::from(*load == 0)).collect(),
            load: Load::of(domains, load.to_vec()),
            core_limit: vec![1; domains.domains.len()],
            seated: vec![None; members],
        };
        for slot in slots {
            seating.dealt[slot.seat.0][slot.class.index()] += 1;
            seating.open[domains.seat(slot.seat).domain.0][slot.class.index()] += 1;
        }
        let mut planned = vec![0; domains.core_count()];
        for (index, seat) in domains.seats.iter().enumerate() {
            let dealt = seating.dealt[index].iter().sum();
            seating.room[index] = seating.room[index].max(dealt);
            planned[seat.core] += dealt + load[index];
            let limit = &mut seating.core_limit[seat.domain.0];
            *limit = planned[seat.core].max(*limit);
        }
        seating
    }

    /// Step 1: a thread on a core with a slot of its class keeps that core.
    pub fn keep_cores(&mut self, members: &[(Member<'_>, Class)]) {
        for (index, (member, class)) in members.iter().enumerate() {
            let Some(seat) = member.seat.filter(|_| self.seated[index].is_none()) else { continue };
            if self.dealt[seat.0][class.index()] > 0 {
                self.sit(index, seat, *class);
            }
        }
    }

    /// Step 2: a thread in a domain with a slot of its class keeps its core, if the core has a free
    /// CPU.
    pub fn keep_domains(&mut self, members: &[(Member<'_>, Class)]) {
        for (index, (member, class)) in members.iter().enumerate() {
            let Some(id) = member.seat.filter(|_| self.seated[index].is_none()) else { continue };
            let seat = self.domains.seat(id);
            let wanted = self.open[seat.domain.0][class.index()] > 0;
            let allowed = member.thread.may_run_on(seat.cpu);
            if wanted && allowed && self.room[id.0] > 0 && self.load.on_core(seat.core) < self.core_limit[seat.domain.0]
            {
                self.sit(index, id, *class);
            }
        }
    }

    /// Step 3: the others, most intensive first, fill what is left. A thread that finds no slot
    /// stays without a seat.
    pub fn fill(&mut self, members: &[(Member<'_>, Class)]) {
        let mut waiting: Vec<usize> = (0..members.len()).filter(|index| self.seated[*index].is_none()).collect();
        waiting.sort_by_key(|index| std::cmp::Reverse(members[*index].1));
        for index in waiting {
            let (member, class) = &members[index];
            let found =
                self.nearest_domain(member.seat, *class).and_then(|domain| self.free_seat(domain, *class, member));
            if let Some(seat) = found {
                self.sit(index, seat, *class);
            }
        }
    }

    fn sit(&mut self, index: usize, id: SeatId, class: Class) {
        let seat = self.domains.seat(id);
        let dealt = &mut self.dealt[id.0][class.index()];
        *dealt = dealt.saturating_sub(1);
        self.open[seat.domain.0][class.index()] -= 1;
        self.room[id.0] -= 1;
        self.load.add(self.domains, id);
        self.seated[index] = Some(id);
    }

    /// A domain with a slot of the class: the thread's own, else one on its node, else the first.
    fn nearest_domain(&self, from: Option<SeatId>, class: Class) -> Option<DomainId> {
        let own = from.map(|seat| self.domains.seat(seat).domain);
        let node = own.and_then(|domain| self.domains.domain(domain).node);
        let distance = |id: usize| {
            let same_node = node.is_some() && self.domains.domains[id].node == node;
            (own != Some(DomainId(id)), !same_node, id)
        };
        let open = (0..self.open.len()).filter(|id| self.open[*id][class.index()] > 0);
        open.min_by_key(|id| distance(*id)).map(DomainId)
    }

    /// A free seat in a domain: one that was dealt a slot of the class, or else one on the least
    /// loaded core.
    fn free_seat(&self, domain: DomainId, class: Class, member: &Member<'_>) -> Option<SeatId> {
        let usable = |seat: &usize| self.room[*seat] > 0 && member.thread.may_run_on(self.domains.seats[*seat].cpu);
        let seats = self.domains.domain(domain).seats.clone().filter(usable);
        let order = |seat: &usize| {
            let core = self.load.on_core(self.domains.seats[*seat].core);
            (self.dealt[*seat][class.index()] == 0, core, *seat)
        };
        seats.min_by_key(order).map(SeatId)
    }
}
