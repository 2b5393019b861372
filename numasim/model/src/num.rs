//! The only places in numasim's machine and laboratory where numeric conversions may lose
//! information.

/// A count as a float. Counts above 2^53 lose their last bits; no rate needs them.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub const fn float(count: u64) -> f64 {
    count as f64
}

/// The nearest count to a float: negative and NaN become 0, too large becomes `u64::MAX`.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn round(value: f64) -> u64 {
    value.round() as u64
}

/// A number as an index, on machines whose `usize` has 64 bits (those that emulate a guest). On
/// other machines only the low bits remain; either the bounds check of the slice then refuses the
/// index, or it was masked before.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
#[inline]
pub fn index(value: impl Into<u64>) -> usize {
    value.into() as usize
}

/// A length as a float (see [`float`]).
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub const fn float_len(length: usize) -> f64 {
    length as f64
}

/// A length or index as `u32`, saturating.
#[must_use]
pub fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The low 32 bits.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
#[inline]
pub(crate) const fn low(value: u64) -> u32 {
    value as u32
}

/// The high half of a product.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
#[inline]
pub(crate) const fn high_half(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64
}
