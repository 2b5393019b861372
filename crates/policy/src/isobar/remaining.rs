//! How long a program is expected to go on as it is: what a change gains lasts for that time.

use super::math::ln;

/// Seconds ahead that count in the expected remaining time of a young program.
const AHEAD: f64 = 60.0;

/// Seconds for which the present state of a program is expected to last. It runs for `age` seconds,
/// `lasted` of them in this state, after `changes` changes of phase. Programs of its name ran for
/// `life` seconds, if any have ended. A program that changes again and again is expected to change
/// at its usual interval.
#[must_use]
pub fn remaining(age: f64, lasted: f64, changes: u32, life: Option<f64>) -> f64 {
    let usual = age / f64::from(changes + 1);
    let lasts =
        if changes < 2 || lasted > 1.5 * usual { expected(lasted) } else { lasted.min((usual - lasted).max(0.0)) };
    // If programs of its name have ended, it is expected to end at the same age.
    match life.map(|life| life - age).filter(|left| *left > 0.0) {
        Some(left) if changes == 0 => left,
        Some(left) => lasts.min(left),
        None => lasts,
    }
}

/// Seconds for which something is expected to go on that has lasted for `lasted`. Of processes that
/// ran for a second half run for two, half of those for four, and so on (Harchol-Balter and Downey,
/// 1997), so the median of the remaining time is the age. The mean is longer; what comes after a
/// minute is left out of it.
fn expected(lasted: f64) -> f64 {
    let mean = lasted * ln(1.0 + AHEAD / lasted.max(1e-9));
    mean.max(lasted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After 10 s another `10 ln 7` are expected, after 100 s another 100. If others of its name
    /// ran for 30 s, a program of 10 s has 20 left, but no more than its phase has. One that runs
    /// for longer is judged by its age. Phases of 10 s each: after 4 s of a phase another 4, after
    /// 9 s what is usually left of it.
    #[test]
    fn age_life_and_usual_phases_say_how_long_it_goes_on() {
        let near = |a: f64, b: f64| (a - b).abs() < 0.01;
        assert!(near(remaining(10.0, 10.0, 0, None), 19.46) && near(remaining(100.0, 100.0, 0, None), 100.0));
        assert!(near(remaining(10.0, 10.0, 0, Some(30.0)), 20.0) && near(remaining(10.0, 1.0, 1, Some(30.0)), 4.11));
        assert!(near(remaining(100.0, 100.0, 0, Some(30.0)), 100.0));
        assert!(near(remaining(34.0, 4.0, 3, None), 4.0) && near(remaining(39.0, 9.0, 3, None), 0.75));
    }
}
