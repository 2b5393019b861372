//! What speed-ups of several programs amount to.

use isobar_model::math::ln;

/// What speed-ups amount to, each counting once: the sum of their logarithms.
#[must_use]
pub fn sum_of_logs(gains: &[f64]) -> f64 {
    gains.iter().map(|gain| ln(*gain)).sum()
}
