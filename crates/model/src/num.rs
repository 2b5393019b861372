//! The only places where numbers are converted with loss. Everywhere else in the workspace, lossy
//! casts are denied.

/// A count as a float. Counts above 2^53 lose their last bits; no rate needs them.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub const fn float(count: u64) -> f64 {
    count as f64
}

/// A length as a float (see [`float`]).
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub const fn float_len(length: usize) -> f64 {
    length as f64
}

/// The count nearest to a float: negative values and NaN become 0, values that are too large become
/// `u64::MAX`.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn round(value: f64) -> u64 {
    value.round() as u64
}

/// The largest count not above a float: negative values and NaN become 0, values that are too large
/// become `u64::MAX`.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn floor(value: f64) -> u64 {
    // For numbers that are not negative, the cast cuts off the same fraction as `floor`, without
    // the call.
    value as u64
}

/// A length or index as `u32`, saturating.
#[must_use]
pub fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// An id as an index; `usize` has at least 32 bits on every platform that isobar runs on.
#[must_use]
pub const fn index(id: u32) -> usize {
    id as usize
}

/// Splits a non-negative number into its whole and its fractional part; negative numbers and NaN
/// become 0.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
pub fn split(value: f64) -> (usize, f64) {
    let whole = value as usize; // truncates and saturates, NaN is 0: no call to `floor`
    (whole, (value.max(0.0) - whole as f64).max(0.0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn rounding_saturates_instead_of_wrapping() {
        assert_eq!(super::round(-3.0), 0);
        assert_eq!(super::round(f64::NAN), 0);
        assert_eq!(super::round(2.5), 3);
        assert_eq!(super::floor(2.9), 2);
        assert_eq!(super::round(f64::INFINITY), u64::MAX);
        assert_eq!([2.75, -3.5, f64::NAN].map(super::split), [(2, 0.75), (0, 0.0), (0, 0.0)]);
    }
}
