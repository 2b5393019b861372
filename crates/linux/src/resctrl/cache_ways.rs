//! The seam behind which cache ways are given: resctrl, or another actuator that is given after the
//! machine was opened.

use super::record::ResctrlRecord;
use super::request::Request;
use isobar_model::{ActionOutcome, Monitored, Pid, Sample};
use std::collections::BTreeMap;

/// An error of the sensors, the topology or the cache ways, whichever they are.
pub type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// Writes down what will be changed, before it is.
pub type Save<'a, E> = &'a mut dyn FnMut(&ResctrlRecord) -> Result<(), E>;

/// An actuator of `set_ways`. Threads, masks and names are those of a plan; what holds them is its
/// own business.
pub trait CacheWays<E> {
    /// Carries out the requests of a plan together; one outcome for each. `level` is that of the
    /// LLCs.
    ///
    /// # Errors
    /// That of `save`, where what will be changed cannot be written down: then nothing is changed.
    fn apply(&mut self, requests: Vec<Request>, level: u32, save: Save<'_, E>) -> Result<Vec<ActionOutcome>, E>;

    /// A new sample was read: threads may have moved or ended since the last one.
    fn follow(&mut self, sample: &Sample);

    /// A plan was carried out: it may have moved threads.
    fn follow_moves(&mut self) {}

    /// Bytes to and from memory by process, where monitor groups count them.
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
