//! How much the sensors measure, and which events perf counts.

use super::accessed::AccessedBy;

/// Which events perf counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterSource {
    /// Hardware events, by CPU family.
    #[default]
    Auto,
    /// The stand-in for tests: task clock, CPU clock and page faults. Never chosen by itself.
    Software,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensorOptions {
    /// Maximum number of threads with counters, the busiest first.
    pub max_threads: usize,
    /// Which events perf counts.
    pub counters: CounterSource,
    /// How accessed pages are seen, where they are asked for.
    pub accessed_pages: AccessedBy,
    /// The pages of a process are read in one of this number of samples.
    pub pages_every: u32,
    /// They are read more often where all these readings together take less than this part of the
    /// time between two samples, and 50 times of it for processes that are new; 0: not.
    pub pages_budget: f64,
    /// Pages are read of processes that used at least this share of one CPU since the last sample;
    /// 0: of all.
    pub min_cpu_share_for_pages: f64,
    /// Descriptors left to others.
    pub descriptor_reserve: usize,
    /// Takes the place of the process's descriptor limit, which is then not raised; for tests.
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
