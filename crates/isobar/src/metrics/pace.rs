//! Slows a simulated run down to a pace that people and scrapers can follow, because its loop would
//! be over in a moment. This machine needs no such pace: it runs in real time.

use crate::report::{AfterRun, Reporter};
use isobar_runtime::{BoxError, Epoch, Observer, Start, Tally};
use std::thread;
use std::time::{Duration, Instant};

/// How often a wait checks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Shows a run no faster than at a given speed.
pub struct Paced<'a> {
    shown: &'a mut dyn Reporter,
    stop: &'a dyn Fn() -> bool,
    speed: f64,
    due: Instant,
}

impl<'a> Paced<'a> {
    /// Shows `speed` seconds of the machine in one second of the clock, until `stop` returns true.
    pub fn new(shown: &'a mut dyn Reporter, speed: f64, stop: &'a dyn Fn() -> bool) -> Self {
        Self { shown, stop, speed, due: Instant::now() }
    }

    fn wait(&mut self, seconds: f64) {
        let length = Duration::try_from_secs_f64(seconds / self.speed).unwrap_or_default();
        // A run that could not keep up does not hurry afterwards.
        self.due = (self.due + length).max(Instant::now());
        while !(self.stop)() {
            let left = self.due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

impl Observer for Paced<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        self.due = Instant::now();
        self.shown.begin(start)
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        self.shown.epoch(epoch)?;
        self.wait(epoch.seen.interval.0);
        Ok(())
    }
}

impl Reporter for Paced<'_> {
    fn end(&mut self, tally: &Tally, after: &AfterRun) -> anyhow::Result<()> {
        self.shown.end(tally, after)
    }
}
