//! The interface behind which cache ways are given out: resctrl, or another actuator that is set
//! after the machine was opened.

use super::record::ResctrlRecord;
use super::request::Request;
use isobar_model::{ActionOutcome, Monitored, Pid, Sample};
use std::collections::BTreeMap;

/// An error of the sensors, the topology or the cache ways, whatever its type.
pub type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// Records what will be changed, before it is changed.
pub type Save<'a, E> = &'a mut dyn FnMut(&ResctrlRecord) -> Result<(), E>;

/// An actuator of `set_ways`. Threads, masks and names are those of a plan; which structures hold
/// them is up to the actuator.
pub trait CacheWays<E> {
    /// Carries out the requests of a plan together, with one outcome for each. `level` is that of
    /// the LLCs.
    ///
    /// # Errors
    /// The error of `save`, if what will be changed cannot be recorded: in that case nothing is
    /// changed.
    fn apply(&mut self, requests: Vec<Request>, level: u32, save: Save<'_, E>) -> Result<Vec<ActionOutcome>, E>;

    /// Called after a new sample was read: threads may have moved or ended since the last one.
    fn follow(&mut self, sample: &Sample);

    /// Called after a plan was carried out, which may have moved threads.
    fn follow_moves(&mut self) {}

    /// Bytes to and from memory by process, if monitor groups count them.
    fn monitored(&mut self, _sample: &Sample) -> BTreeMap<Pid, Monitored> {
        BTreeMap::new()
    }

    /// What the state file must hold to put everything back after a kill; `None` if nothing
    /// outlives this process.
    fn record(&self) -> Option<&ResctrlRecord> {
        None
    }

    /// Remarks for a person.
    fn remarks(&self) -> Vec<String>;

    /// Puts back what no record describes. A second call is harmless.
    ///
    /// # Errors
    /// If it cannot be put back.
    fn restore(&mut self) -> Result<(), BoxedError> {
        Ok(())
    }

    /// Called after what the record describes was put back.
    fn forget(&mut self) {}
}
