//! How the programs of a cluster divide the ways that they share: the recursion that PBBCache's
//! models use (docs/design/cache-ways.md).
//!
//! ```text
//! x_i = 0
//! for n in 1..=k:  r_i = misses of i at index x_i;  x_i += r_i / sum r;  share_i = x_i * n / sum x
//! ```
//!
//! Index 0 is the 1-way value. The scaled shares are the result for `n` ways; the recursion
//! continues from the unscaled shares.

use isobar_model::num;

/// Effective, fractional ways of each program of a cluster, for every cluster size from 1 to
/// `ways`: `result[k - 1][i]`. `misses[i]` is the program's LLCMPKC (or MPKI: `whirlpool`) at 1, 2,
/// ... ways. A program that is alone gets all ways.
///
/// If no program misses at all, all get the same share.
#[must_use]
pub fn shares(misses: &[&[f64]], ways: usize) -> Vec<Vec<f64>> {
    if misses.len() == 1 {
        return (1..=ways).map(|ways| vec![num::float_len(ways)]).collect();
    }
    let mut raw = vec![0.0; misses.len()];
    let mut result = Vec::with_capacity(ways);
    for reached in 1..=ways {
        let rates: Vec<f64> = misses.iter().zip(&raw).map(|(column, x)| at_index(column, *x)).collect();
        let total: f64 = rates.iter().sum();
        let even = 1.0 / num::float_len(misses.len());
        for (x, rate) in raw.iter_mut().zip(&rates) {
            *x += if total > 0.0 { rate / total } else { even };
        }
        let sum: f64 = raw.iter().sum();
        result.push(raw.iter().map(|x| x * num::float_len(reached) / sum).collect());
    }
    result
}

/// [`shares`] of two programs at one size of at least 1, without the sizes before it and without
/// allocating: their raw shares always add up to the ways reached, so nothing is scaled.
#[must_use]
pub fn shares_of_two(misses: [&[f64]; 2], ways: usize) -> [f64; 2] {
    let part = |of_a: f64, of_b: f64| if of_a + of_b > 0.0 { of_a / (of_a + of_b) } else { 0.5 };
    let mut a = part(misses[0][0], misses[1][0]);
    let mut b = 1.0 - a;
    for _ in 1..ways {
        let more = part(at_index(misses[0], a), at_index(misses[1], b));
        a += more;
        b += 1.0 - more;
    }
    [a, b]
}

/// Reads a column at a fractional index (0 = one way); the last value beyond its end.
fn at_index(column: &[f64], index: f64) -> f64 {
    let (whole, part) = num::split(index);
    match column.get(whole..) {
        Some([here, next, ..]) => here + (next - here) * part,
        _ => column[column.len() - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // Rates 30 and 10 at first: shares 3/4 and 1/4. Second way: a at index 0.75 reads 30 - 0.75
        // * 20 = 15, b at 0.25 reads 10; raw shares 0.75 + 15/25 = 1.35 and 0.25 + 10/25 = 0.65:
        // their sum is 2, so nothing is scaled.
        let got = shares(&[&[30.0, 10.0], &[10.0, 10.0]], 2);
        assert_eq!(got[0], vec![0.75, 0.25]);
        assert!((got[1][0] - 1.35).abs() < 1e-12 && (got[1][1] - 0.65).abs() < 1e-12);
    }

    #[test]
    fn two_are_the_same_as_any() {
        let (a, b): (&[f64], &[f64]) = (&[30.0, 10.0, 4.0], &[10.0, 12.0]);
        for (index, at_size) in shares(&[a, b], 9).iter().enumerate() {
            let two = shares_of_two([a, b], index + 1);
            assert!((two[0] - at_size[0]).abs() < 1e-9 && (two[1] - at_size[1]).abs() < 1e-9);
        }
        assert_eq!(shares_of_two([&[0.0], &[0.0]], 3), [1.5, 1.5]);
    }

    #[test]
    fn alone_gets_all_and_silence_is_shared_evenly() {
        assert_eq!(shares(&[&[5.0]], 3), vec![vec![1.0], vec![2.0], vec![3.0]]);
        assert_eq!(shares(&[&[0.0], &[0.0]], 1), vec![vec![0.5, 0.5]]);
    }
}
