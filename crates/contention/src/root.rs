//! The one-dimensional solvers that the model uses: they find the root of a continuous, increasing
//! function in a bracket. Both keep the root bracketed and at least halve the bracket or the step
//! every round, so that they end. Both use only the four operations and the square root, which IEEE
//! 754 rounds the same way on every machine.

/// A step of Newton's method this small, relative to the nearer end of the bracket, doubles the
/// number of correct digits: the point after it is as exact as a float can be.
pub(crate) const DOUBLED: f64 = 1e-8;

/// The root of `f` between `low` and `high`, to relative accuracy `tolerance`, by Ridders' method
/// (Ridders 1979). If `f` does not change sign, the end nearer to zero by sign: `low` if
/// `f(low) >= 0`, else `high`.
pub(crate) fn increasing_root<E>(
    low: f64,
    high: f64,
    tolerance: f64,
    mut f: impl FnMut(f64) -> Result<f64, E>,
) -> Result<f64, E> {
    let (mut a, mut b) = ((low, f(low)?), (high, f(high)?));
    if a.1 >= 0.0 {
        return Ok(a.0);
    }
    if b.1 <= 0.0 {
        return Ok(b.0);
    }
    loop {
        let middle = 0.5 * (a.0 + b.0);
        if b.0 - a.0 <= tolerance * b.0.abs() || middle <= a.0 || middle >= b.0 {
            return Ok(middle);
        }
        let mid = (middle, f(middle)?);
        // f(a) < 0 < f(b), so the square root is of a positive number and the new point lies inside
        // the bracket.
        let point = (mid.0 - (mid.0 - a.0) * mid.1 / (mid.1 * mid.1 - a.1 * b.1).sqrt()).clamp(a.0, b.0);
        narrow(&mut a, &mut b, mid);
        if point > a.0 && point < b.0 {
            narrow(&mut a, &mut b, (point, f(point)?));
            // Close in from the other side too. Otherwise the end that the point moved away from
            // may stay far away.
            let beyond = if a.0 == point { point * (1.0 + 0.5 * tolerance) } else { point * (1.0 - 0.5 * tolerance) };
            if beyond > a.0 && beyond < b.0 {
                narrow(&mut a, &mut b, (beyond, f(beyond)?));
            }
        }
    }
}

fn narrow(a: &mut (f64, f64), b: &mut (f64, f64), point: (f64, f64)) {
    if point.1 < 0.0 {
        *a = point;
    } else {
        *b = point;
    }
}

/// The same for a function that also gives its slope, starting from a guess: Newton's steps inside
/// the bracket, and halving if a step leaves the bracket or does not shrink to half of the step
/// before.
///
/// The step that is at most `last_step` of the distance to the nearer end is the last one:
/// [`DOUBLED`], or more if the root need only be near. The distance to both ends counts, because a
/// function with a pole at an end (the claim of a stream that holds nearly its whole footprint) has
/// short steps far from its root, too.
pub(crate) fn guessed_root(
    (bottom, top): (f64, f64),
    guess: f64,
    tolerance: f64,
    last_step: f64,
    mut f: impl FnMut(f64) -> (f64, f64),
) -> f64 {
    let (mut low, mut high) = (bottom, top);
    let mut at = guess.clamp(low, high);
    let mut last = high - low;
    loop {
        let (value, slope) = f(at);
        if value < 0.0 {
            low = at;
        } else {
            high = at;
        }
        let mut next = at - value / slope;
        let inside = next > low && next < high;
        if inside && (next - at).abs() <= last_step * (at - bottom).min(top - at) {
            return next;
        }
        if !(inside && (next - at).abs() <= 0.5 * last) {
            if (next - at).abs() <= tolerance * at {
                return next.clamp(low, high);
            }
            next = 0.5 * (low + high);
        }
        last = (next - at).abs();
        if last <= tolerance * next || next <= low || next >= high {
            return next;
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::{DOUBLED, guessed_root, increasing_root};

    fn root(low: f64, high: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
        increasing_root::<()>(low, high, 1e-12, |x| Ok(f(x))).unwrap()
    }

    #[test]
    fn finds_roots_of_all_shapes_in_few_evaluations() {
        let mut calls = 0;
        let found = root(0.0, 10.0, |x| {
            calls += 1;
            x * x - 2.0
        });
        assert!((found - 2f64.sqrt()).abs() < 1e-11, "{found}");
        assert!(calls < 40, "{calls}");
        // Infinite slope at the root's side, and a flat piece.
        let steep = root(0.0, 1.0, |x| x.sqrt() - 1e-3);
        assert!((steep - 1e-6).abs() < 1e-15, "{steep}");
        let flat = root(0.0, 4.0, |x| (x - 1.0f64).max(0.0) - 0.5);
        assert!((flat - 1.5).abs() < 1e-11, "{flat}");
    }

    #[test]
    fn without_a_change_of_sign_an_end_is_the_answer() {
        assert!((root(1.0, 2.0, |x| x) - 1.0).abs() < 1e-15);
        assert!((root(1.0, 2.0, |x| x - 9.0) - 2.0).abs() < 1e-15);
    }

    #[test]
    fn a_good_guess_is_soon_done_and_a_bad_one_ends_too() {
        let mut calls = 0;
        let mut cube = |x: f64| {
            calls += 1;
            (x * x * x - 8.0, 3.0 * x * x)
        };
        assert!((guessed_root((0.0, 1e6), 2.001, 1e-13, DOUBLED, &mut cube) - 2.0).abs() < 1e-12);
        assert!((guessed_root((0.0, 1e6), 0.0, 1e-13, DOUBLED, &mut cube) - 2.0).abs() < 1e-12);
        assert!(calls < 100, "{calls}");
        // A slope that is wrong, and a step.
        assert!((guessed_root((0.0, 9.0), 5.0, 1e-13, DOUBLED, |x| (x - 3.0, 0.1)) - 3.0).abs() < 1e-11);
        assert!(
            (guessed_root((0.0, 9.0), 5.0, 1e-13, DOUBLED, |x| (if x < 3.0 { -1.0 } else { 1.0 }, 0.0)) - 3.0).abs()
                < 1e-11
        );
    }
}
