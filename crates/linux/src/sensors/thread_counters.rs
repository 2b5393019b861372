//! Defines the interface of a source of event counts: perf, or another source that is passed in
//! when the sensors are opened.

use isobar_model::{Counters, CpuReading, Sensor, Tid};
use std::collections::BTreeMap;

/// A thread of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its id.
    pub tid: Tid,
    /// Its start time: with the id, its identity.
    pub start: u64,
    /// CPU time since the last sample, in clock ticks.
    pub load: u64,
}

/// A source of event counts. Its counts are raw: totals since it was opened.
pub trait ThreadCounters {
    /// Reads the counters; `threads` are all threads of the sample, ascending by process, then
    /// thread.
    fn read(&mut self, threads: &[Running]);

    /// The counts of a thread at the last reading; a count that is `None` is not measured.
    fn of(&self, tid: Tid) -> Counters;

    /// The counts of CPUs at the last reading, if CPUs are counted rather than threads.
    fn by_cpu(&self) -> Option<CpuReading> {
        None
    }

    /// Events that cannot be counted, and why, in one line with the remedy.
    fn missing(&self) -> BTreeMap<Sensor, String>;

    /// Remarks for a person about these counts.
    fn remarks(&self) -> Vec<String>;
}
