//! Options of the sensors: how much they measure, and which events perf counts.

use super::accessed::AccessedBy;

/// Which events perf counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterSource {
    /// Hardware events, by CPU family.
    #[default]
    Auto,
    /// The stand-in for tests: task clock, CPU clock and page faults. Never chosen automatically.
    Software,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensorOptions {
    /// Maximum number of threads with counters, the busiest first.
    pub max_threads: usize,
    /// Which events perf counts.
    pub counters: CounterSource,
    /// How accessed pages are seen, if they are asked for.
    pub accessed_pages: AccessedBy,
    /// The pages of a process are read in one of this number of samples.
    pub pages_every: u32,
    /// Pages are read more often as long as all readings of a sample together take less than this
    /// fraction of the time between two samples, or 50 times that for processes that are new; 0:
    /// never.
    pub pages_budget: f64,
    /// Pages are read of processes that used at least this fraction of one CPU since the last
    /// sample; 0: of all.
    pub min_cpu_share_for_pages: f64,
    /// Descriptors left for other uses.
    pub descriptor_reserve: usize,
    /// Replaces the process's descriptor limit, which is then not raised; for tests.
    pub descriptor_limit: Option<u64>,
}

impl Default for SensorOptions {
    fn default() -> Self {
        Self {
            max_threads: 2048,
            counters: CounterSource::Auto,
            accessed_pages: AccessedBy::Any,
            pages_every: 5,
            pages_budget: 0.001,
            min_cpu_share_for_pages: 0.05,
            descriptor_reserve: 128,
            descriptor_limit: None,
        }
    }
}
