//! Logarithms and powers from plain arithmetic, so that a result is the same to the byte on any
//! machine. The functions of C libraries differ.

/// Natural logarithm of 2.
const LN_2: f64 = std::f64::consts::LN_2;
/// Coefficients of the series of the inverse hyperbolic tangent, in pairs.
const SERIES: [(f64, f64); 5] = [
    (1.0, 1.0 / 3.0),
    (1.0 / 5.0, 1.0 / 7.0),
    (1.0 / 9.0, 1.0 / 11.0),
    (1.0 / 13.0, 1.0 / 15.0),
    (1.0 / 17.0, 1.0 / 19.0),
];

/// Bits of a float below its exponent.
const FRACTION: u32 = 52;
/// The value as which the exponent of 1 is stored.
const ONE: u64 = 1023;

/// Natural logarithm of a positive number, to some 10^-15 of itself or of 1. Numbers below 1e-300,
/// 0 and negative numbers among them, count as 1e-300.
#[must_use]
pub fn ln(value: f64) -> f64 {
    let bits = value.max(1e-300).to_bits();
    let whole = bits >> FRACTION;
    // First between 1 and 2, then between the root of a half and that of 2.
    let mut rest = f64::from_bits(bits & ((1 << FRACTION) - 1) | ONE << FRACTION);
    let mut twos = isobar_model::num::float(whole) - isobar_model::num::float(ONE);
    if rest > std::f64::consts::SQRT_2 {
        (rest, twos) = (rest / 2.0, twos + 1.0);
    }
    // ln r = 2 artanh((r - 1) / (r + 1)), with an argument of at most 0.172.
    let z = (rest - 1.0) / (rest + 1.0);
    let square = z * z;
    let fourth = square * square;
    // Two sums side by side, because a CPU computes both in the time of one.
    let (even, odd) = SERIES
        .iter()
        .rev()
        .fold((0.0, 0.0), |(even, odd), (first, second)| (even * fourth + first, odd * fourth + second));
    twos * LN_2 + 2.0 * z * (even + square * odd)
}

/// `e` to the power of a number between -30 and 30; a number beyond counts as the nearer end.
#[must_use]
pub fn exp(power: f64) -> f64 {
    // The series is short for a 256th of the power; squaring eight times restores the power.
    let small = power.clamp(-30.0, 30.0) / 256.0;
    let series = (1..7).rev().fold(1.0, |sum, k| 1.0 + sum * small / f64::from(k));
    (0..8).fold(series, |value, _| value * value)
}

/// What speed-ups amount to with equal weights: the sum of their logarithms.
#[must_use]
pub fn sum_of_logs(gains: &[f64]) -> f64 {
    gains.iter().map(|gain| ln(*gain)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_library() {
        for value in [1e-12, 0.003, 0.7, 0.708, 0.9999, 1.0, 1.41, 1.42, 2.0, 7.0, 3e5, 2.5e9, 1e15] {
            assert!((ln(value) - f64::ln(value)).abs() < 1e-14 * f64::ln(value).abs().max(1.0), "{value}");
        }
        for power in [-20.0, -1.0, -0.01, 0.0, 0.3, 2.0, 15.0] {
            assert!((exp(power) / f64::exp(power) - 1.0).abs() < 1e-8, "{power}");
        }
        assert!([0.0, -1.0, 1e-310, f64::NAN].iter().all(|value| ln(*value) == ln(1e-300)) && ln(0.0) < -600.0);
        assert!(ln(f64::INFINITY).is_finite());
    }
}
