//! Events that are not there, or that open and count nothing: named with the reason, never taken for zero.

use super::group::{Named, actions};
use super::told::{self, threads};
use crate::suite::{Suite, same};
use crate::worker::Worker;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// `STALL_BACKEND`: QEMU has it, and it counts nothing.
const COUNTS_NOTHING: &str = "event=0x0024";

pub fn checks(suite: &mut Suite) {
    suite.check("counters: LLC events that the PMU has not are not measured, and DINO plans nothing", || {
        without_misses(100_000_000)
    });
    suite.check("counters: LLC events that count nothing are not measured, and DINO plans nothing", || {
        let _named = Named::events(COUNTS_NOTHING, COUNTS_NOTHING)?;
        // Threads that hardly work may really miss nothing: it takes some billions of instructions to be sure.
        without_misses(1_500_000_000)
    });
}

/// A CPU that counts cycles and no instructions: QEMU without `-icount`.
pub fn cycles_only(suite: &mut Suite) {
    suite.check("counters: a PMU without instructions is not called a missing PMU", || {
        let told = busy(100_000_000)?;
        let reason = told::reason(&told, "instructions").context("nothing says that instructions are not measured")?;
        ensure!(!reason.contains("no PMU"), "cycles are counted here: {reason}");
        ensure!(reason.contains("instructions") || reason.contains("event"), "what is missing is not named: {reason}");
        none_measured(&told, "instructions")?;
        same("actions", actions(&told), 0)
    });
}

fn without_misses(instructions: u64) -> Result<()> {
    let told = busy(instructions)?;
    let reason = told::reason(&told, "llc_misses").context("nothing says that LLC misses are not measured")?;
    ensure!(reason.len() > 20, "a reason: `{reason}`");
    ensure!(told::reason(&told, "instructions").is_none(), "instructions are measured here");
    none_measured(&told, "llc_misses")?;
    same("actions", actions(&told), 0)
}

/// The epochs of two threads that execute so many instructions each.
fn busy(instructions: u64) -> Result<Vec<Value>> {
    let mut worker = Worker::start(2)?;
    let mut manage = told::watch("0.4")?;
    for thread in 0..2 {
        worker.order(&format!("work {thread} {instructions} 1 0"))?;
    }
    worker.finish()?;
    manage.epochs(3)?;
    manage.told()
}

fn none_measured(told: &[Value], key: &str) -> Result<()> {
    let all: Vec<&Value> = told.iter().flat_map(threads).collect();
    ensure!(!all.is_empty(), "no thread is told of: the check would prove nothing");
    let measured = all.iter().find(|thread| !thread[key].is_null());
    ensure!(measured.is_none(), "{key} is told: {measured:?}");
    Ok(())
}
