//! `dino`: Distributed Intensity NUMA Online (DINO paper, section 3.3).
//!
//! | paper | here |
//! |---|---|
//! | super-devil, devil, turtle | [`Class`] |
//! | sorted array of class instances | `classes` in `layout` |
//! | placement layout (class instances on cores) | [`Slot`]s |
//! | old solution | where each thread ran in the interval |
//! | new solution | [`Tuple`]s |
//!
//! ```text
//! every interval:
//!     class of each thread, with hysteresis                     class::History
//!     sort the class instances; deal them from alternating ends layout
//!     threads whose core has a slot of their class keep it      Seating::keep_cores, keep_domains
//!     the others fill the slots of their class                  Seating::fill
//!     threads of one program are brought together by switching
//!         threads of one class                                  colocate
//!     pages follow their threads, unless they ping-pong         Follower
//! ```
//!
//! *Properties*: every domain gets the classes that the layout gives it; no core has two threads
//! while another core that they may use has none; in the interval after a decision was carried out,
//! if classes have not changed, threads move only to bring threads of one program together; the
//! same history gives the same plan.
//!
//! *Departures from the paper*
//! 1. Both passes of the layout visit the domains in order (docs/design/dino.md). For more threads
//!    than cores, see [`crate::kit::layout`].
//! 2. A thread also keeps its core if its domain has a slot of its class on another core
//!    ([`super::seating`], step 2).
//! 3. The final pass requires a gain ([`super::colocate`]).
//! 4. The old solution is where threads were seen, not where the policy put them: Linux may have
//!    moved threads that were not pinned.
//! 5. The paper mentions ping-pong but does not define it; [`crate::kit::ping_pong`] does.
//! 6. Threads that may use only some CPUs are laid out before the others, within those CPUs.
//!    Threads pinned by their owner count as load on their core.
//! 7. A thread that executed no instruction keeps its class. A thread that was never measured takes
//!    no part.

use super::class::{Class, History};
use super::colocate::{Tuple, colocate};
use super::di_migrate;
use super::di_plain::PAPER;
use super::seating::{Seating, Slot};
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::domains::{CachedDomains, Domains, SeatId};
use crate::kit::group::{Group, Groups, Member};
use crate::kit::layout::deal;
use crate::kit::page_settings::PageSettings;
use crate::kit::pages::{Follower, Place};
use crate::kit::ping_pong::Limits;
use crate::kit::previous::PreviousValues;
use crate::kit::refused::Refused;
use crate::kit::words::OneDecimal;
use crate::settings::{ConfigError, Section, at_least, check, settings};
use isobar_model::{Action, CpuSet, Mpki, Observation, Outcome, Pid, Plan, Policy, Tid};
use std::fmt::Write;

/// Canonical name.
pub const NAME: &str = "dino";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "thread to core by class, superfluous moves avoided; pages follow",
    moves: Moves::ThreadsAndPages,
    needs: di_migrate::ENTRY.needs,
    make: &PolicyMaker { defaults: Settings::default, new: Dino::new },
};

/// All settings of DINO, in one section.
pub type Settings = (Config, PageSettings);

settings! {
    /// DINO's own settings. Intervals are those in which the policy decides (1 s in the paper).
    pub struct Config {
        /// From this miss rate on, in MPKI (LLC misses per 1000 instructions), a thread is a devil
        /// (section 3.3.2: 2; Divide&Content's authors used 3).
        pub devil_mpki: f64 = 2.0,
        /// Above this miss rate, in MPKI, a thread is a super-devil (section 3.3.2: 100;
        /// Divide&Content's authors used 24).
        pub super_devil_mpki: f64 = 100.0,
        /// Intervals that are looked back on for a change of class, 1 to 64 (section 3.3.3: 10).
        pub class_window: u32 = 10,
        /// Intervals of those that a thread must have spent in its new class, 1 to `class_window`
        /// (section 3.3.3: 7).
        pub class_votes: u32 = 7,
        /// Intervals for which a page migration is remembered in the search for ping-pong.
        pub ping_pong_window: u32 = 20,
        /// Reversals within the window that stop the migration of a process's pages.
        pub ping_pong_reversals: u32 = 2,
        /// Intervals for which they then stay.
        pub ping_pong_rest: u32 = 60,
    }
}

impl Section for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        let Self { devil_mpki, super_devil_mpki, class_window, class_votes, .. } = *self;
        let rate = devil_mpki.is_finite() && devil_mpki >= 0.0;
        check(rate, section, "devil_mpki", devil_mpki, "a miss rate of 0 or more")?;
        let above = super_devil_mpki.is_finite() && super_devil_mpki >= devil_mpki;
        let least = format!("at least devil_mpki, which is {devil_mpki}");
        check(above, section, "super_devil_mpki", super_devil_mpki, least)?;
        check((1..=64).contains(&class_window), section, "class_window", class_window, "1 to 64 intervals")?;
        let most = format!("1 to class_window, which is {class_window}");
        check((1..=class_window).contains(&class_votes), section, "class_votes", class_votes, most)?;
        at_least(section, "ping_pong_reversals", self.ping_pong_reversals, 1)
    }
}

/// The policy DINO.
#[derive(Debug)]
pub struct Dino {
    config: Config,
    /// The class history of each thread, ascending by pid, then tid.
    histories: Vec<((Pid, Tid), History)>,
    domains: CachedDomains,
    follower: Follower,
    refused: Refused,
}

impl Dino {
    /// Takes validated settings.
    #[must_use]
    pub fn new((config, pages): Settings) -> Self {
        let limits = Limits {
            window: config.ping_pong_window,
            reversals: config.ping_pong_reversals,
            rest: config.ping_pong_rest,
        };
        Self {
            config,
            histories: Vec::new(),
            domains: CachedDomains::default(),
            follower: Follower::new(pages, Some(limits)),
            refused: Refused::default(),
        }
    }

    /// The class of each thread of the observation, in its order; `None` for a thread that was
    /// never measured. Histories of threads that are gone are dropped.
    fn classify(&mut self, seen: &Observation) -> Vec<Option<Class>> {
        let Config { devil_mpki, super_devil_mpki, class_window, class_votes, .. } = self.config;
        let threads = self.histories.len();
        let mut before = PreviousValues::take_from(&mut self.histories);
        let mut classes = Vec::with_capacity(threads);
        self.histories.reserve(threads);
        for (process, thread) in seen.threads() {
            let key = (process.pid, thread.tid);
            let known = before.take(&key);
            let rate = thread.mpki().map(|rate| Class::of(rate, Mpki(devil_mpki), Mpki(super_devil_mpki)));
            let history = match (known, rate) {
                (Some(history), Some(class)) => Some(history.with(class, class_window, class_votes)),
                (None, Some(class)) => Some(History::new(class)),
                (known, None) => known,
            };
            classes.push(history.map(|history| history.class()));
            self.histories.extend(history.map(|history| (key, history)));
        }
        classes
    }
}

impl Policy for Dino {
    as_registered!();

    fn decide(&mut self, seen: &Observation) -> Plan {
        let classes = self.classify(seen);
        let domains = self.domains.of(&seen.machine);
        let groups = Groups::of(seen, domains, |index, _| classes[index].is_some());
        let mut tuples = seat(domains, &groups, &classes);
        let switched = colocate(domains, &mut tuples);
        let mut plan =
            Plan { actions: moves(domains, &tuples, &switched), notes: groups.notes(), ..Plan::nothing(NAME) };
        self.refused.next_epoch(seen);
        self.follower.follow(seen, &places(domains, &tuples, &self.refused), &self.refused, &mut plan);
        self.refused.hold_back(&mut plan);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
    }
}

/// Lays out the classes of every group and seats its threads (`seating`, steps 1 to 3). The most
/// confined group comes first.
fn seat<'a>(domains: &Domains, groups: &Groups<'a>, classes: &[Option<Class>]) -> Vec<Tuple<'a>> {
    let mut load = groups.load.clone();
    let mut tuples = Vec::with_capacity(groups.members.len());
    for (number, group) in groups.groups.iter().enumerate() {
        let members = with_classes(group, groups, classes);
        let slots = layout(domains, &members, &load, group.allowed);
        for ((member, class), seat) in members.iter().zip(solution(domains, &members, &slots, &load)) {
            if let Some(seat) = seat {
                load[seat.0] += 1;
                tuples.push(Tuple { member: *member, class: *class, group: number, seat });
            }
        }
    }
    tuples
}

fn with_classes<'a>(group: &Group<'_>, groups: &Groups<'a>, classes: &[Option<Class>]) -> Vec<(Member<'a>, Class)> {
    let member = |&index: &usize| {
        let member = groups.members[index];
        classes[member.index].map(|class| (member, class))
    };
    group.members.iter().filter_map(member).collect()
}

/// The placement layout: the sorted class instances, dealt to the cores.
fn layout(domains: &Domains, members: &[(Member<'_>, Class)], load: &[u32], allowed: Option<&CpuSet>) -> Vec<Slot> {
    let mut classes: Vec<Class> = members.iter().map(|(_, class)| *class).collect();
    classes.sort_unstable_by(|a, b| b.cmp(a));
    let seats = deal(classes.len(), domains, load, allowed);
    classes.into_iter().zip(seats).map(|(class, seat)| Slot { seat, class }).collect()
}

/// The seats of the threads: those that keep their core or domain first, then the others.
fn solution(domains: &Domains, members: &[(Member<'_>, Class)], slots: &[Slot], load: &[u32]) -> Vec<Option<SeatId>> {
    let mut seating = Seating::new(domains, slots, load, members.len());
    seating.keep_cores(members);
    seating.keep_domains(members);
    seating.fill(members);
    seating.seated
}

/// A move for every thread that is not on its core or is not bound to it, ascending by pid, then
/// tid.
fn moves(domains: &Domains, tuples: &[Tuple<'_>], switched: &[(usize, usize)]) -> Vec<Action> {
    let mut why: Vec<Option<Why>> = vec![None; tuples.len()];
    for &(joined, left) in switched {
        why[joined] = Some(Why::Joins);
        why[left] = Some(Why::MakesRoom(tuples[joined].member.pid));
    }
    let mut away: Vec<_> = (0..tuples.len()).filter(|at| tuples[*at].member.must_go_to(tuples[*at].seat)).collect();
    away.sort_unstable_by_key(|at| tuples[*at].member.index);
    away.into_iter().map(|at| to_its_core(domains, &tuples[at], why[at])).collect()
}

#[derive(Clone, Copy)]
enum Why {
    Joins,
    MakesRoom(Pid),
}

fn to_its_core(domains: &Domains, tuple: &Tuple<'_>, why: Option<Why>) -> Action {
    let Tuple { member, class, seat, .. } = tuple;
    let domain = domains.seat(*seat).domain;
    let mut reason = String::with_capacity(96);
    let _ = match member.thread.mpki() {
        Some(rate) => write!(reason, "{class} ({} MPKI)", OneDecimal(rate.0)),
        None => write!(reason, "{class}"),
    };
    let place = domains.describe(domain);
    let same = member.seat.is_some_and(|old| domains.seat(old).domain == domain);
    let _ = match why {
        Some(Why::Joins) => write!(reason, ": joins threads of its program on {place}"),
        Some(Why::MakesRoom(pid)) => {
            write!(reason, ": changes places with a {class} of process {pid}, goes to {place}")
        }
        None if member.seat == Some(*seat) => write!(reason, ": keeps its core, bound so that it stays on {place}"),
        None if same => write!(reason, ": its core is taken, goes to another core of {place}"),
        None => write!(reason, ": fills a {class}'s slot on {place}"),
    };
    Action::MoveThread { pid: member.pid, tid: member.thread.tid, cpu: domains.seat(*seat).cpu, cpus: None, reason }
}

/// Where every thread was and will be, ascending by process.
fn places(domains: &Domains, tuples: &[Tuple<'_>], refused: &Refused) -> Vec<Place> {
    let mut order: Vec<&Tuple<'_>> = tuples.iter().collect();
    order.sort_unstable_by_key(|tuple| tuple.member.index);
    order.into_iter().map(|tuple| Place::of(domains, &tuple.member, tuple.seat, refused)).collect()
}

#[cfg(test)]
#[path = "dino_tests.rs"]
mod tests;
