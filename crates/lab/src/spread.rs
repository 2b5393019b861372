//! How much a measure varies: the least and the greatest run, and the 95 % confidence interval of
//! the mean over repeats by Student's t.
//!
//! Repeats are independent (each has its own seed), and their mean is close to normal for the few
//! per cent by which runs differ; with fewer than two repeats there is no interval. If every
//! schedule is evaluated, the mean over schedules is exact, not sampled. Repeats then differ only
//! in what the seed still decides, which is often nothing.

use crate::stats::bounds;
use isobar_model::num;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The spread of one measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Least of all runs.
    pub min: f64,
    /// Greatest of all runs.
    pub max: f64,
    /// The mean lies within this distance of the mean over the repeats with 95 % confidence; `None`
    /// for fewer than two repeats.
    pub half_width_95: Option<f64>,
}

/// The spread over runs, with the interval over the mean of each repeat. `None` if there are no
/// runs.
pub(crate) fn spread(runs: impl IntoIterator<Item = f64>, repeats: &[f64]) -> Option<Spread> {
    bounds(runs).map(|(min, max)| Spread { min, max, half_width_95: half_width_95(repeats) })
}

/// `t * s / sqrt(n)`, with the 97.5 % point of Student's t of `n - 1` degrees of freedom and the
/// sample standard deviation: the mean lies within this distance of the values' mean with 95 %
/// confidence. `None` for fewer than two values.
#[must_use]
pub fn half_width_95(values: &[f64]) -> Option<f64> {
    let count = num::float_len(values.len());
    let student = StudentsT::new(0.0, 1.0, count - 1.0).ok().filter(|_| values.len() > 1)?;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0);
    Some(student.inverse_cdf(0.975) * (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 3, 4: s = 1.2910, t of 3 degrees = 3.1824, so 3.1824 * 1.2910 / 2 = 2.0543.
    #[test]
    fn worked_by_hand() {
        let got = spread([0.5, 4.5, 2.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((got.min, got.max), (0.5, 4.5));
        assert!((got.half_width_95.unwrap() - 2.0543).abs() < 1e-4, "{got:?}");
    }

    #[test]
    fn one_repeat_has_no_interval_and_equal_ones_a_narrow_one() {
        assert_eq!(spread([1.0], &[1.0]).unwrap().half_width_95, None);
        assert_eq!(spread([1.0, 1.0], &[1.0, 1.0]).unwrap().half_width_95, Some(0.0));
        assert_eq!(spread([], &[]), None);
    }
}
