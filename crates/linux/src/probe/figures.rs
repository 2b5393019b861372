//! The statistics of one round of probing one pair of nodes. Pure.

use isobar_model::num;

/// A sample beyond this multiple of the median was interrupted. An interrupt takes microseconds,
/// and no load on a congested machine takes eight times as long as most loads (the paper's worst
/// are 2.5 times the idle latency). Loads are congested together, so the median moves with them.
const INTERRUPTED: f64 = 8.0;

/// Times that differ by less (in ns, or in ticks) count as equal: conversion leaves rounding
/// errors.
const SAME: f64 = 1e-6;

/// With fewer samples than this there is no result.
const LEAST: usize = 5;

/// How long the loads of one round took, from the CPUs of one node to the memory of one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The median, in ns.
    pub median_ns: f64,
    /// The 95th percentile, in ns.
    pub p95_ns: f64,
    /// The median in cycles of the time-stamp counter, if there is one with a constant rate.
    pub median_cycles: Option<f64>,
    /// Number of samples that count.
    pub kept: usize,
    /// Number of samples that were interrupted: by a context switch, because they ended on another
    /// CPU than they began on, or because they exceeded the limit.
    pub dropped: usize,
}

/// The figures of some times, in ns; `interrupted` samples were dropped before. `None` if too few
/// are left, or if the times are zero.
pub fn figures(times: &mut Vec<f64>, interrupted: usize) -> Option<Figures> {
    times.sort_unstable_by(f64::total_cmp);
    let all = times.len();
    let bound = median(times)? * INTERRUPTED;
    times.truncate(times.partition_point(|time| *time <= bound));
    let (median_ns, p95_ns) = (median(times)?, percentile(times, 95)?);
    let dropped = interrupted + all - times.len();
    let sound = times.len() >= LEAST && median_ns > 0.0;
    sound.then_some(Figures { median_ns, p95_ns, median_cycles: None, kept: times.len(), dropped })
}

/// The median of ascending values that a coarse timer has rounded. AMD's counter advances by 10 ns
/// at a time, and a plain median would, too. The values that equal the median are taken to be
/// spread evenly over one step of the timer around it (the median of grouped data), where a step is
/// the least difference of two values. With a fine timer this is the plain median.
pub fn median(ascending: &[f64]) -> Option<f64> {
    let middle = *ascending.get(ascending.len() / 2)?;
    let differences = ascending.windows(2).map(|pair| pair[1] - pair[0]);
    let step = differences.filter(|step| *step > SAME).min_by(f64::total_cmp).unwrap_or_default();
    let below = ascending.partition_point(|value| *value < middle - SAME);
    let equal = ascending.partition_point(|value| *value <= middle + SAME) - below;
    let half = num::float_len(ascending.len()) / 2.0;
    let part = (half - num::float_len(below)) / num::float_len(equal);
    Some((part - 0.5).mul_add(step, middle))
}

/// The least value that `percent` per cent do not exceed (nearest rank).
fn percentile(ascending: &[f64], percent: usize) -> Option<f64> {
    let rank = (ascending.len() * percent).div_ceil(100);
    ascending.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_percentile_on_paper() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        // The middle is 4, one of four: half of them lie below 3.5, where its step of 1 begins.
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.5));
        // Steps of 10: one value is below, and four at 130 reach from 125 to 135. The third of six
        // values is the second of these four.
        assert_eq!(median(&[120.0, 130.0, 130.0, 130.0, 130.0, 150.0]), Some(130.0));
        assert_eq!(median(&[130.0, 130.0, 130.0, 130.0, 140.0]), Some(131.25), "2.5 of 4 from 125 to 135");
        assert_eq!(median(&[130.0, 140.0, 140.0, 140.0, 140.0]), Some(138.75), "1.5 of 4 from 135 to 145");
        // 95 % of 20 values are 19 values.
        let twenty: Vec<f64> = (1..=20_u32).map(f64::from).collect();
        assert_eq!(percentile(&twenty, 95), Some(19.0));
        assert_eq!(percentile(&twenty[..10], 95), Some(10.0), "9.5 values are 10");
    }

    #[test]
    fn an_interrupt_is_dropped_and_a_slow_load_is_not() {
        // The median is 100, so the limit is 800.
        let mut times = vec![90.0, 95.0, 100.0, 105.0, 790.0, 3000.0, 100.0];
        let found = figures(&mut times, 8).unwrap();
        assert_eq!((found.kept, found.dropped), (6, 9));
        // Half of six values are three: two lie below 100, and the third is in the middle of the
        // two at 100.
        assert_eq!((found.median_ns, found.p95_ns), (100.0, 790.0));
    }

    #[test]
    fn few_samples_and_no_times_are_no_figure() {
        assert_eq!(figures(&mut vec![100.0; 4], 0), None);
        assert_eq!(figures(&mut vec![0.0; 40], 0), None, "the timer stands");
        assert_eq!(figures(&mut Vec::new(), 160), None);
    }
}
