//! A simulated machine that runs by the wall clock, so that a daemon can be tried on it.

use super::adjust::Adjust;
use isobar_model::{Action, ActionOutcome, Machine, Outcome, Pid, Plan, Sample, Seconds, Wake};
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a wait checks whether a signal came.
const LOOK: Duration = Duration::from_millis(50);

/// The bell that callers ring to wake the loop.
type Bell = Arc<(Mutex<bool>, Condvar)>;

/// A machine whose waits take wall-clock time.
pub struct Paced<M> {
    /// The machine.
    pub machine: M,
    speed: f64,
    stop: Box<dyn Fn() -> bool>,
    bell: Bell,
    /// When a wait that a call cut short is to end.
    until: Option<Instant>,
}

impl<M> Paced<M> {
    /// Lets `speed` seconds of the machine pass in one second of the clock, until `stop` returns
    /// true.
    pub fn new(machine: M, speed: f64, stop: impl Fn() -> bool + 'static) -> Self {
        Self { machine, speed, stop: Box::new(stop), bell: Bell::default(), until: None }
    }

    /// Waits by the wall clock. Returns what ended the wait.
    fn pass(&mut self, interval: Seconds) -> Wake {
        let span = Duration::try_from_secs_f64(interval.0.max(0.0) / self.speed).unwrap_or(LOOK);
        let until = self.until.take().unwrap_or_else(|| Instant::now() + span);
        let (rung, bell) = &*self.bell;
        let mut rung = rung.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if (self.stop)() {
                return Wake::Interrupted;
            }
            if std::mem::take(&mut *rung) {
                self.until = Some(until);
                return Wake::Called;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Wake::Elapsed;
            }
            rung = bell.wait_timeout(rung, left.min(LOOK)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<M> Adjust for Paced<M> {}

impl<M: Machine> Machine for Paced<M> {
    type Error = M::Error;

    fn sample(&mut self) -> Result<Sample, M::Error> {
        self.machine.sample()
    }

    fn managed(&mut self, pids: &BTreeSet<Pid>) {
        self.machine.managed(pids);
    }

    fn apply(&mut self, plan: &Plan) -> Result<Outcome, M::Error> {
        self.machine.apply(plan)
    }

    fn undo(&mut self, action: &Action, outcome: &ActionOutcome) -> Result<ActionOutcome, M::Error> {
        self.machine.undo(action, outcome)
    }

    fn caller(&self) -> Option<Box<dyn Fn() + Send + Sync>> {
        let bell = Arc::clone(&self.bell);
        Some(Box::new(move || {
            let (rung, bell) = &*bell;
            *rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
            bell.notify_all();
        }))
    }

    fn wait(&mut self, interval: Seconds) -> Result<Wake, M::Error> {
        match self.pass(interval) {
            Wake::Elapsed => self.machine.wait(interval),
            other => Ok(other),
        }
    }

    fn restore(&mut self) -> Result<Outcome, M::Error> {
        self.machine.restore()
    }
}
