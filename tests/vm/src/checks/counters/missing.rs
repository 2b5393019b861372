//! Events that do not exist, or that open but count nothing: they must be reported with the reason,
//! and never taken for zero.

use super::group::{Named, actions};
use super::reported::{self, threads};
use crate::suite::{Suite, same};
use crate::worker::Worker;
use anyhow::{Context, Result, ensure};
use rustix::thread::{CpuSet, Pid, sched_setaffinity};
use serde_json::Value;

/// Cycles, two per instruction: 2000 misses per 1000 instructions.
const COUNTS: &str = "event=0x0011";
/// `STALL_BACKEND`: QEMU has this event, but it counts nothing.
const COUNTS_NOTHING: &str = "event=0x0024";
/// The CPUs of the last node. DINO deals two threads to the first two domains, so on any other node
/// they do not stay.
const LAST_NODE: [usize; 2] = [6, 7];
/// All CPUs of the guest.
const CPUS: usize = 8;

/// Several nodes: what DINO plans for two threads that start on the same node, depending on their
/// LLC events. The first check is the control: if misses are counted, the same threads do not stay
/// where they are.
pub fn plans(suite: &mut Suite) {
    suite.check("counters: LLC events that count are measured, and DINO plans moves", || {
        let _named = Named::events(COUNTS, COUNTS)?;
        let reported = side_by_side(200_000_000)?;
        ensure!(reported::reason(&reported, "llc_misses").is_none(), "LLC misses are measured here");
        ensure!(actions(&reported) > 0, "two threads that miss share a cache, and nothing is planned");
        Ok(())
    });
    suite.check("counters: LLC events that the PMU has not are not measured, and DINO plans nothing", || {
        without_misses(200_000_000, "sysfs lists the events of this CPU, but none for LLC misses (")
    });
    suite.check("counters: LLC events that count nothing are not measured, and DINO plans nothing", || {
        let _named = Named::events(COUNTS_NOTHING, COUNTS_NOTHING)?;
        // Threads that hardly work may really have no misses, and it takes some billions of
        // instructions to be sure. Each thread is counted with the instructions of both here.
        without_misses(750_000_000, "the counter can be opened but read 0 over ")
    });
}

/// A CPU that counts cycles but no instructions: QEMU without `-icount`. It is the only CPU, so no
/// plan could be expected in any case.
pub fn cycles_only(suite: &mut Suite) {
    suite.check("counters: a PMU without instructions is not called a missing PMU", || {
        let mut worker = Worker::start(2)?;
        let reported = busy(&mut worker, 100_000_000)?;
        because(&reported, "instructions", "the CPU counts cycles but no instructions: in this virtual machine, ")?;
        none_measured(&reported, "instructions")
    });
}

fn without_misses(instructions: u64, why: &str) -> Result<()> {
    let reported = side_by_side(instructions)?;
    because(&reported, "llc_misses", why)?;
    ensure!(reported::reason(&reported, "instructions").is_none(), "instructions are measured here");
    none_measured(&reported, "llc_misses")?;
    same("actions", actions(&reported), 0)
}

/// Fails unless this is the reason why something is not measured.
fn because(reported: &[Value], sensor: &str, why: &str) -> Result<()> {
    let reason =
        reported::reason(reported, sensor).with_context(|| format!("nothing says why {sensor} are not measured"))?;
    ensure!(reason.starts_with(why), "{sensor}: expected `{why}...`, found `{reason}`");
    Ok(())
}

/// The epochs of two threads that execute these numbers of instructions. Both start on the last
/// node, but may use every CPU, so this is not an order of their owner.
fn side_by_side(instructions: u64) -> Result<Vec<Value>> {
    let mut worker = Worker::start(2)?;
    bind(&worker, |thread| vec![LAST_NODE[thread]])?;
    // A thread changes its CPU when it next runs.
    for thread in 0..2 {
        worker.order(&format!("work {thread} 1000000 1 0"))?;
    }
    worker.finish()?;
    bind(&worker, |_| (0..CPUS).collect())?;
    busy(&mut worker, instructions)
}

/// Sets the CPUs that each thread of a worker may use, by the thread's number.
fn bind(worker: &Worker, cpus: impl Fn(usize) -> Vec<usize>) -> Result<()> {
    for (thread, &tid) in worker.tids().iter().enumerate() {
        let mut mask = CpuSet::new();
        cpus(thread).into_iter().for_each(|cpu| mask.set(cpu));
        sched_setaffinity(Pid::from_raw(i32::try_from(tid)?), &mask)?;
    }
    Ok(())
}

/// The epochs of a worker whose two threads execute this number of instructions each. The work
/// begins after isobar's first epoch: starting isobar can take as long as the work itself.
fn busy(worker: &mut Worker, instructions: u64) -> Result<Vec<Value>> {
    let mut manage = reported::watch("0.4")?;
    manage.epochs(1)?;
    for thread in 0..2 {
        worker.order(&format!("work {thread} {instructions} 1 0"))?;
    }
    worker.finish()?;
    manage.epochs(3)?;
    manage.reported()
}

fn none_measured(reported: &[Value], key: &str) -> Result<()> {
    let all: Vec<&Value> = reported.iter().flat_map(threads).collect();
    ensure!(!all.is_empty(), "no thread is reported: the check would prove nothing");
    let measured = all.iter().find(|thread| !thread[key].is_null());
    ensure!(measured.is_none(), "{key} is reported: {measured:?}");
    Ok(())
}
