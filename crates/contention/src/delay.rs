//! Shares of memory bandwidth, in the way that processors with memory-bandwidth allocation give
//! them to a core: a controller between its private caches and the rest of the socket delays its
//! requests by a value that software sets (Intel SDM volume 3, "Memory Bandwidth Allocation"; the
//! kernel's `Documentation/filesystems/resctrl.rst`). The delay applies to each request, so a core
//! that seldom sends requests hardly notices it, and a core that sends them as fast as it can gets
//! the share. Lines that the last-level cache holds pass that controller as well; the model delays
//! only those from memory.

/// Lines that a core can have in flight to memory: the capacity of the line-fill buffers of current
/// cores (10 to 16).
const IN_FLIGHT: f64 = 12.0;

/// Seconds by which each line is delayed if a thread may take `percent` of the memory bandwidth of
/// a core and the nearest memory, when idle, answers after `idle` seconds. A core that does nothing
/// else reads a line in `idle / 12`, and with the delay in `100 / percent` times that time.
#[must_use]
pub fn delay(percent: u32, idle: f64) -> f64 {
    idle / IN_FLIGHT * (100.0 / f64::from(percent.clamp(1, 100)) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 84 ns and 12 lines in flight are 7 ns per line; at a quarter of the bandwidth, 28.
    #[test]
    fn a_core_that_only_reads_gets_its_share() {
        assert!((delay(25, 84e-9) - 21e-9).abs() < 1e-15);
        assert_eq!(delay(100, 84e-9), 0.0);
    }
}
