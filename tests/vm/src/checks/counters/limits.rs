//! Descriptors of threads: hundreds of threads start and end, and there may be fewer descriptors
//! than threads.

use super::reported::{self, count, sum, threads, within};
use crate::isobar::Manage;
use crate::suite::Suite;
use crate::worker::Worker;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

pub fn checks(suite: &mut Suite) {
    suite.check("counters: threads come and go: counts stay with their threads, descriptors do not grow", births);
    suite.check(
        "counters: at the descriptor limit the busiest are counted, and the limit is reported with numbers",
        busiest,
    );
}

/// Number of descriptors that isobar leaves to others, plus about the number that it has open
/// itself (one or two per signal).
const KEPT_BACK: u64 = 128 + 56;
/// Instructions of each short-lived thread.
const SHORT: u64 = 12_000_000;
/// Number of threads that come and go twenty at a time.
const CROWD: usize = 100;
/// Number of threads that come and go two at a time, each with the id of a thread that has just
/// ended.
const LATER_THREADS: usize = 24;
/// Maximum number of different ids of these threads: two if the kernel gives each thread the
/// requested id. Another process that starts at that moment may take an id first, so a few more are
/// not an error. Without reuse each thread has its own id.
const MOST_IDS: usize = 8;

fn births() -> Result<()> {
    let mut worker = Worker::start(4)?;
    let long: Vec<u32> = worker.tids().to_vec();
    // Descriptors for 28 groups of four events: if descriptors are not closed, they soon run out.
    let mut manage = reported::watch_within(KEPT_BACK + 112, "0.1")?;
    reported::until_counted(&mut manage, &long)?;
    let before = descriptors(&manage)?;
    worker.order(&format!("births {CROWD} 20 {SHORT}"))?;
    for thread in 0..4 {
        // 10, 20, 30 and 40 million per piece.
        worker.order(&format!("work {thread} {} 8 150", 10_000_000 * (thread + 1)))?;
    }
    worker.finish()?;
    // The last threads of the crowd are in no sample of the epochs from here on.
    manage.epochs(1)?;
    let crowd = manage.reported()?.len();
    // If only two run at a time, they have the CPU when they need it. Each is seen to work before
    // the next sample, under the id of a thread that has ended.
    worker.order(&format!("births {LATER_THREADS} 2 {SHORT}"))?;
    worker.finish()?;
    manage.epochs(3)?;
    let after = descriptors(&manage)?;
    // Threads of other programs may have started to work meanwhile. If the groups of all threads
    // that came and went were still open, there would be two descriptors or more per thread.
    ensure!(
        after <= before + 16,
        "descriptors before and after {} threads came and went: {before}, {after}",
        CROWD + LATER_THREADS
    );
    let reported = manage.reported()?;
    for (tid, pieces) in long.iter().zip(1..) {
        within("a thread that lives on", sum(&reported, *tid, "instructions"), 80_000_000 * pieces, 1)?;
    }
    let short = |thread: &&Value| long.iter().all(|tid| thread["tid"] != *tid) && thread["instructions"].is_u64();
    let instructions = |thread: &Value| thread["instructions"].as_u64().unwrap_or(0);
    let most = reported.iter().flat_map(threads).filter(short).map(instructions).max().unwrap_or(0);
    ensure!(most <= SHORT + SHORT / 20, "a thread that executed {SHORT} is reported with {most}");
    let ran = |thread: &&Value| short(thread) && thread["cpu_seconds"].as_f64() > Some(0.0);
    let (still, worked): (Vec<&Value>, Vec<&Value>) =
        reported[crowd..].iter().flat_map(threads).filter(ran).partition(|thread| instructions(thread) == 0);
    let ids: BTreeSet<u64> = still.iter().chain(&worked).filter_map(|thread| thread["tid"].as_u64()).collect();
    let (still, worked) = (still.len(), worked.len());
    // A counter left by an ended thread with the same id does not advance. Times and counts are not
    // read at the same moment, so one in ten may be late.
    ensure!(still * 10 <= worked, "{still} times a thread ran and executed nothing, {worked} times it did");
    ensure!(worked >= 8, "only {worked} counts of threads under old ids: the check would prove nothing");
    ensure!(
        ids.len() <= MOST_IDS.min(worked / 2),
        "{LATER_THREADS} threads should share few ids, or the check proves nothing: {worked} counts under {ids:?}"
    );
    Ok(())
}

/// 24 threads that do little work and, last by their ids, six that do much. There are descriptors
/// for eight groups of four events.
fn busiest() -> Result<()> {
    const LITTLE: u32 = 24;
    const MUCH: u32 = 6;
    let limit = KEPT_BACK + 32;
    let mut worker = Worker::start(LITTLE + MUCH)?;
    for thread in 0..LITTLE {
        worker.order(&format!("work {thread} 5500000 6 1000"))?;
    }
    for thread in LITTLE..LITTLE + MUCH {
        worker.order(&format!("work {thread} 600000000 1 0"))?;
    }
    let mut manage = reported::watch_within(limit, "1")?;
    manage.epochs(5)?;
    let reported = manage.reported()?;
    let last = reported.last().context("no epoch")?;
    let much = &worker.tids()[usize::try_from(LITTLE)?..];
    let counts: Vec<_> = much.iter().map(|tid| count(last, *tid, "instructions")).collect();
    ensure!(counts.iter().all(|count| *count > Some(0)), "the busiest threads in the last of five epochs: {counts:?}");
    let remark = reported::remark(&reported, "descriptor limit").context("the limit is not reported")?;
    let numbers: Vec<u64> = remark.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    let [said, counted, wanted] = numbers[..] else { anyhow::bail!("expected limit, counted, wanted: {remark}") };
    ensure!(said == limit && counted < wanted && remark.contains("raise LimitNOFILE"), "limit {limit}: {remark}");
    let measured = threads(last).filter(|thread| thread["instructions"].is_u64()).count();
    ensure!(u64::try_from(measured)? <= counted, "{measured} threads are reported with counts: {remark}");
    ensure!(wanted >= 12, "30 threads work: {remark}");
    Ok(())
}

fn descriptors(manage: &Manage) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{}/fd", manage.pid()))?.count())
}
