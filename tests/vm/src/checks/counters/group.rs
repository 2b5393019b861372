//! Four events of one group, each of which must be reported under its own name. QEMU has two events
//! that count: instructions (0x08) and cycles (0x11). A copy of the PMU's folder of events, mounted
//! over the folder, gives them Arm's names for the last-level cache. With two copies that swap the
//! events, each of the four roles has a pair of values that no other role has.

use super::reported::{self, sum, within};
use crate::suite::Suite;
use crate::worker::{Hog, Worker};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::process::Command;

const INSTRUCTIONS: &str = "event=0x0008";
const CYCLES: &str = "event=0x0011";
const DEVICES: &str = "/sys/bus/event_source/devices";

pub fn checks(suite: &mut Suite) {
    suite.check("counters: every event of a group has its own count", || {
        order(INSTRUCTIONS, CYCLES, 1, 2)?;
        order(CYCLES, INSTRUCTIONS, 2, 1)
    });
}

pub fn ratios(suite: &mut Suite) {
    suite.check("counters: on several CPUs the events of a group keep their ratio, the PMU being shared", shared_ratio);
}

/// Checks with the events that stand in for references and misses, and their number per
/// instruction.
fn order(references: &str, misses: &str, reference_count: u64, miss_count: u64) -> Result<()> {
    const WORK: u64 = 60_000_000;
    let _named = Named::events(references, misses)?;
    let mut worker = Worker::start(1)?;
    let mut manage = reported::watch("0.25")?;
    reported::until_counted(&mut manage, worker.tids())?;
    worker.order(&format!("work 0 {WORK} 2 20"))?;
    worker.finish()?;
    manage.epochs(2)?;
    let reported = manage.reported()?;
    let found = |key| sum(&reported, worker.tids()[0], key);
    let counts = ["instructions", "cycles", "llc_references", "llc_misses"].map(found);
    for (key, (found, events)) in ["instructions", "cycles", "LLC references", "LLC misses"]
        .iter()
        .zip(counts.into_iter().zip([1, 2, reference_count, miss_count]))
    {
        within(&format!("{key} of {counts:?}"), found, 2 * WORK * events, 1)?;
    }
    Ok(())
}

/// Two threads on CPUs of two nodes; a hog also counts one of them.
fn shared_ratio() -> Result<()> {
    let _named = Named::events(INSTRUCTIONS, CYCLES)?;
    let mut worker = Worker::start(2)?;
    let mut manage = reported::watch("0.25")?;
    reported::until_counted(&mut manage, worker.tids())?;
    let hog = Hog::on(worker.tids()[0], 8)?;
    for thread in 0..2 {
        worker.order(&format!("work {thread} 2000000 120 0"))?;
    }
    worker.finish()?;
    manage.epochs(2)?;
    let on_a_counter = hog.leave()?;
    ensure!(on_a_counter < 900, "the PMU was not shared ({on_a_counter} of 1000): the check would prove nothing");
    let reported = manage.reported()?;
    for &tid in worker.tids() {
        let [instructions, cycles, references, misses] =
            ["instructions", "cycles", "llc_references", "llc_misses"].map(|key| sum(&reported, tid, key));
        let all = (instructions, cycles, references, misses);
        ensure!(instructions > 240_000_000, "a thread that worked was hardly counted: {all:?}");
        ensure!(
            cycles > instructions * 3 / 2,
            "instructions and cycles are alike here, and would hide a swap: {all:?}"
        );
        // What stands in for references counts the kernel's instructions, too, and QEMU those of
        // all CPUs: one that stays in the kernel costs this thread a part of its own.
        let of_kernel = references.checked_sub(instructions);
        ensure!(
            of_kernel.is_some_and(|count| count < references / 4) && near(misses, cycles),
            "instructions, cycles, references, misses: {all:?}"
        );
    }
    Ok(())
}

/// Equal to a thousandth: events of a group are counted at the same time.
fn near(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= b / 1000
}

/// Names for LLC events, which exist as long as this value.
pub struct Named {
    folder: String,
}

impl Named {
    /// Mounts a folder of events over the PMU's, with names for references and misses of the
    /// last-level cache.
    pub fn events(references: &str, misses: &str) -> Result<Self> {
        const COPY: &str = "/tmp/events";
        let pmu = fs::read_dir(DEVICES)?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .find(|name| name.starts_with("armv8"))
            .context("no Arm PMU")?;
        let folder = format!("{DEVICES}/{pmu}/events");
        let _ = fs::remove_dir_all(COPY);
        fs::create_dir_all(COPY)?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            fs::write(format!("{COPY}/{}", entry.file_name().to_string_lossy()), fs::read(entry.path())?)?;
        }
        fs::write(format!("{COPY}/ll_cache_rd"), references)?;
        fs::write(format!("{COPY}/ll_cache_miss_rd"), misses)?;
        let status = Command::new("mount").args(["--bind", COPY, &folder]).status().context("mount")?;
        ensure!(status.success(), "the folder of events cannot be mounted");
        Ok(Self { folder })
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
    }
}

/// Number of actions planned over all epochs.
pub fn actions(epochs: &[Value]) -> usize {
    epochs.iter().filter_map(|epoch| epoch["plan"]["actions"].as_array()).map(Vec::len).sum()
}
