//! Times loads: by the CPU's own counter if its rate is constant, otherwise by the kernel's clock.
//! This file knows how ticks become nanoseconds, and nothing of loads.

use super::instructions::{SUPPORTED, counter};
use crate::kernel::clock;
use crate::kernel::proc_fs::read_text;
use isobar_model::num;
use rustix::time::ClockId;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

/// How long one of the two calibrations takes.
const CALIBRATION: Duration = Duration::from_millis(10);

/// If two calibrations differ by more than this fraction, the counter follows the CPU's frequency.
const TOLERANCE: f64 = 0.01;

/// Ticks longer than this (ns) cannot separate one load from another, so the loads of a page are
/// timed together.
const FINE: f64 = 2.0;

/// The source of time, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timer {
    /// The CPU's counter.
    Counter {
        /// ticks in a nanosecond
        per_ns: f64,
        /// whether they are cycles of the time-stamp counter, which the papers count in
        cycles: bool,
    },
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    Clock,
}

impl Timer {
    /// The timer of this machine. The first call calibrates the counter, which takes 20 ms.
    pub fn here() -> Self {
        static FOUND: OnceLock<Timer> = OnceLock::new();
        *FOUND.get_or_init(|| {
            let rate = if is_constant() { agreed(rate(), rate()) } else { None };
            rate.map_or(Self::Clock, |per_ns| Self::Counter { per_ns, cycles: cfg!(target_arch = "x86_64") })
        })
    }

    /// The time now, when all earlier loads are done.
    #[inline(always)]
    pub fn now(self) -> u64 {
        match self {
            Self::Counter { .. } => counter(),
            Self::Clock => nanoseconds(ClockId::Monotonic),
        }
    }

    /// Ticks as nanoseconds.
    pub fn ns(self, ticks: f64) -> f64 {
        match self {
            Self::Counter { per_ns, .. } => ticks / per_ns,
            Self::Clock => ticks,
        }
    }

    /// Nanoseconds as cycles, if ticks are cycles.
    pub fn cycles(self, ns: f64) -> Option<f64> {
        match self {
            Self::Counter { per_ns, cycles: true } => Some(ns * per_ns),
            _ => None,
        }
    }

    /// Whether a tick is short enough to time a single load. A cycle always is, however slow the
    /// processor (a cycle of an emulated machine may take 10 ns).
    pub fn is_fine(self) -> bool {
        matches!(self, Self::Counter { per_ns, cycles } if cycles || per_ns * FINE >= 1.0)
    }
}

/// Whether the kernel trusts the counter: it takes an unstable time-stamp counter off the list of
/// clock sources. Arm's counter is constant by its architecture.
fn is_constant() -> bool {
    const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let listed = || read_text(SOURCES).is_some_and(|sources| sources.split_whitespace().any(|name| name == "tsc"));
    SUPPORTED && (cfg!(target_arch = "aarch64") || listed())
}

/// The mean of two rates that agree.
fn agreed(one: f64, other: f64) -> Option<f64> {
    let mean = f64::midpoint(one, other);
    (mean > 0.0 && (one - other).abs() <= TOLERANCE * mean).then_some(mean)
}

/// Ticks of the counter in a nanosecond of `CLOCK_MONOTONIC_RAW`, which is never slewed.
fn rate() -> f64 {
    let (first, began) = stamps();
    sleep(CALIBRATION);
    let (second, ended) = stamps();
    num::float(second.saturating_sub(first)) / num::float(ended.saturating_sub(began).max(1))
}

/// Counter and clock at one moment: the closest of five pairs of readings.
fn stamps() -> (u64, u64) {
    let pair = |_| {
        let before = counter();
        let clock = nanoseconds(ClockId::MonotonicRaw);
        let gap = counter().saturating_sub(before);
        (gap, (before.saturating_add(gap / 2), clock))
    };
    (0..5).map(pair).min_by_key(|(gap, _)| *gap).map_or((0, 0), |(_, stamps)| stamps)
}

fn nanoseconds(id: ClockId) -> u64 {
    u64::try_from(clock::now(id).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_must_agree_within_a_hundredth() {
        assert_eq!(agreed(2.5, 2.5), Some(2.5));
        assert_eq!(agreed(2.5, 2.52), Some(2.51), "0.02 is 0.8 % of 2.51");
        assert_eq!((agreed(2.5, 2.6), agreed(0.0, 0.0)), (None, None));
    }

    #[test]
    fn ticks_become_time_and_cycles() {
        let tsc = Timer::Counter { per_ns: 2.5, cycles: true };
        assert_eq!((tsc.ns(250.0), tsc.cycles(100.0), tsc.is_fine()), (100.0, Some(250.0), true));
        // Arm servers count 25 to 1000 MHz: 40 to 1 ns.
        let arm = Timer::Counter { per_ns: 0.025, cycles: false };
        assert_eq!((arm.ns(2.0), arm.cycles(80.0), arm.is_fine()), (80.0, None, false));
        assert_eq!((Timer::Clock.ns(7.0), Timer::Clock.cycles(7.0), Timer::Clock.is_fine()), (7.0, None, false));
    }

    #[test]
    fn a_pause_takes_as_long_by_this_machines_timer_as_by_the_clock() {
        let (timer, clock) = (Timer::here(), std::time::Instant::now());
        let ticks = timer.now();
        sleep(Duration::from_millis(20));
        let timed = timer.ns(num::float(timer.now() - ticks)) / 1e6;
        let truth = clock.elapsed().as_secs_f64() * 1e3;
        assert!(timed >= 19.5 && timed <= truth * 1.02, "{timed} ms by the timer, {truth} ms by the clock: {timer:?}");
    }
}
