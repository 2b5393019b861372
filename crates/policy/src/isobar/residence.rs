//! How long lines that are not looked for again stay in a cache. This file is pure arithmetic.

/// Seconds for which lines stay in a cache of some bytes. Each user of the cache inserts at a rate
/// (in bytes per second) and holds at most a number of bytes; `rates` are these pairs.
#[must_use]
pub fn residence(rates: &[(f64, f64)], bytes: f64) -> f64 {
    let held = |stay: f64| rates.iter().map(|(rate, most)| (rate * stay).min(*most)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e3);
    if held(high) <= bytes {
        return high;
    }
    for _ in 0..48 {
        let middle = (low + high) / 2.0;
        if held(middle) > bytes { high = middle } else { low = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of 3 bytes per second and one of 1 share 8 bytes. If the first has only 2 bytes, 6
    /// are left for the second.
    #[test]
    fn lines_stay_equally_long() {
        let stay = residence(&[(3.0, 1e9), (1.0, 1e9)], 8.0);
        assert!((stay - 2.0).abs() < 1e-6);
        let stay = residence(&[(3.0, 2.0), (1.0, 1e9)], 8.0);
        assert!((stay - 6.0).abs() < 1e-6);
        assert!(residence(&[(3.0, 2.0)], 8.0) >= 1e3);
    }
}
