//! Counts that are not a thread's own: raw totals of what several threads share (a CPU, a monitor
//! group), and the substitute for a count that is missing. Sensors hand them over as they read
//! them. Only [`crate::Observation::between`] takes differences and shares them out among threads.

use crate::count::Count;
use crate::ids::{Pid, Tid};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The counts of a sample that are not a thread's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Indirect {
    /// Counters of CPUs; `None` if threads are counted, or if nothing could be read.
    pub cpus: Option<CpuReading>,
    /// What monitor groups counted, by process.
    pub monitored: BTreeMap<Pid, Monitored>,
    /// Bytes that an LLC miss stands for if bytes are not counted. `None`: bandwidth is then not
    /// measured.
    pub bytes_per_miss: Option<u64>,
}

/// The counters of all CPUs at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuReading {
    /// Grows each time the counters are published. Nothing is measured between two readings with
    /// the same number.
    pub number: u64,
    /// The totals by CPU id, from 0.
    pub cpus: Vec<CpuTotals>,
}

/// What a CPU counted since its counters were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTotals {
    /// Nanoseconds in which it was busy.
    pub busy_ns: u64,
    /// Instructions retired.
    pub instructions: u64,
    /// CPU cycles.
    pub cycles: u64,
    /// References to the last-level cache.
    pub llc_references: u64,
    /// Misses of the last-level cache.
    pub llc_misses: u64,
    /// Bytes to and from memory.
    pub bytes: u64,
}

/// What the monitor groups of a process have counted.
///
/// A group that is changed or removed between two samples takes its count with it. Groups are
/// therefore read before each change, and this is the running total of what was read. It never goes
/// backwards while it is in consecutive samples, and begins at 0 when it appears. An interval in
/// which a group could not be read adds to the time enabled and not to the time running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Monitored {
    /// Bytes to and from memory.
    pub bytes: Count,
    /// The threads that the groups hold.
    pub threads: BTreeSet<Tid>,
}

impl CpuReading {
    /// What each CPU counted after an earlier reading. `None` for a CPU of which a counter ran
    /// backwards, and for all CPUs if nothing was published in between.
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<Vec<Option<CpuTotals>>> {
        let pairs = self.cpus.iter().zip(&before.cpus);
        (self.number != before.number).then(|| pairs.map(|(now, before)| now.since(before)).collect())
    }
}

impl CpuTotals {
    fn since(&self, before: &Self) -> Option<Self> {
        self.with(before, u64::checked_sub)
    }

    /// Combines each count with that of `other`; `None` if one of them cannot be combined.
    pub(crate) fn with(&self, other: &Self, made: impl Fn(u64, u64) -> Option<u64>) -> Option<Self> {
        Some(Self {
            busy_ns: made(self.busy_ns, other.busy_ns)?,
            instructions: made(self.instructions, other.instructions)?,
            cycles: made(self.cycles, other.cycles)?,
            llc_references: made(self.llc_references, other.llc_references)?,
            llc_misses: made(self.llc_misses, other.llc_misses)?,
            bytes: made(self.bytes, other.bytes)?,
        })
    }
}
