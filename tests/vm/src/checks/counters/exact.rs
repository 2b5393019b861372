//! Absolute counts: for threads that worked and sleep, for a thread that isobar first saw in the
//! middle of its work, and for a thread that ends.

use super::reported::{self, count, sum, within};
use crate::evidence::{text, uptime};
use crate::suite::{Suite, same};
use crate::worker::{Log, Worker};
use anyhow::{Context, Result, ensure};
use std::thread::sleep;
use std::time::Duration;

pub fn checks(suite: &mut Suite) {
    suite.check("counters: what threads executed is reported to within a hundredth, each its own", whole);
    suite.check("counters: the last slice of a thread that falls asleep is counted", last_slice);
    suite.check("counters: met in the middle of its work, and until it ends: each epoch is the program's", middle);
}

/// Instructions per piece of work of each thread, and number of pieces.
const WORK: [(u64, u64); 3] = [(20_000_000, 12), (40_000_000, 3), (60_000_000, 1)];

fn whole() -> Result<()> {
    let mut worker = Worker::start(3)?;
    let mut manage = reported::watch("0.25")?;
    reported::until_counted(&mut manage, worker.tids())?;
    for (thread, (instructions, times)) in WORK.iter().enumerate() {
        worker.order(&format!("work {thread} {instructions} {times} 20"))?;
    }
    worker.finish()?;
    manage.epochs(3)?;
    let reported = manage.reported()?;
    for (tid, (instructions, times)) in worker.tids().iter().zip(WORK) {
        within("a thread", sum(&reported, *tid, "instructions"), instructions * times, 1)?;
    }
    Ok(())
}

/// The kernel reports CPU time in ticks of 10 ms, and each of these slices is shorter. A reader
/// that only reads the counters of threads that used a tick misses what the thread did after its
/// last tick.
fn last_slice() -> Result<()> {
    const SLICE: u64 = 2_000_000;
    const SLICES: u64 = 21;
    let mut worker = Worker::start(1)?;
    let mut manage = reported::watch("0.25")?;
    reported::until_counted(&mut manage, worker.tids())?;
    worker.order(&format!("work 0 {SLICE} {SLICES} 200"))?;
    worker.finish()?;
    manage.epochs(5)?;
    // Waking up and going to sleep is a larger fraction of such a short slice.
    within("21 slices", sum(&manage.reported()?, worker.tids()[0], "instructions"), SLICE * SLICES, 4)
}

/// isobar starts while the thread works, and the thread ends in the middle of an epoch. The work in
/// that epoch is lost with the thread; all earlier epochs must agree with the program's log.
fn middle() -> Result<()> {
    // By then the kernel's own work after the boot is over, and the thread has the CPU to itself.
    while uptime()? < 7.0 {
        sleep(Duration::from_secs(1));
    }
    let mut worker = Worker::start(1)?;
    let tid = worker.tids()[0];
    worker.order("last 0 1000000 900 0")?;
    let mut manage = reported::watch("0.2")?;
    let opened = started(manage.pid())?;
    worker.finish()?;
    manage.epochs(2)?;
    let reported = manage.reported()?;
    let log = worker.log(0)?;
    // The first count begins while isobar itself is still starting and using the CPU.
    let counted = reported.iter().filter_map(|epoch| Some((epoch, count(epoch, tid, "instructions")?)));
    let counted: Vec<_> = counted.skip(1).map(|(epoch, count)| Counted::of(epoch, count)).collect::<Result<_>>()?;
    let epochs = counted.len();
    ensure!(epochs >= 4, "only {epochs} epochs of the thread were counted: the check would prove nothing");
    // isobar's clock begins once it has read its arguments and opened its sensors, a little after
    // the start of its process. One such moment must fit every epoch.
    let moments = (0..150).map(|step| opened + 0.002 * f64::from(step));
    let fit = |moment: f64| (Counted::worst(&counted, &log, moment), moment);
    let (worst, moment) = moments.map(fit).min_by(|a, b| a.0.total_cmp(&b.0)).context("no moment")?;
    ensure!(
        worst < 0.1,
        "an epoch is off by {:.0} %: {counted:?}, opened {:.3} s after its start",
        100.0 * worst,
        moment - opened
    );
    let found: f64 = counted.iter().map(|one| one.count).sum();
    let truth: f64 = counted.iter().map(|one| one.executed(&log, moment)).sum();
    ensure!(
        (found / truth - 1.0).abs() < 0.01,
        "{epochs} epochs: isobar counted {found}, the program executed {truth}"
    );
    let last = reported.last().context("no epoch")?;
    same("the thread that has ended is reported", reported::thread(last, tid).is_some(), false)
}

/// What isobar counted in an epoch, with the time from the opening of its sensors to the end of the
/// epoch, in seconds.
#[derive(Debug)]
struct Counted {
    time: f64,
    interval: f64,
    count: f64,
}

impl Counted {
    fn of(epoch: &serde_json::Value, count: u64) -> Result<Self> {
        Ok(Self { time: seconds(&epoch["time"])?, interval: seconds(&epoch["interval"])?, count: to_float(count) })
    }

    /// The number of instructions that the program executed meanwhile, by its own log.
    fn executed(&self, log: &Log, opened: f64) -> f64 {
        log.executed_until(opened + self.time) - log.executed_until(opened + self.time - self.interval)
    }

    /// The largest relative difference over all epochs.
    fn worst(all: &[Self], log: &Log, opened: f64) -> f64 {
        all.iter().map(|one| (one.count / one.executed(log, opened) - 1.0).abs()).fold(0.0, f64::max)
    }
}

/// When a process started, in seconds since the start of the guest, to 10 ms (`proc_pid_stat(5)`,
/// field 22).
fn started(pid: u32) -> Result<f64> {
    let text = text(format!("/proc/{pid}/stat"))?;
    let after_name = text.rsplit_once(')').context("stat without a name")?.1;
    let ticks: f64 = after_name.split_whitespace().nth(19).context("stat without a start")?.parse()?;
    Ok(ticks / 100.0)
}

fn seconds(value: &serde_json::Value) -> Result<f64> {
    value.as_f64().context("no seconds")
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few seconds are far below 2 to the power of 53")]
fn to_float(count: u64) -> f64 {
    count as f64
}
