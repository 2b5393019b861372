//! The third machine: a recording. It returns the readings that were recorded, and nothing can be
//! changed on it.

use crate::error::RecordingError;
use crate::moment::Moment;
use crate::reader::Recording;
use isobar_model::{ActionOutcome, Machine, Outcome, Plan, Sample, Seconds, Wake};
use std::cell::RefCell;
use std::rc::Rc;

/// Why nothing is done on this machine.
const PAST: &str = "a recording cannot be changed";

/// A recording as a machine. Each wait advances by one epoch, whatever its length was to be.
pub struct RecordedMachine {
    recording: Recording,
    now: Now,
    /// Number of epochs that are missing between those that were read.
    missing: u64,
}

/// The moment that the machine is at, shared with its observers.
pub type Now = Rc<RefCell<Moment>>;

impl RecordedMachine {
    /// The machine at the beginning of a recording.
    ///
    /// # Errors
    /// An error if its first epoch cannot be read.
    pub fn new(mut recording: Recording) -> Result<Self, RecordingError> {
        let first = recording.next_moment()?.ok_or_else(|| RecordingError::Empty(recording.path().to_owned()))?;
        Ok(Self { recording, now: Rc::new(RefCell::new(first)), missing: 0 })
    }

    /// The moment that the machine is at, which stays up to date.
    #[must_use]
    pub fn now(&self) -> Now {
        Rc::clone(&self.now)
    }

    /// Number of epochs that were left out while it was recorded.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.missing
    }
}

impl Machine for RecordedMachine {
    type Error = RecordingError;

    fn sample(&mut self) -> Result<Sample, RecordingError> {
        Ok(self.now.borrow().sample.clone())
    }

    fn apply(&mut self, plan: &Plan) -> Result<Outcome, RecordingError> {
        let left_alone = |_| ActionOutcome::LeftAlone { why: PAST.to_owned() };
        Ok(Outcome { actions: plan.actions.iter().map(left_alone).collect() })
    }

    fn wait(&mut self, _: Seconds) -> Result<Wake, RecordingError> {
        let Some(next) = self.recording.next_moment()? else { return Ok(Wake::Ended) };
        self.missing += next.number.saturating_sub(self.now.borrow().number + 1);
        self.now.replace(next);
        Ok(Wake::Elapsed)
    }

    fn restore(&mut self) -> Result<Outcome, RecordingError> {
        Ok(Outcome::default())
    }
}
