//! Counts that must be scaled: more events than counters.

use super::reported::{self, sum};
use crate::suite::Suite;
use crate::worker::{Hog, Worker};
use anyhow::{Result, ensure};

pub fn checks(suite: &mut Suite) {
    suite.check("counters: counts of a shared PMU are scaled to the truth", scaled);
}

fn scaled() -> Result<()> {
    const WORK: u64 = 400_000_000;
    let mut worker = Worker::start(1)?;
    let tid = worker.tids()[0];
    let mut manage = reported::watch("0.25")?;
    reported::until_counted(&mut manage, &[tid])?;
    // There are six counters and the cycle counter. With eight more events, each event has a
    // counter for only part of the time.
    let hog = Hog::on(tid, 8)?;
    worker.order(&format!("work 0 {WORK} 1 0"))?;
    worker.finish()?;
    manage.epochs(2)?;
    let on_a_counter = hog.leave()?;
    ensure!(on_a_counter < 800, "the PMU was hardly shared ({on_a_counter} of 1000): the check would prove nothing");
    let found = sum(&manage.reported()?, tid, "instructions");
    ensure!(found.abs_diff(WORK) < WORK / 33, "isobar counted {found}, the program executed {WORK}");
    Ok(())
}
