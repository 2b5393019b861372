//! Event counts as the kernel gives them: raw and cumulative, with the time that they cover.

use crate::num;
use serde::{Deserialize, Serialize};

/// Event counters of a thread since they were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions retired, without the kernel's if the sensor can tell them apart.
    pub instructions: Option<Count>,
    /// CPU cycles.
    pub cycles: Option<Count>,
    /// References to the last-level cache.
    pub llc_references: Option<Count>,
    /// Misses of the last-level cache.
    pub llc_misses: Option<Count>,
    /// Those of them that another last-level cache answered.
    pub cache_transfers: Option<Count>,
    /// Bytes moved to and from memory.
    pub bytes: Option<Count>,
}

/// A raw event count with the time that it covers. An event that shares its hardware counter with
/// others runs for only a part of the time in which it is enabled (`perf_event_open(2)`,
/// `PERF_FORMAT_TOTAL_TIME_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Events counted.
    pub value: u64,
    /// Nanoseconds enabled.
    pub enabled: u64,
    /// Nanoseconds on a hardware counter.
    pub running: u64,
}

impl Count {
    /// A count that was measured all the time.
    #[must_use]
    pub const fn whole(value: u64, time_ns: u64) -> Self {
        Self { value, enabled: time_ns, running: time_ns }
    }

    /// Events since an earlier reading of the same counter, scaled up to the time in which it was
    /// enabled. `None` if the counter ran backwards, or was enabled and never ran. A counter whose
    /// thread never ran counts 0.
    #[must_use]
    pub fn since(self, old: Self) -> Option<u64> {
        let value = self.value.checked_sub(old.value)?;
        let enabled = self.enabled.checked_sub(old.enabled)?;
        let running = self.running.checked_sub(old.running)?;
        match (enabled, running) {
            (0, _) => Some(value),
            (_, 0) => None,
            _ if running >= enabled => Some(value),
            _ => Some(num::round(num::float(value) * num::float(enabled) / num::float(running))),
        }
    }
}
