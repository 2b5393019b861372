//! How the programs on one last-level cache share its space.
//!
//! **Model.** Under (pseudo-)LRU every line stays for about the same time `T` after it is inserted, whoever owns it, so that occupancy
//! is insertion rate times `T`: the space `x_i = T * f_i(x_i)`, where `f_i(x)` is the bytes that program `i` inserts a second while it
//! holds `x`, and no more than its footprint. `T` is such that the cache is just full; where all footprints fit, it is not.
//!
//! **Fixed point.** `f_i` does not increase in `x` (more space, fewer misses), so `x = T f_i(x)` has exactly one root, which increases
//! with `T`. So does the sum of the roots: there is exactly one `T` for the size of the cache. Both are monotone
//! one-dimensional roots in a known bracket.

use super::root::increasing_root;

/// Relative accuracy of occupancies.
const ACCURACY: f64 = 1e-10;

/// One program (or thread) that inserts lines.
pub struct Inserter<F> {
    /// Bytes inserted a second while it holds so many bytes; not increasing.
    pub insertion: F,
    /// It never holds more bytes than this.
    pub footprint: f64,
}

/// The bytes that each program holds of a cache of `size` bytes.
pub fn occupancies<F: Fn(f64) -> f64>(size: f64, inserters: &[Inserter<F>]) -> Vec<f64> {
    let empty: f64 = inserters.iter().map(|one| (one.insertion)(0.0)).sum();
    if empty <= 0.0 {
        return vec![0.0; inserters.len()];
    }
    if inserters.iter().map(|one| limit(size, one)).sum::<f64>() <= size {
        return inserters.iter().map(|one| limit(size, one)).collect();
    }
    // T is at least as long as if all inserted as fast as into an empty cache.
    let shortest = size / empty;
    let full = |stay: f64| inserters.iter().map(|one| held(size, one, stay)).sum::<f64>() - size;
    let mut longest = 2.0 * shortest;
    while full(longest) < 0.0 {
        longest *= 4.0;
    }
    let stay = increasing_root(shortest, longest, ACCURACY, full);
    inserters.iter().map(|one| held(size, one, stay)).collect()
}

/// What a program may hold at most: nothing where it inserts nothing.
fn limit<F: Fn(f64) -> f64>(size: f64, one: &Inserter<F>) -> f64 {
    if (one.insertion)(0.0) > 0.0 { one.footprint.min(size) } else { 0.0 }
}

/// What a program holds when lines stay for `stay` seconds.
fn held<F: Fn(f64) -> f64>(size: f64, one: &Inserter<F>, stay: f64) -> f64 {
    let most = limit(size, one);
    increasing_root(0.0, most, 0.1 * ACCURACY, |space| space - stay * (one.insertion)(space))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inserter(rate: f64, half: f64, footprint: f64) -> Inserter<impl Fn(f64) -> f64> {
        Inserter { insertion: move |space: f64| rate * half / (half + space), footprint }
    }

    #[test]
    fn equal_programs_share_equally_and_streams_share_by_rate() {
        let held = occupancies(100.0, &[inserter(5.0, 1e12, 1e12), inserter(5.0, 1e12, 1e12)]);
        assert!((held[0] - 50.0).abs() < 1e-6 && (held[1] - 50.0).abs() < 1e-6);
        let held = occupancies(100.0, &[inserter(9.0, 1e12, 1e12), inserter(1.0, 1e12, 1e12)]);
        assert!((held[0] - 90.0).abs() < 1e-6, "{held:?}");
    }

    #[test]
    fn occupancy_is_proportional_to_insertion_at_the_fixed_point() {
        let all = [inserter(9.0, 10.0, 1e3), inserter(1.0, 200.0, 1e3), inserter(3.0, 50.0, 1e3)];
        let held = occupancies(100.0, &all);
        assert!((held.iter().sum::<f64>() - 100.0).abs() < 1e-6);
        let stay: Vec<_> = held.iter().zip(&all).map(|(x, one)| x / (one.insertion)(*x)).collect();
        assert!((stay[0] / stay[1] - 1.0).abs() < 1e-6 && (stay[0] / stay[2] - 1.0).abs() < 1e-6, "{stay:?}");
    }

    #[test]
    fn small_footprints_leave_room_and_idle_programs_hold_nothing() {
        let held = occupancies(100.0, &[inserter(9.0, 1e9, 20.0), inserter(1.0, 1e9, 1e9), inserter(0.0, 1.0, 1e9)]);
        assert!((held[0] - 20.0).abs() < 1e-6 && (held[1] - 80.0).abs() < 1e-6 && held[2] == 0.0, "{held:?}");
        let fit = occupancies(100.0, &[inserter(9.0, 1e9, 20.0), inserter(1.0, 1e9, 30.0)]);
        assert_eq!(fit, [20.0, 30.0]);
    }
}
