//! Threads and processes come and go by the hundred while isobar manages: there must be no error,
//! no leaked descriptor, and no growth of memory.

use super::counters::reported;
use crate::evidence::text;
use crate::isobar::{self, Manage};
use crate::suite::Suite;
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use std::fs;
use std::process::Command;

pub fn checks(suite: &mut Suite) {
    suite.check("storm: hundreds of threads come and go: no error, no descriptor leaked, memory flat", storm);
}

/// Number of children in one storm; each has four threads.
const ROUNDS: &str = "250";
/// How much memory may grow from the second storm to the fourth: the slack of an allocator, which
/// is a hundredth of the growth if everything leaked.
const SLACK_KIB: u64 = 512;

fn storm() -> Result<()> {
    let everybody = ["manage.counters=software", "manage.min_cpu_percent=0", "manage.max_moves_per_epoch=2000"];
    let mut manage = Manage::start(&isobar::manage("--policy dino --interval 0.1 --for 240", &[], &everybody))?;
    manage.epochs(2)?;
    let mut marks = Vec::new();
    for _ in 0..4 {
        let status = Command::new("storm").arg(ROUNDS).stdout(std::process::Stdio::null()).status().context("storm")?;
        ensure!(status.success(), "the storm itself failed");
        manage.epochs(3)?;
        marks.push((descriptors(manage.pid())?, memory_kib(manage.pid())?));
    }
    let said = manage.end_by(Signal::TERM)?;
    said.fine()?;
    ensure!(said.err.trim().is_empty(), "errors: {}", said.err.trim());
    let epochs = said.lines()?;
    let seen = epochs.iter().filter_map(|line| line["seen"]["threads"].as_u64()).max().unwrap_or(0);
    ensure!(seen > 30, "isobar never saw more than {seen} threads: the check would prove nothing");
    let storms = epochs.iter().flat_map(|epoch| reported::threads_of(epoch, "storm"));
    let counted = storms.filter(|thread| thread["instructions"].is_u64()).count();
    ensure!(counted > 30, "only {counted} counts of threads of the storm: descriptors were hardly ever opened");
    let ((fds, memory), (fds_after, memory_after)) = (marks[1], marks[3]);
    ensure!(fds_after <= fds + 4, "descriptors after each storm: {marks:?}");
    ensure!(memory_after <= memory + SLACK_KIB, "(descriptors, KiB) after each storm: {marks:?}");
    Ok(())
}

fn descriptors(pid: u32) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

fn memory_kib(pid: u32) -> Result<u64> {
    let status = text(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
