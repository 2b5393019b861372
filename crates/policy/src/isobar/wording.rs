//! Reports a change: its prediction, and later the measurement, program by program. The policy
//! computes with logarithms of speeds, while people read fractions of a speed. This file converts
//! one to the other.

use super::math::exp;
use super::programs::Programs;
use super::verdict::{Gained, Verdict};
use isobar_model::{Effect, Gain, Prediction};

pub use isobar_model::text::signed_percent as percent;

/// Gains below this fraction of a speed are not reported for a program: half a per cent, which
/// readings of some seconds do not show.
pub const NOTICED: f64 = 0.005;

/// The prediction of a change that begins with some actions of a plan, from the speed-up of each
/// program by position.
#[must_use]
pub fn prediction(change: u64, programs: &Programs, gains: &[f64], actions: Vec<usize>) -> Prediction {
    let all = programs.list.iter().zip(gains).map(|(program, gain)| Gain { pid: program.pid, gain: gain - 1.0 });
    let gain = all.clone().map(|one| one.gain).sum();
    Prediction { change, actions, gain, programs: all.filter(|one| one.gain.abs() >= NOTICED).collect() }
}

/// The measured effect of a change.
#[must_use]
pub fn effect(change: u64, verdict: &Verdict, kept: bool) -> Effect {
    let sum = |part: fn(&Gained) -> f64| verdict.gains.iter().map(|one| exp(part(one)) - 1.0).sum();
    // The error of a logarithm, times the value, is the error of the value.
    let variance = |one: &Gained| (exp(one.measured) * one.error) * (exp(one.measured) * one.error);
    let mut programs: Vec<Gain> =
        verdict.gains.iter().map(|one| Gain { pid: one.pid, gain: exp(one.measured) - 1.0 }).collect();
    programs.sort_by_key(|one| one.pid);
    Effect {
        change,
        predicted: sum(|one| one.predicted),
        measured: sum(|one| one.measured),
        error: verdict.gains.iter().map(variance).sum::<f64>().sqrt(),
        disturbed: verdict.disturbed,
        kept,
        programs,
    }
}

/// Why a change is rolled back.
#[must_use]
pub fn taken_back(effect: &Effect) -> String {
    let (predicted, measured) = (percent(effect.predicted), percent(effect.measured));
    format!(
        "change {} is taken back: predicted {predicted}, measured {measured} summed over all programs",
        effect.change
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::math::ln;
    use crate::isobar::program::Program;
    use isobar_model::Pid;
    use std::sync::Arc;

    /// One program gains a tenth, one loses a hundredth, and one loses a thousandth, which would
    /// not be noticed.
    #[test]
    fn a_prediction_sums_all_and_names_those_that_notice() {
        let mut programs = Programs::default();
        programs.list = (1..=3).map(|pid| Program::new(Pid(pid), &Arc::from("p"), 0.0, None)).collect();
        let told = prediction(4, &programs, &[1.1, 0.99, 0.999], vec![0, 2]);
        assert_eq!((told.change, told.actions, told.programs.len()), (4, vec![0, 2], 2));
        assert!((told.gain - 0.089).abs() < 1e-9);
        assert!((told.programs[1].gain + 0.01).abs() < 1e-9 && told.programs[1].pid == Pid(2));
    }

    /// Twice as fast, with an error of a hundredth, is `+100 %`, give or take 2 %. The figure for
    /// all is the sum over the programs.
    #[test]
    fn an_effect_is_in_parts_of_speeds() {
        let one = |pid, predicted, measured| Gained {
            pid: Pid(pid),
            predicted: ln(predicted),
            measured: ln(measured),
            error: 0.01,
        };
        let gains = vec![one(2, 1.5, 2.0), one(1, 1.0, 0.9)];
        let told = effect(4, &Verdict { gains, ..Verdict::default() }, true);
        assert!((told.predicted - 0.5).abs() < 1e-6 && (told.measured - 0.9).abs() < 1e-6, "{told:?}");
        assert!((told.error - (0.0004 + 0.000_081_f64).sqrt()).abs() < 1e-6, "{told:?}");
        assert_eq!(told.programs.iter().map(|one| one.pid).collect::<Vec<_>>(), [Pid(1), Pid(2)]);
        assert!((told.programs.iter().map(|one| one.gain).sum::<f64>() - told.measured).abs() < 1e-9);
    }

    #[test]
    fn a_part_is_read_as_per_cent_with_its_sign() {
        assert_eq!([percent(0.1234), percent(-0.01), percent(-0.0001)], ["+12.3 %", "-1.0 %", "+0.0 %"]);
    }
}
