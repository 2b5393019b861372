//! Rank correlation.

use statrs::statistics::{Data, OrderStatistics, RankTieBreaker, Statistics};

/// Spearman's rank correlation. Equal values share the mean of their ranks.
pub(crate) fn rank_correlation(pairs: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    correlation(&ranks(a), &ranks(b))
}

fn ranks(values: Vec<f64>) -> Vec<f64> {
    Data::new(values).ranks(RankTieBreaker::Average)
}

fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let spread = a.std_dev() * b.std_dev();
    (spread > 0.0).then(|| a.covariance(b) / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5) = 0.9487.
    #[test]
    fn ranks_are_shared_among_equals() {
        assert_eq!(ranks(vec![3.0, 5.0, 5.0, 9.0]), [1.0, 2.5, 2.5, 4.0]);
        let found = rank_correlation([(3.0, 1.0), (5.0, 2.0), (5.0, 3.0), (9.0, 4.0)].into_iter()).unwrap();
        assert!((found - 0.9487).abs() < 1e-4, "{found}");
        assert_eq!(rank_correlation([(1.0, 1.0), (1.0, 2.0)].into_iter()), None);
    }
}
