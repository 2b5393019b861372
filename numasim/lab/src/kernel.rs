//! Scales constants of the guest's kernel: times, and sizes that follow the caches, as far as they
//! can be set while the kernel runs. A scaled machine runs at a twentieth of the speed, but the
//! kernel's clock does not, so an unchanged kernel ticks, scans and balances twenty times too often
//! for the work that is done. When scaled, each constant spans as much work as on the real machine.
//! The guest's first process reads the kernel's own values and multiplies them (guest/init).
//!
//! The tick (250 per second) is not scaled, because no setting changes it. The same holds for
//! whatever counts in ticks, such as the periods of load balancing (`sched_domain` in
//! kernel/sched/topology.c) and RCU's.

use numasim_model::Spec;
use std::fmt::Write;

/// The file in which the guest looks for the lines.
pub const FILE: &str = "/etc/kernel.scale";

/// Times: the slice of a thread, how long a thread counts as cache-hot after it ran, NUMA balancing
/// (kernel/sched/debug.c, fair.c), the bandwidth slice, and the intervals of memory statistics,
/// writeback and khugepaged.
const TIMES: [&str; 10] = [
    "/sys/kernel/debug/sched/base_slice_ns",
    "/sys/kernel/debug/sched/migration_cost_ns",
    "/sys/kernel/debug/sched/numa_balancing/scan_delay_ms",
    "/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
    "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms",
    "/sys/kernel/debug/sched/numa_balancing/hot_threshold_ms",
    "/proc/sys/kernel/sched_cfs_bandwidth_slice_us",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/dirty_writeback_centisecs",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
];
/// Sizes: the memory that NUMA balancing scans at a time. Footprints are divided like caches.
const SIZES: [&str; 1] = ["/sys/kernel/debug/sched/numa_balancing/scan_size_mb"];

/// One line for each constant: its path, and the numbers to multiply it by and to divide it by.
#[must_use]
pub fn lines(spec: &Spec) -> String {
    let thousandths = |scale: f64| numasim_model::num::round(scale * 1000.0).max(1);
    let mut text = String::new();
    TIMES.iter().for_each(|path| _ = writeln!(text, "{path} {} 1000", thousandths(spec.time_scale)));
    SIZES.iter().for_each(|path| _ = writeln!(text, "{path} 1000 {}", thousandths(spec.cache_scale)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Scale;

    #[test]
    fn times_grow_with_the_time_and_sizes_shrink_with_the_caches() {
        let scale = Scale { time: 12.5, ..Scale::default() };
        let text = lines(&crate::machine::scaled("nehalem-2x4", scale).unwrap());
        assert!(
            text.contains("sched/base_slice_ns 12500 1000\n") && text.contains("scan_size_mb 1000 16000\n"),
            "{text}"
        );
        assert_eq!(text.lines().count(), TIMES.len() + SIZES.len());
    }
}
