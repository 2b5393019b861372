//! How much longer lines stay that are found again.
//!
//! Under LRU a line stays for `T` seconds after it was **last** looked for. Let a stream look for
//! each of its `F` lines equally often, `l` times a second. It holds a line with probability
//! `1 - exp(-l T)` and misses a part `u = exp(-l T)` of what it looks for (Che's approximation: Che,
//! Tung and Wang, IEEE J. Sel. Areas Commun. 20, 2002). It inserts `b = F l u` lines a second and
//! holds
//!
//! ```text
//! x = F (1 - u) = T b / q(u)     q(u) = -u ln u / (1 - u)
//! ```
//!
//! which is `T b` for one that finds nothing, and 12.5 times as much for one that misses a 50th of its looks.

use isobar_model::math::ln;

/// The least part of looks that is taken to be missed.
const FEWEST: f64 = 1e-4;
/// Below this part that is found, the series of `q` has the digits that the logarithm lost.
const HARDLY: f64 = 1e-4;

/// `q` and its slope, where a part `missed` of what is looked for is missed.
pub(crate) fn inserted_part(missed: f64) -> (f64, f64) {
    if missed >= 1.0 {
        return (1.0, 0.0);
    }
    let (missed, rises) = if missed > FEWEST { (missed, 1.0) } else { (FEWEST, 0.0) };
    let found = 1.0 - missed;
    if found < HARDLY {
        return (1.0 - found / 2.0 - found * found / 6.0, 0.5 + found / 3.0);
    }
    let log = -ln(missed);
    (missed * log / found, rises * (log - found) / (found * found))
}

#[cfg(test)]
mod tests {
    use super::inserted_part;

    /// Of 1, a half and a 50th: 1, ln 2 and 0.02 * 3.912 / 0.98.
    #[test]
    fn it_is_what_stays_longer() {
        for (missed, part) in [(1.0, 1.0), (2.0, 1.0), (0.5, 0.693_147_18), (0.02, 0.079_837), (0.0, 9.211e-4)] {
            assert!((inserted_part(missed).0 / part - 1.0).abs() < 1e-4, "{missed}: {:?}", inserted_part(missed));
        }
    }

    #[test]
    fn the_slope_is_its_own_and_no_piece_jumps() {
        for missed in [0.001, 0.1, 0.7, 0.999, 0.999_95] {
            let (low, high) = (inserted_part(missed * (1.0 - 1e-6)).0, inserted_part(missed * (1.0 + 1e-6)).0);
            let slope = (high - low) / (2e-6 * missed);
            assert!((slope / inserted_part(missed).1 - 1.0).abs() < 1e-4, "{missed}: {slope}");
        }
        let step = inserted_part(0.999_9 + 1e-9).0 - inserted_part(0.999_9 - 1e-9).0;
        assert!((0.0..2e-9).contains(&step), "{step}");
    }
}
