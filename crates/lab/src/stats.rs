//! Means and bounds of a few values, for rows and claims.

use isobar_model::num;

/// The mean; `None` if there are no values.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / num::float(count))
}

/// The mean; 0 if there are no values.
pub(crate) fn mean_or_zero(values: impl IntoIterator<Item = f64>) -> f64 {
    mean(values).unwrap_or_default()
}

/// The least and the greatest value; `None` if there are no values.
pub(crate) fn bounds(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().fold(None, |seen: Option<(f64, f64)>, value| {
        let (least, most) = seen.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        assert_eq!((bounds([]), bounds([3.0, -1.0, 2.0])), (None, Some((-1.0, 3.0))));
        assert_eq!((mean([]), mean([1.0, 2.0, 6.0]), mean_or_zero([])), (None, Some(3.0), 0.0));
    }
}
