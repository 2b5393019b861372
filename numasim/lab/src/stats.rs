//! Medians, fairness of slowdowns, and confidence intervals of ratios. Repeats are paired: both
//! times of a ratio come from the same boot. The logarithms of the ratios are assumed to be
//! normally distributed (times are products of many small effects), so the interval is Student's t
//! on these logarithms. Fewer than two pairs have no interval.

use numasim_model::num;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::Statistics;

/// A ratio of paired times, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Geometric mean of the ratios.
    pub mean: f64,
    /// The 95 % confidence interval of that mean; `None` for fewer than two pairs.
    pub interval_95: Option<(f64, f64)>,
    /// Number of pairs.
    pub pairs: usize,
}

/// What a ratio of completion times shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is below 1.
    Sooner,
    /// The whole interval is above 1.
    Later,
    /// 1 is in the interval, or there is no interval.
    NotShown,
}

/// How evenly programs are slowed down. A slowdown is a completion time together over the time
/// alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// Greatest over least slowdown; 1 is fair.
    pub unfairness: f64,
    /// System throughput: the sum of 1/slowdown; the number of jobs if none is slowed down.
    pub stp: f64,
    /// Average normalised turnaround time: the mean slowdown over jobs, in which those that are
    /// slowed down most weigh most.
    pub antt: f64,
    /// Coefficient of variation: population standard deviation over mean.
    pub unfairness_cov: f64,
}

/// The fairness of slowdowns; `None` if there are none, or if one is not finite and above 0.
#[must_use]
pub fn fairness(slowdowns: &[f64]) -> Option<Fairness> {
    let usable = !slowdowns.is_empty() && slowdowns.iter().all(|slowdown| slowdown.is_finite() && *slowdown > 0.0);
    let antt = slowdowns.mean();
    usable.then(|| Fairness {
        unfairness: slowdowns.max() / slowdowns.min(),
        stp: slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum(),
        antt,
        unfairness_cov: slowdowns.population_std_dev() / antt,
    })
}

/// The middle value, or the mean of the two middle values of an even number; `None` if there are no
/// values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// The ratio over pairs `(value, baseline)`; `None` if there is no pair, or if a value is not above
/// 0.
#[must_use]
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Ratio> {
    let logs: Vec<f64> = pairs.iter().map(|(value, baseline)| (value / baseline).ln()).collect();
    if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    let count = num::float_len(logs.len());
    let mean = logs.iter().sum::<f64>() / count;
    let interval = half_width_95(&logs).map(|half| ((mean - half).exp(), (mean + half).exp()));
    Some(Ratio { mean: mean.exp(), interval_95: interval, pairs: pairs.len() })
}

/// Half the width of the 95 % confidence interval of the mean: `t * s / sqrt(n)`, with the 97.5 %
/// point of Student's t of `n - 1` degrees of freedom and the sample standard deviation. `None` for
/// fewer than two values.
fn half_width_95(values: &[f64]) -> Option<f64> {
    let count = num::float_len(values.len());
    let student = StudentsT::new(0.0, 1.0, count - 1.0).ok().filter(|_| values.len() > 1)?;
    Some(student.inverse_cdf(0.975) * values.std_dev() / count.sqrt())
}

impl Ratio {
    /// How far the interval goes beyond the mean, in per cent of the mean, on its wider side.
    /// `None` if there is no interval.
    #[must_use]
    pub fn half_width_percent(self) -> Option<f64> {
        self.interval_95.map(|(_, high)| (high / self.mean - 1.0) * 100.0)
    }

    /// What the ratio shows about completion times.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        match self.interval_95 {
            Some((_, high)) if high < 1.0 => Verdict::Sooner,
            Some((low, _)) if low > 1.0 => Verdict::Later,
            _ => Verdict::NotShown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_by_hand() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    /// Slowdowns 1, 2 and 3: mean 2, variance (1 + 0 + 1) / 3, throughput 1 + 1/2 + 1/3.
    #[test]
    fn fairness_by_hand() {
        let got = fairness(&[1.0, 2.0, 3.0]).unwrap();
        assert!((got.unfairness - 3.0).abs() < 1e-12 && (got.stp - 11.0 / 6.0).abs() < 1e-12, "{got:?}");
        assert!((got.antt - 2.0).abs() < 1e-12, "{got:?}");
        assert!((got.unfairness_cov - (2.0f64 / 3.0).sqrt() / 2.0).abs() < 1e-12, "{got:?}");
        assert_eq!([fairness(&[]), fairness(&[1.0, 0.0]), fairness(&[1.0, f64::NAN])], [None; 3]);
    }

    /// Logarithms of 1/2, 1/2 and 1/4: mean -0.9242 (0.3969), s = 0.4002, t of 2 degrees of freedom
    /// 4.3027, so the half width is 0.9941.
    #[test]
    fn a_ratio_by_hand() {
        let got = ratio(&[(1.0, 2.0), (2.0, 4.0), (1.0, 4.0)]).unwrap();
        assert!((got.mean - 0.396_85).abs() < 1e-4, "{got:?}");
        let (low, high) = got.interval_95.unwrap();
        assert!((low - 0.1469).abs() < 1e-3 && (high - 1.0725).abs() < 2e-3, "{got:?}");
        assert_eq!(got.verdict(), Verdict::NotShown);
        let half = got.half_width_percent().unwrap();
        assert!((half - (0.994_1f64.exp() - 1.0) * 100.0).abs() < 0.1, "{half}");
    }

    #[test]
    fn equal_ratios_leave_no_doubt_and_one_pair_leaves_all() {
        let sure = ratio(&[(1.0, 2.0), (2.0, 4.0)]).unwrap();
        assert_eq!(sure.verdict(), Verdict::Sooner);
        assert_eq!(ratio(&[(4.0, 2.0), (8.0, 4.0)]).unwrap().verdict(), Verdict::Later);
        let one = ratio(&[(1.0, 2.0)]).unwrap();
        assert_eq!((one.interval_95, one.verdict()), (None, Verdict::NotShown));
        assert_eq!((one.half_width_percent(), sure.half_width_percent()), (None, Some(0.0)));
        assert_eq!(ratio(&[]), None);
        assert_eq!(ratio(&[(0.0, 1.0)]), None);
        assert_eq!(ratio(&[(f64::NAN, 1.0)]), None);
    }
}
