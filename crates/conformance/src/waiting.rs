//! Letting time pass. An epoch includes the work done in it: a wait lasts from the previous
//! deadline to the next. The length of a wait is therefore checked only between waits without work.

use crate::bench::{Bench, Stage, Subject};
use crate::look::{home, sample};
use crate::verdict::{Assertion, Checked, ensure};
use isobar_model::{Machine, Seconds, Wake};

/// Rounding of a clock, in seconds.
const ROUNDING: f64 = 1e-6;

pub(crate) fn list<B: Bench>() -> Vec<Assertion<B>> {
    vec![
        ("wait: at least the interval passes on the machine's clock", the_interval_passes),
        ("wait: several in a row last as long as all of them", intervals_add_up),
        ("wait: zero, negative and NaN waits return at once", nonsense_comes_back),
    ]
}

fn the_interval_passes<B: Bench>(bench: &B) -> Checked {
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?)])?;
    let interval = stage.epoch();
    let before = sample(&mut stage)?.time;
    let wake = stage.machine().wait(interval)?;
    ensure!(wake == Wake::Elapsed, "the wait ended with {wake:?}");
    let after = sample(&mut stage)?.time;
    ensure!(after.0 - before.0 >= interval.0 - ROUNDING, "a wait of {interval} went from {before} to {after}");
    Ok(())
}

fn intervals_add_up<B: Bench>(bench: &B) -> Checked {
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?)])?;
    let parts = [0.3, 0.1, 0.2, 0.3].map(|part| Seconds(part * stage.epoch().0));
    let before = sample(&mut stage)?.time;
    for interval in parts {
        let wake = stage.machine().wait(interval)?;
        ensure!(wake == Wake::Elapsed, "the wait ended with {wake:?}");
    }
    let after = sample(&mut stage)?.time;
    let all: f64 = parts.iter().map(|part| part.0).sum();
    ensure!(after.0 - before.0 >= all - ROUNDING, "waits of {all} s in all went from {before} to {after}");
    Ok(())
}

fn nonsense_comes_back<B: Bench>(bench: &B) -> Checked {
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?)])?;
    let before = sample(&mut stage)?.time;
    for interval in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
        let wake = stage.machine().wait(Seconds(interval))?;
        ensure!(wake == Wake::Elapsed, "a wait of {interval} s ended with {wake:?}");
    }
    let after = sample(&mut stage)?.time;
    ensure!(after >= before, "time went back from {before} to {after}");
    Ok(())
}
