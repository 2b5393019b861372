//! Shares out among threads the counts of an interval that are not a thread's own
//! ([`crate::indirect`]), for live machines and replays alike. Pure.
//!
//! **CPUs.** Some machines count events by CPU and not by thread. A thread is taken to have run on
//! the CPU where it was last seen, for the CPU time that it used in the interval, and gets the
//! corresponding part of what the CPU counted:
//!
//! ```text
//! whole = max(busy time of the CPU, sum of the times of its threads)
//! thread's count = floor(CPU's count * thread's time / whole)
//! ```
//!
//! *Properties*: threads never get more than their CPU counted. The rest belongs to the kernel, to
//! isobar itself, or to threads that have ended or moved. *What is lost*: two threads that share a
//! CPU in an interval look alike per unit of time, and all the time of a thread that moved is
//! counted where it is now.
//!
//! **Monitor groups** count the bytes of several threads of a process. The bytes are shared out by
//! LLC misses, or equally if misses are not counted.
//!
//! **Misses.** If nothing counts bytes, an LLC miss is taken to move one line, unless another cache
//! is known to have answered it. Write-backs and prefetches are then not included.

use crate::count::Count;
use crate::ids::CpuId;
use crate::indirect::{CpuTotals, Monitored};
use crate::num;
use crate::observation::{Process, Thread};
use crate::sample::{ProcessSample, Sample, ThreadSample};
use crate::units::{Bandwidth, Seconds};
use std::collections::BTreeMap;

/// The threads of a sample, in its order, as they were in the sample before; `None` for a thread
/// that was not there.
type Before<'a> = [Option<&'a ThreadSample>];

/// Fills in what threads did not count themselves. `processes` are those of `next`, derived from
/// the counts of their threads.
pub(crate) fn fill(processes: &mut [Process], before: &Before<'_>, prev: &Sample, next: &Sample, interval: Seconds) {
    by_cpu(processes, before, prev, next, interval);
    let mut rest = before;
    for (process, sample) in processes.iter_mut().zip(&next.processes) {
        let (before, others) = rest.split_at(sample.threads.len().min(rest.len()));
        rest = others;
        let monitored = next.indirect.monitored.get(&process.pid);
        if let Some(monitored) = monitored {
            let earlier = prev.indirect.monitored.get(&process.pid);
            by_monitor(process, before, monitored, earlier, sample, interval);
        }
        let per_miss = next.indirect.bytes_per_miss;
        for (thread, sample) in process.threads.iter_mut().zip(&sample.threads) {
            let is_monitored = monitored.is_some_and(|monitored| monitored.threads.contains(&thread.tid));
            if !is_monitored && sample.counters.bytes.is_none() && thread.bandwidth.is_none() {
                let fetched = |misses: u64| misses.saturating_sub(thread.cache_transfers.unwrap_or(0));
                let bytes =
                    thread.llc_misses.zip(per_miss).map(|(misses, bytes)| fetched(misses).saturating_mul(bytes));
                thread.bandwidth = bytes.and_then(|bytes| rate(bytes, interval));
            }
        }
    }
}

/// Shares the counts of CPUs out among the threads that ran there.
fn by_cpu(processes: &mut [Process], before: &Before<'_>, prev: &Sample, next: &Sample, interval: Seconds) {
    let readings = next.indirect.cpus.as_ref().zip(prev.indirect.cpus.as_ref());
    let Some(counted) = readings.and_then(|(now, before)| now.since(before)) else { return };
    let before = || before.iter();
    let now = next.processes.iter().flat_map(|process| &process.threads);
    let ran: Vec<Ran> = now.zip(before()).map(|(now, old)| ran(now, *old, interval)).collect();
    let shares = share(&counted, &ran);
    let threads = processes.iter_mut().flat_map(|process| &mut process.threads);
    for ((thread, old), share) in threads.zip(before()).zip(shares) {
        if let Some(share) = share.filter(|_| old.is_some()) {
            thread.instructions = thread.instructions.or(Some(share.instructions));
            thread.cycles = thread.cycles.or(Some(share.cycles));
            thread.llc_references = thread.llc_references.or(Some(share.llc_references));
            thread.llc_misses = thread.llc_misses.or(Some(share.llc_misses));
            thread.bandwidth = thread.bandwidth.or_else(|| rate(share.bytes, interval));
        }
    }
}

/// Where a thread ran in the interval, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ran {
    cpu: Option<CpuId>,
    time_ns: u64,
}

/// The CPU and the time of a thread. No thread ran for longer than the interval, whatever the
/// granularity of its clock.
fn ran(now: &ThreadSample, old: Option<&ThreadSample>, interval: Seconds) -> Ran {
    let seconds = |thread: &ThreadSample| thread.cpu_time.map_or(0.0, |time| time.0);
    let time = (seconds(now) - old.map_or(0.0, seconds)).clamp(0.0, interval.0);
    Ran { cpu: now.cpu, time_ns: num::round(time * 1e9) }
}

/// The share of each thread in what CPUs counted. A thread that was on none of these CPUs did
/// nothing. `None` if a thread's CPU was not measured.
fn share(counted: &[Option<CpuTotals>], threads: &[Ran]) -> Vec<Option<CpuTotals>> {
    let mut used = BTreeMap::<CpuId, u64>::new();
    for (cpu, ran) in threads.iter().filter_map(|ran| Some((ran.cpu?, ran))) {
        let sum = used.entry(cpu).or_default();
        *sum = sum.saturating_add(ran.time_ns);
    }
    let of = |ran: &Ran| {
        let here = ran.cpu.and_then(|cpu| Some((cpu, counted.get(num::index(cpu.0))?)));
        let Some((cpu, counted)) = here else { return Some(CpuTotals::default()) };
        let counted = counted.as_ref()?;
        let whole = used.get(&cpu).copied().unwrap_or(0).max(counted.busy_ns);
        part(counted, ran.time_ns, whole)
    };
    threads.iter().map(of).collect()
}

/// The fraction of each count that a time has in a whole; nothing if the whole is empty.
fn part(counted: &CpuTotals, time: u64, whole: u64) -> Option<CpuTotals> {
    let part = |count: u64, _| {
        let part = (u128::from(count) * u128::from(time)).checked_div(u128::from(whole)).unwrap_or(0);
        Some(u64::try_from(part).unwrap_or(count))
    };
    counted.with(counted, part)
}

/// Shares the bytes of monitor groups out among the threads in them that do not count bytes
/// themselves. Groups that were not in the sample before were made within the interval. Their bytes
/// are then used only if misses are counted, because bytes were derived from misses before there
/// were groups.
fn by_monitor(
    process: &mut Process,
    before: &Before<'_>,
    monitored: &Monitored,
    earlier: Option<&Monitored>,
    sample: &ProcessSample,
    interval: Seconds,
) {
    let Some(bytes) = monitored.bytes.since(earlier.map_or_else(Count::default, |earlier| earlier.bytes)) else {
        return;
    };
    let inside = |thread: &Thread| monitored.threads.contains(&thread.tid);
    let misses = process.threads.iter().filter(|thread| inside(thread)).map(|thread| thread.llc_misses);
    let weights: Option<Vec<u64>> = misses.clone().collect();
    let weights = weights.filter(|weights| weights.iter().any(|weight| *weight > 0));
    let weights = weights.unwrap_or_else(|| vec![1; misses.count()]);
    let threads = process.threads.iter_mut().zip(before).zip(&sample.threads);
    let members = threads.filter(|((thread, _), _)| inside(thread));
    for (((thread, old), read), share) in members.zip(split(bytes, &weights)) {
        let began = earlier.is_some() || thread.llc_misses.is_some();
        if read.counters.bytes.is_none() && old.is_some() && began {
            thread.bandwidth = rate(share, interval);
        }
    }
}

/// Shares of a whole by weights. Nothing is lost: the remainder goes to the first.
fn split(whole: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return Vec::new();
    }
    let share = |weight: &u64| u64::try_from(u128::from(whole) * u128::from(*weight) / sum).unwrap_or(whole);
    let mut shares: Vec<u64> = weights.iter().map(share).collect();
    let over = whole - shares.iter().sum::<u64>();
    if let Some(first) = shares.first_mut() {
        *first += over;
    }
    shares
}

fn rate(bytes: u64, interval: Seconds) -> Option<Bandwidth> {
    (interval.0 > 0.0).then(|| Bandwidth(num::float(bytes) / interval.0))
}

#[cfg(test)]
#[path = "attribution_tests.rs"]
mod tests;
