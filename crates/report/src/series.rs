//! Figures over time, as means over spans of equal length, because a chart has no more columns than
//! a screen.

use serde::{Serialize, Serializer};

/// Maximum number of spans.
pub const BUCKETS: u64 = 300;

/// Maps epochs to spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    first: u64,
    /// Epochs per span.
    each: u64,
}

impl Spans {
    /// For the epochs from `first` to `last`.
    pub const fn over(first: u64, last: u64) -> Self {
        let epochs = last.saturating_sub(first) + 1;
        Self { first, each: epochs.div_ceil(BUCKETS) }
    }

    /// The span of an epoch.
    pub fn of(self, epoch: u64) -> usize {
        usize::try_from(epoch.saturating_sub(self.first) / self.each).unwrap_or(usize::MAX)
    }
}

/// Means by span; a span without figures has no mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series(Vec<(f64, u32)>);

impl Series {
    /// Adds a figure to a span.
    pub fn add(&mut self, span: usize, figure: Option<f64>) {
        let Some(figure) = figure.filter(|figure| figure.is_finite()) else { return };
        if self.0.len() <= span {
            self.0.resize(span + 1, (0.0, 0));
        }
        let (sum, count) = &mut self.0[span];
        *sum += figure;
        *count += 1;
    }

    /// The mean over all figures, with equal weights.
    pub fn mean(&self) -> Option<f64> {
        let (sum, count) = self.0.iter().fold((0.0, 0), |(sum, count), (s, c)| (sum + s, count + c));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// The sum of all figures.
    pub fn sum(&self) -> f64 {
        self.0.iter().map(|(sum, _)| sum).sum()
    }

    /// The largest mean of a span.
    pub fn greatest(&self) -> Option<f64> {
        self.means().flatten().max_by(f64::total_cmp)
    }

    fn means(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.0.iter().map(|(sum, count)| (*count > 0).then(|| sum / f64::from(*count)))
    }
}

/// A figure rounded to the four digits that a chart shows.
pub fn brief(figure: f64) -> f64 {
    // The shortest decimal text with four digits, read back.
    format!("{figure:.3e}").parse().unwrap_or(figure)
}

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.means().map(|mean| mean.map(brief)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_share_spans_where_there_are_many() {
        let few = Spans::over(1, 60);
        assert_eq!((few.of(1), few.of(60)), (0, 59));
        // 3600 epochs in 300 spans of 12.
        let many = Spans::over(1, 3600);
        assert_eq!((many.of(12), many.of(13), many.of(3600)), (0, 1, 299));
    }

    #[test]
    fn a_span_is_the_mean_of_its_figures_and_none_where_there_is_none() {
        let mut series = Series::default();
        for (span, figure) in [(0, Some(1.0)), (0, Some(2.0)), (2, Some(0.123_456)), (2, None)] {
            series.add(span, figure);
        }
        assert_eq!(serde_json::to_string(&series).unwrap(), "[1.5,null,0.1235]");
        assert_eq!((series.mean(), series.greatest()), (Some(3.123_456 / 3.0), Some(1.5)));
        assert_eq!((brief(123_456.0), brief(0.0)), (123_500.0, 0.0));
    }
}
