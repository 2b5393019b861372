//! Manages the counters of all counted threads: which threads these are, what the counters read and
//! which events are trusted, and what the kernel refused.

use super::available::{Available, CoreEvents};
use super::choice::choose;
use super::descriptors;
use super::events::Role;
use super::group::{Group, Members, add_all};
use super::proof::{EventState, Evidence, Proof};
use super::why;
use crate::perf::event::Modes;
use crate::sensors::options::SensorOptions;
use crate::sensors::thread_counters::Running;
use isobar_model::{Counters, Tid};
use perf_event_open_sys::bindings::PERF_TYPE_SOFTWARE;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of times that places of forbidden threads are given to other threads in one
/// update.
const ROUNDS: usize = 16;

/// Number of descriptors that are given back when none is left.
const SPARE: usize = 8;

/// A counted thread.
#[derive(Debug)]
struct Counted {
    start: u64,
    /// One for each group of events, with its last reading.
    groups: Vec<(Group, Counters)>,
    /// Whether the last reading differed from the one before.
    moving: bool,
}

/// The open counters.
#[derive(Debug)]
pub struct CounterSet {
    /// The events that this machine has.
    pub available: Available,
    /// Whether the events of each core PMU count.
    proofs: Vec<Proof>,
    /// Counters of the calling thread, from the beginning to the first update. Reading the state of
    /// a machine misses every cache, so real events have proven themselves before the first thread
    /// is counted.
    own: Option<Counted>,
    threads: BTreeMap<Tid, Counted>,
    /// Threads whose counters the kernel forbids us to open, as long as they live.
    forbidden: BTreeSet<(Tid, u64)>,
    limit: u64,
    fixed_limit: bool,
    /// Descriptors of this process before any of these counters.
    before: usize,
    /// Descriptors that the rest of this process uses, counted at each update: most of them are
    /// opened after the first one.
    others: usize,
    /// Descriptors that are kept for those.
    reserve: usize,
    max_threads: usize,
    state: Refusals,
}

/// What stood in the way at the last update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Refusals {
    wanted: usize,
    descriptors: bool,
    refused: usize,
    errno: Option<Errno>,
}

impl CounterSet {
    /// No thread is counted yet.
    #[must_use]
    pub fn new(options: &SensorOptions, available: Available) -> Self {
        let limit = options.descriptor_limit.unwrap_or_else(descriptors::raise_limit);
        let mut set = Self {
            proofs: available
                .groups
                .iter()
                .map(|group| Proof::new(is_certain(&group.members), of_user_mode(&group.members, available.modes)))
                .collect(),
            own: None,
            available,
            threads: BTreeMap::new(),
            forbidden: BTreeSet::new(),
            limit,
            fixed_limit: options.descriptor_limit.is_some(),
            before: descriptors::in_use().unwrap_or(0),
            others: 0,
            reserve: options.descriptor_reserve,
            max_threads: options.max_threads,
            state: Refusals::default(),
        };
        set.own = set.open_groups(Tid(0)).ok().map(|groups| Counted { start: 0, groups, moving: true });
        set
    }

    /// Decides again which threads are counted, and closes and opens counters accordingly.
    /// `threads` are all threads of the sample.
    pub fn update(&mut self, threads: &[Running]) {
        if self.available.groups.is_empty() {
            return;
        }
        let alive: BTreeSet<_> = threads.iter().map(|thread| (thread.tid, thread.start)).collect();
        let is_counted = |tid: &Tid, start| self.threads.get(tid).is_some_and(|thread| thread.start == start);
        let counted = alive.iter().filter(|(tid, start)| is_counted(tid, *start)).map(|(tid, _)| *tid).collect();
        self.forbidden.retain(|thread| alive.contains(thread));
        self.state = Refusals::default();
        if let Some(mut own) = self.own.take() {
            own.read(&mut self.proofs);
        }
        self.count_others();
        // A place that a forbidden thread cannot take goes to the next thread at once.
        for _ in 0..ROUNDS {
            let forbidden = self.forbidden.len();
            self.share_out(threads, &counted);
            if self.forbidden.len() == forbidden {
                break;
            }
        }
    }

    fn share_out(&mut self, threads: &[Running], counted: &BTreeSet<Tid>) {
        let permitted = |thread: &&Running| !self.forbidden.contains(&(thread.tid, thread.start));
        let permitted: Vec<_> = threads.iter().filter(permitted).copied().collect();
        let capacity = self.capacity();
        let chosen = choose(&permitted, counted, capacity.min(self.max_threads));
        self.state.wanted = choose(&permitted, counted, usize::MAX).len();
        self.state.descriptors = self.state.wanted > capacity && capacity < self.max_threads;
        self.close_all_but(&chosen);
        let mut fresh: Vec<_> = chosen.iter().filter(|thread| !self.threads.contains_key(&thread.tid)).collect();
        fresh.sort_by_key(|thread| (std::cmp::Reverse(thread.load), thread.tid));
        let opened = fresh.iter().take_while(|thread| self.open(thread)).count();
        if opened < fresh.len() {
            self.state.descriptors = true;
            // No descriptor is left, and the sensors read files.
            let open = fresh[..opened].iter().rev().filter(|thread| self.threads.contains_key(&thread.tid));
            let surplus = open.take(SPARE.div_ceil(self.available.per_thread().max(1)));
            let surplus: Vec<Tid> = surplus.map(|thread| thread.tid).collect();
            surplus.iter().for_each(|tid| drop(self.threads.remove(tid)));
        }
    }

    /// If they cannot be counted, the last count stands.
    fn count_others(&mut self) {
        self.others = descriptors::in_use().map_or(self.others, |all| all.saturating_sub(self.descriptors()));
    }

    fn capacity(&self) -> usize {
        // An injected limit is for our own descriptors only, so that tests do not depend on what
        // else is open.
        let (before, kept) = if self.fixed_limit { (0, self.reserve) } else { (self.before, self.kept_back()) };
        descriptors::threads_within(self.limit_in_force(), before, kept, self.available.per_thread())
    }

    /// Descriptors for everything that is opened after the sensors: the reserve, or what that has
    /// come to and a few more.
    fn kept_back(&self) -> usize {
        self.reserve.max(self.others.saturating_sub(self.before) + SPARE)
    }

    fn descriptors(&self) -> usize {
        self.threads.values().flat_map(|thread| &thread.groups).map(|(group, _)| group.descriptors()).sum()
    }

    fn close_all_but(&mut self, chosen: &[Running]) {
        self.threads.retain(|tid, counted| {
            let place = chosen.binary_search_by_key(tid, |thread| thread.tid);
            place.is_ok_and(|place| chosen[place].start == counted.start)
        });
    }

    /// Opens the counters of a thread. False if no descriptor is left: the remaining threads wait
    /// for the next update.
    fn open(&mut self, thread: &Running) -> bool {
        match self.open_groups(thread.tid) {
            Ok(groups) => {
                self.threads.insert(thread.tid, Counted { start: thread.start, groups, moving: true });
            }
            Err(Errno::MFILE | Errno::NFILE) => return false,
            Err(Errno::ACCESS | Errno::PERM) => {
                self.forbidden.insert((thread.tid, thread.start));
            }
            // The thread has ended: ordinary.
            Err(Errno::SRCH) => {}
            Err(errno) => {
                self.state.refused += 1;
                self.state.errno = Some(errno);
            }
        }
        true
    }

    fn open_groups(&self, thread: Tid) -> Result<Vec<(Group, Counters)>, Errno> {
        let modes = self.available.modes;
        let open = |members| Ok((Group::open(members, thread, modes)?, Counters::default()));
        self.available.groups.iter().map(|group| open(&group.members)).collect()
    }

    /// Reads the counters of these threads, and concludes from all of them which events count. A
    /// thread that used no tick of CPU time is read until its counters stand still: a tick is 10
    /// ms, and what the thread did after its last tick is counted too.
    pub fn read(&mut self, threads: &[Running]) {
        for thread in threads {
            let Some(counted) = self.threads.get_mut(&thread.tid) else { continue };
            if thread.load > 0 || counted.moving {
                counted.read(&mut self.proofs);
            }
        }
        self.proofs.iter_mut().for_each(Proof::conclude);
    }

    /// The counters of a thread as last read. A count is `None` if the thread is not counted, or if
    /// the event has not shown that it counts.
    #[must_use]
    pub fn of(&self, tid: Tid) -> Counters {
        let mut sum = Counters::default();
        let groups = self.threads.get(&tid).map(|counted| &counted.groups[..]).unwrap_or_default();
        for ((_, last), proof) in groups.iter().zip(&self.proofs) {
            add_all(&mut sum, &proof.believed(last));
        }
        sum
    }

    /// Number of threads that are counted now.
    #[must_use]
    pub fn counted(&self) -> usize {
        self.threads.len()
    }

    /// What is known of an event, over all core PMUs that count it: one that counts is enough.
    #[must_use]
    pub fn standing(&self, role: Role) -> EventState {
        let all = || self.proofs_of(role).map(|(_, proof)| proof.standing(role));
        let has = |standing| all().any(|other| other == standing);
        match (has(EventState::Counts), has(EventState::Silent)) {
            (true, _) => EventState::Counts,
            (false, true) => EventState::Silent,
            (false, false) => EventState::Unproven,
        }
    }

    /// Whether every PMU that was used has stopped counting.
    #[must_use]
    pub fn stands_still(&self) -> bool {
        let counts = |role| self.standing(role) == EventState::Counts;
        self.proofs.iter().any(Proof::stands_still) && !counts(Role::Instructions) && !counts(Role::Cycles)
    }

    /// What threads did while an event counted nothing.
    #[must_use]
    pub fn evidence(&self, role: Role) -> Evidence {
        let silent = self.proofs_of(role).filter(|(_, proof)| proof.standing(role) == EventState::Silent);
        silent.map(|(_, proof)| proof.evidence(role)).max_by_key(|evidence| evidence.work).unwrap_or_default()
    }

    /// Whether threads work and no event of this role has counted one yet: then the event is not
    /// trusted.
    fn is_in_doubt(&self, role: Role) -> bool {
        let worked = |(_, proof): (&CoreEvents, &Proof)| proof.evidence(role).work > 0;
        self.standing(role) == EventState::Unproven && self.proofs_of(role).any(worked)
    }

    fn proofs_of(&self, role: Role) -> impl Iterator<Item = (&CoreEvents, &Proof)> {
        let counts = move |group: &CoreEvents| group.members.iter().any(|(counted, _)| *counted == role);
        self.available.groups.iter().zip(&self.proofs).filter(move |(group, _)| counts(group))
    }

    /// Remarks for a person about which threads are counted.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let (wanted, counted) = (self.state.wanted, self.counted());
        let mut remarks = Vec::new();
        remarks.extend(self.is_in_doubt(Role::LlcMisses).then(why::no_miss_yet));
        if self.state.descriptors {
            remarks.push(why::descriptor_limit(self.limit_in_force(), counted, wanted));
        } else if wanted > self.max_threads {
            remarks.push(format!("the busiest {counted} of {wanted} threads are counted; raise max_threads"));
        }
        if !self.forbidden.is_empty() {
            let forbidden = self.forbidden.len();
            remarks.push(format!(
                "isobar is not permitted to count {forbidden} busy threads of other users; grant it CAP_PERFMON"
            ));
        }
        if let Some(errno) = self.state.errno {
            let (refused, said) = (self.state.refused, std::io::Error::from(errno));
            remarks.push(format!("{refused} threads are not counted: perf_event_open answers `{said}`"));
        }
        remarks.extend(self.mute_cores());
        if self.available.modes == Modes::User && !self.available.groups.is_empty() {
            remarks.push("events are counted in user mode only; CAP_PERFMON would add kernel mode".to_owned());
        }
        remarks
    }

    /// Remarks on kinds of cores on which LLC misses are not counted, if they are counted on
    /// others.
    fn mute_cores(&self) -> Vec<String> {
        if self.standing(Role::LlcMisses) != EventState::Counts {
            return Vec::new();
        }
        let silent =
            self.proofs_of(Role::LlcMisses).filter(|(_, proof)| proof.standing(Role::LlcMisses) == EventState::Silent);
        silent.map(|(group, _)| why::mute_cores(&group.pmu)).collect()
    }

    fn limit_in_force(&self) -> u64 {
        if self.fixed_limit { self.limit } else { self.limit.min(descriptors::limit()) }
    }
}

/// Whether the kernel itself counts these events.
fn is_certain(members: &Members) -> bool {
    members.iter().all(|(_, code)| code.kind == PERF_TYPE_SOFTWARE)
}

/// The events that are counted in user mode alone.
fn of_user_mode(members: &Members, modes: Modes) -> Vec<Role> {
    let user_only = members.iter().filter(|(_, code)| code.user_only || modes == Modes::User);
    user_only.map(|(role, _)| *role).collect()
}

impl Counted {
    /// Reads all groups. A group that cannot be read keeps its last reading, and is tried again.
    fn read(&mut self, proofs: &mut [Proof]) {
        self.moving = false;
        for ((group, last), proof) in self.groups.iter_mut().zip(proofs) {
            let Ok(now) = group.read() else {
                self.moving = true;
                continue;
            };
            proof.hear(last, &now);
            self.moving |= now != *last;
            *last = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::cpu_model::CpuModel;
    use crate::sensors::counters::available::available;
    use crate::sensors::options::CounterSource;

    #[test]
    fn work_of_less_than_a_tick_is_read_until_the_thread_sleeps() {
        let found = available(CounterSource::Software, &|_| CpuModel::default(), &[], false);
        if found.groups.is_empty() {
            return eprintln!("SKIPPED: software events do not open here");
        }
        let mut set = CounterSet::new(&SensorOptions::default(), found);
        let tid = Tid(u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap());
        let thread = |load| Running { tid, start: 1, load };
        set.update(&[thread(1)]);
        set.read(&[thread(1)]);
        let busy = set.of(tid).instructions.unwrap();
        // This thread has worked since, though not for a tick.
        set.read(&[thread(0)]);
        let after = set.of(tid).instructions.unwrap();
        assert!(after.value > busy.value, "{busy:?} {after:?}");
    }
}
