//! The seam behind which event counts come from: perf, or another source that is given when the
//! sensors are opened.

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

/// A source of event counts. What it returns is raw: totals since it was opened.
pub trait ThreadCounters {
    /// Reads the counters; `threads` are all threads of the sample, ascending by process, then
    /// thread.
    fn read(&mut self, threads: &[Running]);

    /// What a thread had counted at the last reading; `None` in it is not measured.
    fn of(&self, tid: Tid) -> Counters;

    /// What CPUs had counted at the last reading, where CPUs are counted and not threads.
    fn by_cpu(&self) -> Option<CpuReading> {
        None
    }

    /// Events that cannot be counted, and why, in one line with the remedy.
    fn missing(&self) -> BTreeMap<Sensor, String>;

    /// What a person should know about these counts.
    fn remarks(&self) -> Vec<String>;
}
