//! The measures by which schedules are compared (Divide&Content, section 2).
//!
//! All take slowdowns: completion time shared over alone, which is IPC alone over IPC shared; 1 is
//! undisturbed. The result is `None` for an empty slice, or if a value is not positive and finite.

use crate::num;
use serde::Serialize;

/// Unfairness, STP, ANTT and unfairness CoV of one workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Largest over smallest slowdown; 1 is fair.
    pub unfairness: f64,
    /// System throughput: the sum of 1/slowdown; at most the number of applications.
    pub stp: f64,
    /// Average normalised turnaround time: the mean slowdown.
    pub antt: f64,
    /// Coefficient of variation of the slowdowns: population standard deviation over mean.
    pub unfairness_cov: f64,
}

/// All four measures over one set of slowdowns.
#[must_use]
pub fn summary(slowdowns: &[f64]) -> Option<Summary> {
    let usable = !slowdowns.is_empty() && slowdowns.iter().all(|s| s.is_finite() && *s > 0.0);
    usable.then(|| {
        let count = num::float_len(slowdowns.len());
        let greatest = slowdowns.iter().copied().fold(f64::MIN, f64::max);
        let least = slowdowns.iter().copied().fold(f64::MAX, f64::min);
        let mean = slowdowns.iter().sum::<f64>() / count;
        let variance = slowdowns.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / count;
        Summary {
            unfairness: greatest / least,
            stp: slowdowns.iter().map(|s| 1.0 / s).sum(),
            antt: mean,
            unfairness_cov: variance.sqrt() / mean,
        }
    })
}

/// Slowdown from two rates of progress: instructions per cycle (or second) alone over shared.
/// `None` if either is not positive and finite.
#[must_use]
pub fn slowdown(alone: f64, shared: f64) -> Option<f64> {
    let usable = |rate: f64| rate.is_finite() && rate > 0.0;
    (usable(alone) && usable(shared)).then(|| alone / shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // Slowdowns 1, 2 and 3: mean 2, variance (1 + 0 + 1) / 3, throughput 1 + 1/2 + 1/3.
        let got = summary(&[1.0, 2.0, 3.0]).unwrap();
        assert!((got.unfairness - 3.0).abs() < 1e-12);
        assert!((got.stp - 11.0 / 6.0).abs() < 1e-12);
        assert!((got.antt - 2.0).abs() < 1e-12);
        assert!((got.unfairness_cov - (2.0f64 / 3.0).sqrt() / 2.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_measured_is_none_not_nan() {
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&[1.0, 0.0]), None);
        assert_eq!(summary(&[1.0, f64::NAN]), None);
        assert_eq!(slowdown(1.0, 0.0), None);
        assert_eq!(slowdown(1.0, 0.5), Some(2.0));
    }
}
