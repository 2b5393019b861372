//! The programs that LFOC+ follows: what each counted in the last epoch, what is known of it, and
//! whether that still holds. A program is a process. Its profile goes wherever its threads go, so
//! nothing has to be handed over when it changes its LLC (section V.A).
//!
//! *Reference thread* (section II.B): all threads of a data-parallel program do the same, so one
//! represents them all: the thread that was busiest when the program was first seen. When that
//! thread has ended, the thread that is busiest then takes its place.
//!
//! *Class transitions*: if [`Profile::departs`] holds for several epochs in a row, the program is
//! sampled again, but no earlier than some epochs after its last sampling. If its profile is soon
//! wrong again, it rests for twice as long, so that a program that changes all the time cannot keep
//! its LLC in sampling mode. Profiles of earlier phases are kept: if one of them fits what is
//! measured, it is used instead of a new sampling.
//!
//! *Next runs*: the profile of a program that has ended is kept by name, and its next run begins
//! with it. If it does not fit, that is a class transition like any other.

use super::config::Config;
use super::profile::{Departure, Profile};
use super::reading::Reading;
use isobar_model::profile::Row;
use isobar_model::{Observation, Pid, Process, Thread, Tid, WayCurves, num};
use std::sync::Arc;

/// Number of profiles of earlier phases that are kept for a program.
const PHASES: usize = 4;
/// A profile that is wrong again within this number of rests counts as soon wrong.
const SOON: u64 = 4;
/// Bytes that an LLC miss moves.
const LINE: f64 = 64.0;

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its process.
    pub pid: Pid,
    /// Its name.
    pub name: Arc<str>,
    /// When it was first seen, in seconds.
    pub since: f64,
    /// The thread that represents all threads.
    pub reference: Option<Tid>,
    /// The LLC of that thread, by position.
    pub llc: Option<usize>,
    /// What the reference thread did in the epoch.
    pub reading: Option<Reading>,
    /// Bytes per second of all its threads; `None` if no thread was measured.
    pub bandwidth: Option<f64>,
    /// What is known of it.
    pub profile: Option<Profile>,
    /// Changes whenever `profile` does.
    pub version: u32,
    /// Why it has to be sampled again.
    pub departed: Option<Departure>,
    history: History,
}

#[derive(Clone, Debug, Default)]
struct History {
    /// Profiles of other phases, the latest last.
    phases: Vec<Profile>,
    /// Number of epochs in a row that did not match.
    streak: u32,
    /// The epoch of the last sampling.
    sampled: u64,
    /// Number of epochs from then until the next sampling, at least.
    rest: u64,
}

impl Program {
    /// The curves over ways that were measured.
    #[must_use]
    pub fn learnt(&self) -> Option<WayCurves> {
        let profile = self.profile.as_ref()?;
        let (ipc, llcmpki) = profile.curves()?;
        let row = |(ipc, llcmpki): (f64, f64)| Row { ipc, llcmpki, llcmpkc: llcmpki * ipc, ..Row::default() };
        let table = isobar_model::Profile::new(&self.name, ipc.into_iter().zip(llcmpki).map(row).collect()).ok()?;
        Some(WayCurves { class: profile.class, profile: table })
    }

    fn new(process: &Process, since: f64) -> Self {
        Self {
            pid: process.pid,
            name: Arc::clone(&process.name),
            since,
            reference: None,
            llc: None,
            reading: None,
            bandwidth: None,
            profile: None,
            version: 0,
            departed: None,
            history: History::default(),
        }
    }

    /// Takes the counts of an epoch.
    fn see(&mut self, process: &Process, interval: f64) {
        let kept = self.reference.and_then(|tid| thread(process, tid));
        let reference = kept.or_else(|| busiest(&process.threads));
        self.reference = reference.map(|thread| thread.tid);
        self.reading = reference.and_then(Reading::of);
        let rates = process.threads.iter().filter_map(|thread| bandwidth(thread, interval));
        self.bandwidth = rates.reduce(|sum, rate| sum + rate);
    }

    /// Takes a given profile, if it says something new.
    fn look_up(&mut self, process: &Process, config: &Config, ways: usize) {
        if process.cache_class.is_none() && process.slowdown_by_ways.is_none() {
            return;
        }
        let (class, curve) = (process.cache_class, process.slowdown_by_ways.as_ref());
        let fits = |profile: &Profile| {
            profile.is_given()
                && class.is_none_or(|class| profile.class == class)
                && curve.is_none_or(|curve| profile.slowdown == *curve)
                && process.critical_ways.is_none_or(|ways| profile.critical == num::index(ways))
        };
        if self.profile.as_ref().is_some_and(fits) {
            return;
        }
        if let Some(profile) = Profile::given(process, config.classes(), ways, self.reading) {
            self.learn(profile);
        }
    }

    /// Adopts a new profile.
    fn learn(&mut self, profile: Profile) {
        if let Some(old) = self.profile.replace(profile).filter(|old| !old.is_given()) {
            self.history.phases.push(old);
            let surplus = self.history.phases.len().saturating_sub(PHASES);
            self.history.phases.drain(..surplus);
        }
        self.version += 1;
        self.departed = None;
        self.history.streak = 0;
    }

    /// Takes the result of a sampling.
    pub fn sampled(&mut self, profile: Profile, epoch: u64, config: &Config) {
        let History { sampled, rest, .. } = self.history;
        let soon = self.profile.is_some() && epoch < sampled + SOON * rest.max(1);
        let longest = u64::from(config.longest_rest_epochs);
        let base = u64::from(config.rest_epochs);
        (self.history.sampled, self.history.rest) = (epoch, if soon { (rest * 2).min(longest) } else { base });
        self.learn(profile);
    }

    /// Records that a sampling had no result: the next one waits.
    pub fn not_sampled(&mut self, epoch: u64, config: &Config) {
        (self.history.sampled, self.history.rest) = (epoch, u64::from(config.rest_epochs));
        self.departed = None;
        self.history.streak = 0;
    }

    /// Whether its last sampling was long enough ago.
    fn rested(&self, epoch: u64) -> bool {
        self.history.rest == 0 || epoch >= self.history.sampled + self.history.rest
    }

    /// Whether it waits to be sampled: it has no profile, or its profile no longer matches.
    #[must_use]
    pub fn wants_sampling(&self, now: f64, epoch: u64, config: &Config) -> bool {
        let warm = now - self.since >= config.warm_up_seconds;
        warm && self.reading.is_some() && self.rested(epoch) && (self.profile.is_none() || self.departed.is_some())
    }

    /// Compares an epoch in a partition of at most `ways` ways with the profile.
    pub fn judge(&mut self, ways: usize, epoch: u64, config: &Config) {
        let (Some(profile), Some(reading)) = (&self.profile, &self.reading) else { return };
        let Some(departure) = profile.departs(reading, ways, config.transition_percent) else {
            (self.departed, self.history.streak) = (None, 0);
            return;
        };
        self.history.streak = self.history.streak.saturating_add(1);
        if self.history.streak < config.transition_epochs {
            return;
        }
        let fits = |phase: &Profile| phase.departs(reading, ways, config.transition_percent).is_none();
        match self.history.phases.iter().rposition(fits) {
            Some(phase) => {
                let profile = self.history.phases.remove(phase);
                self.learn(profile);
            }
            None if self.rested(epoch) => self.departed = Some(departure),
            None => {}
        }
    }
}

fn thread(process: &Process, tid: Tid) -> Option<&Thread> {
    process.threads.binary_search_by_key(&tid, |thread| thread.tid).ok().map(|index| &process.threads[index])
}

/// The thread with most cycles; on a tie the one with the lowest id.
fn busiest(threads: &[Thread]) -> Option<&Thread> {
    threads.iter().max_by_key(|thread| (thread.cycles.or(thread.instructions), std::cmp::Reverse(thread.tid)))
}

/// Bytes per second of a thread: as measured, or else one cache line for each miss.
fn bandwidth(thread: &Thread, interval: f64) -> Option<f64> {
    let lines = || thread.llc_misses.filter(|_| interval > 0.0).map(|misses| num::float(misses) * LINE / interval);
    thread.bandwidth.map(|bandwidth| bandwidth.0).or_else(lines)
}

/// All programs, in the order of an observation's processes.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// The programs of the last observation.
    pub list: Vec<Program>,
    /// Profiles of programs that have ended, the latest last.
    ended: Vec<(Arc<str>, Vec<Profile>)>,
}

impl Programs {
    /// The position of a process.
    #[must_use]
    pub fn position(&self, pid: Pid) -> Option<usize> {
        self.list.binary_search_by_key(&pid, |program| program.pid).ok()
    }

    /// Follows an observation: afterwards program `i` is its process `i`. `ways` is the number of
    /// ways for which curves are made.
    pub fn follow(&mut self, seen: &Observation, config: &Config, ways: usize) {
        let since = seen.time.0 - seen.interval.0;
        let mut before = std::mem::take(&mut self.list).into_iter().peekable();
        for process in &seen.processes {
            while let Some(gone) = before.next_if(|old| old.pid < process.pid) {
                self.remember(gone, config);
            }
            // A process that took over a pid has another name; otherwise nothing distinguishes the
            // two.
            let old = before.next_if(|old| old.pid == process.pid).filter(|old| old.name == process.name);
            let mut program = old.unwrap_or_else(|| self.recall(Program::new(process, since)));
            program.see(process, seen.interval.0);
            program.look_up(process, config, ways);
            self.list.push(program);
        }
        before.for_each(|gone| self.remember(gone, config));
    }

    fn remember(&mut self, program: Program, config: &Config) {
        let Program { name, profile, history, .. } = program;
        let Some(profile) = profile.filter(|profile| !profile.is_given()) else { return };
        self.ended.retain(|(other, _)| *other != name);
        let phases = history.phases.into_iter().chain([profile]).collect();
        self.ended.push((name, phases));
        let surplus = self.ended.len().saturating_sub(num::index(config.remembered_programs));
        self.ended.drain(..surplus);
    }

    fn recall(&self, mut program: Program) -> Program {
        if let Some((_, phases)) = self.ended.iter().rev().find(|(name, _)| *name == program.name) {
            program.history.phases.clone_from(phases);
            program.profile = program.history.phases.pop();
        }
        program
    }
}
