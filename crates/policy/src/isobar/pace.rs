//! The speeds of a program, and by how much it has become faster: epochs in which it did the same
//! work are compared.

use super::estimate::{least_error, mean_and_error};
use super::math::ln;
use super::reading::{AGREE, Reading};
use isobar_model::num::float_len;

/// Logarithm of the ratio up to which two numbers of cache lookups per instruction count as equal.
pub const STEADY: f64 = 0.1;

/// How fast a program was in an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Logarithm of its instructions per second.
    pub speed: f64,
    /// Logarithm of its cache lookups per instruction, if they are counted.
    pub looks: Option<f64>,
    /// The nodes where it ran, by position, as a bit mask.
    pub nodes: u64,
}

impl Speed {
    /// The speed of a reading.
    #[must_use]
    pub fn of(reading: &Reading) -> Self {
        let looks = reading.looks.map(|looks| ln(looks.max(1e-9)));
        Self { speed: ln(reading.speed.max(1.0)), looks, nodes: reading.nodes }
    }

    /// How much the program's work differs between two epochs, by its cache lookups: 0 or more; 0
    /// if they are not counted.
    fn unlike(&self, other: &Self) -> f64 {
        self.looks.zip(other.looks).map_or(0.0, |(own, its)| (own - its).abs())
    }

    /// By how much faster it was than in some other epochs, on the mean of those in which its work
    /// was most like this, and the number of these. `None` if its work differed by `within` or more
    /// in all of them.
    fn over(&self, others: &[Self], within: f64) -> Option<(f64, f64)> {
        let nearest = others.iter().map(|other| self.unlike(other)).min_by(f64::total_cmp)?;
        let like = others.iter().filter(|other| self.unlike(other) <= nearest + STEADY);
        let like: Vec<f64> = like.map(|other| other.speed).collect();
        (nearest < within).then(|| (self.speed - mean_and_error(&like).0, float_len(like.len())))
    }
}

/// The speeds since the program came to the node where it is now; all of them if it was not moved.
/// `speeds` has the newest last. Its speed elsewhere is no measure of what a change brings it. The
/// epoch in which it came counts only if there is no other.
#[must_use]
pub fn here(speeds: &[Speed]) -> &[Speed] {
    let Some(last) = speeds.last().filter(|last| last.nodes.is_power_of_two()) else { return speeds };
    let elsewhere = |one: &Speed| one.nodes.is_power_of_two() && one.nodes != last.nodes;
    let from = speeds.iter().rposition(elsewhere).map_or(0, |at| (at + 2).min(speeds.len() - 1));
    &speeds[from..]
}

/// By how much faster a program is after a change, as a logarithm, and the standard error of that.
/// Epochs in which it did about the same are compared, so that a program that builds a table and
/// looks things up in turn is not taken to be slower because of what it does just now. `None` if
/// its cache lookups differ in every epoch by a ratio whose logarithm is `within` or more. A change
/// itself can cause more lookups, so a finite `within` is for programs that are known to do
/// something else.
#[must_use]
pub fn gained(before: &[Speed], after: &[Speed], within: f64) -> Option<(f64, f64)> {
    let (gains, like): (Vec<f64>, Vec<f64>) = after.iter().filter_map(|speed| speed.over(before, within)).unzip();
    let (gain, error) = mean_and_error(&gains);
    let scatter = scatter(before);
    let (was, _) = mean_and_error(&like.iter().map(|count| error_of(scatter, *count)).collect::<Vec<_>>());
    (!gains.is_empty()).then(|| (gain, error.hypot(was)))
}

/// By how much speeds vary if the program does the same, as a standard deviation: over all epochs
/// that have others like them. 0 if none has.
fn scatter(speeds: &[Speed]) -> f64 {
    let (mut squares, mut free) = (0.0, 0.0);
    for (off, like) in speeds.iter().filter_map(|speed| speed.over(speeds, f64::INFINITY)) {
        squares += off * off;
        free += 1.0 - 1.0 / like;
    }
    if free > 0.5 { (squares / free).sqrt() } else { 0.0 }
}

/// The standard error of the mean speed of a number of like epochs. One epoch may have been out of
/// the ordinary, and nothing shows it: a neighbour stood still just then, while the kernel moved
/// its pages.
fn error_of(scatter: f64, like: f64) -> f64 {
    let least = if like < 1.5 { AGREE } else { least_error(like) };
    (scatter / like.sqrt()).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds(readings: &[(f64, f64)]) -> Vec<Speed> {
        readings.iter().map(|(speed, looks)| Speed { speed: ln(*speed), looks: Some(ln(*looks)), nodes: 1 }).collect()
    }

    /// It builds at 1e8 instructions per second with 0.02 lookups, and looks up at 3e8 with 0.05.
    #[test]
    fn what_a_program_does_in_turn_is_compared_with_the_same() {
        let (build, look_up) = ((1e8, 0.02), (3e8, 0.05));
        let before = speeds(&[look_up, look_up, build, build]);
        // Only building now, and a tenth faster at it.
        let (gain, _) = gained(&before, &speeds(&[(1.1e8, 0.02); 3]), f64::INFINITY).unwrap();
        assert!((gain - ln(1.1)).abs() < 1e-12);
        // One epoch of each, as fast as before.
        let (gain, error) = gained(&before, &speeds(&[build, look_up]), f64::INFINITY).unwrap();
        assert!(gain.abs() < 1e-12 && error < 0.03, "{gain} {error}");
        // Work that it did not do before.
        assert_eq!(gained(&before, &speeds(&[(2e8, 0.03)]), STEADY), None);
    }

    /// A stencil whose lookups settle was read at 1.3e8, 1.1e8 and 2.1e8, the last while its
    /// neighbour stood still. At 1.7e8 it is 19 % slower than in the only epoch like this one,
    /// which is not known to better than 5 %.
    #[test]
    fn one_epoch_is_a_doubtful_measure() {
        let before = speeds(&[(1.3e8, 0.028), (1.1e8, 0.024), (2.1e8, 0.041)]);
        let (gain, error) = gained(&before, &speeds(&[(1.7e8, 0.042); 3]), f64::INFINITY).unwrap();
        assert!((gain - ln(1.7 / 2.1)).abs() < 1e-12 && (error - AGREE.hypot(0.005)).abs() < 1e-12, "{gain} {error}");
    }

    /// It came to node 1 (bit 2) in the second epoch of four. A program with threads on both nodes
    /// was moved by no one.
    #[test]
    fn what_it_did_elsewhere_does_not_count() {
        let of = |nodes: &[u64]| {
            let speeds: Vec<Speed> = (0u8..)
                .zip(nodes)
                .map(|(at, nodes)| Speed { speed: f64::from(at), looks: None, nodes: *nodes })
                .collect();
            here(&speeds).iter().map(|one| one.speed).collect::<Vec<_>>()
        };
        assert_eq!(of(&[1, 2, 2, 2]), [2.0, 3.0]);
        assert_eq!([of(&[1, 1, 2]), of(&[1, 2, 2]), of(&[])], [vec![2.0], vec![2.0], vec![]]);
        assert_eq!([of(&[2, 2, 2]), of(&[3, 1, 3])], [[0.0, 1.0, 2.0]; 2]);
    }

    /// If lookups are not counted, or are about the same, all readings are compared: 1.2e8 over
    /// 1e8, with the errors of both.
    #[test]
    fn one_that_does_the_same_is_compared_as_it_stands() {
        let of = |speed: f64, looks| Speed { speed: ln(speed), looks, nodes: 1 };
        for looks in [None, Some(-3.0)] {
            let before = [of(1e8, looks), of(1.1e8, looks), of(0.9e8, looks)];
            let after = [of(1.2e8, looks), of(1.3e8, looks.map(|looks| looks + 0.4)), of(1.1e8, looks)];
            let (gain, error) = gained(&before, &after, f64::INFINITY).unwrap();
            let mean = |of: &[Speed]| mean_and_error(&of.iter().map(|one| one.speed).collect::<Vec<_>>());
            let ((was, chance), (is, other)) = (mean(&before), mean(&after));
            assert!((gain - (is - was)).abs() < 1e-12 && (error - chance.hypot(other)).abs() < 1e-12);
        }
    }
}
