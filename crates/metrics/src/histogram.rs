//! A histogram with fixed bounds, as plain data.

/// Counts by size. The last bucket has no upper bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    bounds: &'static [f64],
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    /// An empty histogram with ascending upper bounds.
    #[must_use]
    pub fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    /// Counts a value; a value that is not finite is ignored.
    pub fn observe(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let at = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
            self.sum += value;
        }
    }

    /// Number of values counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of the values.
    #[must_use]
    pub const fn sum(&self) -> f64 {
        self.sum
    }

    /// Upper bounds, the last one infinite, each with the number of values in this bucket alone.
    #[must_use]
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        self.bounds.iter().copied().chain([f64::INFINITY]).zip(self.counts.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let mut histogram = Histogram::new(&[1.0, 2.0]);
        [0.5, 1.0, 1.5, 9.0, f64::NAN].iter().for_each(|value| histogram.observe(*value));
        assert_eq!(histogram.buckets(), [(1.0, 2), (2.0, 1), (f64::INFINITY, 1)]);
        assert_eq!((histogram.count(), histogram.sum()), (4, 12.0));
    }
}
