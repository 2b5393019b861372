//! Which threads are managed. Reduces an observation of everything to what a policy may act on:
//! threads chosen by name, pid or cgroup that are busy enough, up to a maximum number.
//!
//! This module knows observations and its own memory of the last epochs. It reads no file (cgroups
//! and ancestors come through [`Lookups`]) and knows no policy.
//!
//! Properties: the result is a part of the input, in the same order and otherwise unchanged
//! (including pinned threads: a policy sees them and leaves them). Choosing again from the result
//! changes nothing. The result has at most `max_threads` threads.
//!
//! Hysteresis: a thread is added at `min_share` of a CPU and dropped after [`PATIENCE`] consecutive
//! epochs below half of it, so that a thread near the limit does not come and go. A thread without
//! a measured share (new in this epoch) waits. If the machine measures no CPU time at all, every
//! thread is managed.

mod cgroups;
mod lookups;
mod pattern;
#[cfg(test)]
mod tests;

pub use cgroups::Cgroups;
pub use lookups::Lookups;
pub use pattern::Pattern;

use isobar_model::{Observation, Pid, Process, Thread, Tid};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Number of epochs below half the share after which a managed thread is dropped.
pub const PATIENCE: u32 = 3;

/// The rules of the choice, without memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Only these; empty = all.
    pub only: Vec<Pattern>,
    /// Never these.
    pub ignore: Vec<Pattern>,
    /// Never these, whatever the user sets: the tool itself.
    pub never: BTreeSet<Pid>,
    /// Least share of a CPU, 1 = one whole CPU.
    pub min_share: f64,
    /// Maximum number of threads; the busiest come first.
    pub max_threads: usize,
}

/// Every thread that takes a tenth of a CPU, as in `manage` if nothing else is set.
impl Default for Rules {
    fn default() -> Self {
        Self { only: Vec::new(), ignore: Vec::new(), never: BTreeSet::new(), min_share: 0.1, max_threads: 2048 }
    }
}

/// Which threads are managed now, and for how many epochs each has been too quiet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Ascending by thread.
    quiet: Vec<Managed>,
}

/// A managed thread and its quiet epochs.
type Managed = ((Pid, Tid), u32);

/// Chooses what a policy may act on, and what to remember for the next epoch. If that is
/// everything, nothing is copied.
pub fn select<'a>(
    seen: &'a Observation,
    rules: &Rules,
    memory: &Memory,
    lookups: Lookups<'_>,
) -> (Cow<'a, Observation>, Memory) {
    let busy = busy_threads(seen, rules, memory, lookups);
    let kept = busiest(busy, rules.max_threads);
    (part_of(seen, &kept), Memory { quiet: kept })
}

/// The part of an observation that concerns the given threads, in the form that [`select`] returns.
pub fn part<'a>(seen: &'a Observation, threads: &BTreeSet<(Pid, Tid)>) -> Cow<'a, Observation> {
    let kept: Vec<Managed> = threads.iter().map(|id| (*id, 0)).collect();
    part_of(seen, &kept)
}

/// The patterns that match no process. They deserve a message, because a misspelt name would
/// silently manage nothing.
pub fn without_match<'a>(patterns: &'a [Pattern], seen: &Observation, lookups: Lookups<'_>) -> Vec<&'a Pattern> {
    let fits_none = |pattern: &&Pattern| !seen.processes.iter().any(|process| pattern.fits(process, lookups));
    patterns.iter().filter(fits_none).collect()
}

fn is_wanted(process: &Process, rules: &Rules, lookups: Lookups<'_>) -> bool {
    // A look-up reads a file, so it happens at most once per process, however many patterns there
    // are.
    let found = OnceCell::new();
    let once = |pid| found.get_or_init(|| (lookups.cgroups)(pid)).clone();
    let lookups = Lookups { cgroups: &once, ..lookups };
    let listed = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.fits(process, lookups));
    !rules.never.contains(&process.pid) && (rules.only.is_empty() || listed(&rules.only)) && !listed(&rules.ignore)
}

/// A thread that may be managed: its ids, its share, and its number of quiet epochs.
struct Candidate {
    id: (Pid, Tid),
    share: f64,
    quiet: u32,
}

fn busy_threads(seen: &Observation, rules: &Rules, memory: &Memory, lookups: Lookups<'_>) -> Vec<Candidate> {
    let measured = seen.threads().any(|(_, thread)| share_of(thread, seen).is_some());
    let candidate = |process: &Process, thread: &Thread| {
        let id = (process.pid, thread.tid);
        let share = share_of(thread, seen);
        let quiet = if measured { quiet_epochs(share, quiet_so_far(memory, id), rules.min_share) } else { Some(0) };
        Some(Candidate { id, share: share.unwrap_or(0.0), quiet: quiet? })
    };
    let of_process = |process: &Process| {
        let busy: Vec<Candidate> = process.threads.iter().filter_map(|thread| candidate(process, thread)).collect();
        // Last, because it may read files: only for a process that has a busy thread.
        if !busy.is_empty() && is_wanted(process, rules, lookups) { busy } else { Vec::new() }
    };
    seen.processes.iter().flat_map(of_process).collect()
}

/// Number of consecutive epochs in which a thread was too quiet; `None` if it is not managed (any
/// longer).
fn quiet_epochs(share: Option<f64>, so_far: Option<u32>, min_share: f64) -> Option<u32> {
    match (share, so_far) {
        (Some(share), _) if share >= min_share => Some(0),
        (Some(share), Some(_)) if share >= min_share / 2.0 => Some(0),
        (_, Some(quiet)) if quiet + 1 < PATIENCE => Some(quiet + 1),
        _ => None,
    }
}

fn share_of(thread: &Thread, seen: &Observation) -> Option<f64> {
    thread.cpu_time.filter(|_| seen.interval.0 > 0.0).map(|time| time.0 / seen.interval.0)
}

fn quiet_so_far(memory: &Memory, id: (Pid, Tid)) -> Option<u32> {
    let index = memory.quiet.binary_search_by_key(&id, |managed| managed.0).ok()?;
    memory.quiet.get(index).map(|managed| managed.1)
}

fn busiest(mut candidates: Vec<Candidate>, most: usize) -> Vec<Managed> {
    if candidates.len() > most {
        candidates.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.id.cmp(&b.id)));
        candidates.truncate(most);
    }
    let mut kept: Vec<Managed> = candidates.into_iter().map(|candidate| (candidate.id, candidate.quiet)).collect();
    kept.sort_unstable();
    kept
}

fn part_of<'a>(seen: &'a Observation, kept: &[Managed]) -> Cow<'a, Observation> {
    let threads: usize = seen.processes.iter().map(|process| process.threads.len()).sum();
    if kept.len() == threads && seen.processes.iter().all(|process| !process.threads.is_empty()) {
        return Cow::Borrowed(seen);
    }
    let processes = seen.processes.iter().filter_map(|process| {
        let mut part = process.clone();
        part.threads
            .retain(|thread| kept.binary_search_by_key(&(process.pid, thread.tid), |managed| managed.0).is_ok());
        (!part.threads.is_empty()).then_some(part)
    });
    Cow::Owned(Observation {
        processes: processes.collect(),
        page_moves: seen.page_moves.clone(),
        time: seen.time,
        interval: seen.interval,
        machine: Arc::clone(&seen.machine),
        free: seen.free.clone(),
        latency: seen.latency.clone(),
        latency_idle: seen.latency_idle.clone(),
        latency_cycles: seen.latency_cycles.clone(),
    })
}
