//! The seam behind which cache ways are given: resctrl, or another actuator that is given after the
//! machine was opened.

use super::error::BoxedError;
use crate::actuators::ActuatorError;
use crate::resctrl::record::ResctrlRecord;
use crate::resctrl::request::Request;
use crate::resctrl::ways::{Save, Ways};
use isobar_model::{ActionOutcome, Monitored, Pid, Sample};
use std::collections::BTreeMap;

/// An actuator of `set_ways`. Threads, masks and names are those of a plan; what holds them is its
/// own business.
pub trait CacheWays {
    /// Carries out the requests of a plan together; one outcome for each. `level` is that of the
    /// LLCs.
    ///
    /// # Errors
    /// Where what will be changed cannot be written down: then nothing is changed.
    fn apply(
        &mut self,
        requests: Vec<Request>,
        level: u32,
        save: Save<'_, ActuatorError>,
    ) -> Result<Vec<ActionOutcome>, ActuatorError>;

    /// A new sample was read: threads may have moved or ended since the last one.
    fn follow(&mut self, sample: &Sample);

    /// A plan was carried out: it may have moved threads.
    fn follow_moves(&mut self) {}

    /// What monitor groups have counted, by process.
    fn monitored(&mut self, _sample: &Sample) -> BTreeMap<Pid, Monitored> {
        BTreeMap::new()
    }

    /// What the state file must hold to put everything back after a kill; `None` where nothing
    /// outlives this process.
    fn record(&self) -> Option<&ResctrlRecord> {
        None
    }

    /// What a person should know.
    fn remarks(&self) -> Vec<String>;

    /// Puts back what no record describes. Doing so twice is harmless.
    ///
    /// # Errors
    /// Where it cannot be put back.
    fn restore(&mut self) -> Result<(), BoxedError> {
        Ok(())
    }

    /// What the record describes was put back.
    fn forget(&mut self) {}
}

impl CacheWays for Ways {
    fn apply(
        &mut self,
        requests: Vec<Request>,
        level: u32,
        save: Save<'_, ActuatorError>,
    ) -> Result<Vec<ActionOutcome>, ActuatorError> {
        Self::apply(self, requests, level, save)
    }

    fn follow(&mut self, sample: &Sample) {
        Self::follow(self, sample);
    }

    fn monitored(&mut self, sample: &Sample) -> BTreeMap<Pid, Monitored> {
        Self::monitored(self, sample)
    }

    fn record(&self) -> Option<&ResctrlRecord> {
        Some(Self::record(self))
    }

    fn remarks(&self) -> Vec<String> {
        Self::remarks(self).cloned().collect()
    }

    fn forget(&mut self) {
        Self::forget(self);
    }
}
