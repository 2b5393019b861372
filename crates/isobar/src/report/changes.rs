//! Describes the changes that a policy predicts and judges, one line each: the prediction when a
//! change begins, the measurement when its trial ends.

use super::words::bare_name;
use crate::text::{plural, signed_percent as percent};
use isobar_model::{Effect, Gain, Observation, Plan, Prediction};

/// Maximum number of programs named in one line: those that gain or lose most.
const NAMED: usize = 3;

/// The lines of a plan: the results of earlier changes, then the predictions for new ones.
pub fn lines(plan: &Plan, managed: &Observation) -> Vec<String> {
    let effects = plan.effects.iter().map(effect_in_words);
    effects.chain(plan.predictions.iter().map(|one| prediction_in_words(one, managed))).collect()
}

/// `change 3: predicted +12.1 %, measured +9.8 % (error 1.2 %): kept`.
fn effect_in_words(effect: &Effect) -> String {
    let Effect { change, predicted, measured, error, disturbed, kept, .. } = effect;
    let meanwhile = if *disturbed { ", programs came or went meanwhile" } else { "" };
    let becomes = if *kept { "kept" } else { "taken back" };
    let (predicted, measured, error) = (percent(*predicted), percent(*measured), percent(error.abs()));
    let error = error.trim_start_matches('+');
    format!("change {change}: predicted {predicted}, measured {measured} (error {error}{meanwhile}): {becomes}")
}

/// `change 3: predicted +12.1 % by 2 actions: lbm (pid 7) +8.0 %, mcf (pid 9) +4.1 %`.
fn prediction_in_words(prediction: &Prediction, managed: &Observation) -> String {
    let Prediction { change, actions, gain, programs } = prediction;
    let by = plural(actions.len(), "action");
    let mut most: Vec<&Gain> = programs.iter().collect();
    most.sort_by(|a, b| b.gain.abs().total_cmp(&a.gain.abs()).then(a.pid.cmp(&b.pid)));
    let named = most.iter().take(NAMED).map(|one| {
        let name = bare_name(one.pid, managed).unwrap_or_default();
        format!("{name} (pid {}) {}", one.pid, percent(one.gain))
    });
    let mut named: Vec<String> = named.collect();
    if most.len() > NAMED {
        named.push(format!("{} more", most.len() - NAMED));
    }
    let colon = if named.is_empty() { "" } else { ": " };
    format!("change {change}: predicted {} by {by}{colon}{}", percent(*gain), named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;
    use isobar_model::{Pid, Process};
    use std::sync::Arc;

    fn message(plan: &Plan) -> Vec<String> {
        let named = |pid: u32, name: &str| Process { pid: Pid(pid), name: name.into(), ..Process::default() };
        let processes = vec![named(1, "lbm"), named(2, "a\nb"), named(3, "mcf"), named(4, "idle")];
        lines(plan, &Observation::bare(Arc::new(synthetic("node:2 core:2").unwrap()), processes))
    }

    #[test]
    fn what_was_measured_stands_beside_what_was_predicted() {
        let effect = Effect { change: 3, predicted: 0.121, measured: 0.098, error: 0.012, ..Effect::default() };
        let kept = Effect { kept: true, ..effect.clone() };
        let lost = Effect { measured: -0.02, disturbed: true, ..effect };
        assert_eq!(
            message(&Plan { effects: vec![kept, lost], ..Plan::nothing("isobar") }),
            [
                "change 3: predicted +12.1 %, measured +9.8 % (error 1.2 %): kept",
                "change 3: predicted +12.1 %, measured -2.0 % (error 1.2 %, programs came or went meanwhile): taken back",
            ]
        );
    }

    #[test]
    fn a_prediction_names_whom_it_is_about_most_and_no_name_breaks_the_line() {
        let gain = |pid: u32, gain| Gain { pid: Pid(pid), gain };
        let programs = vec![gain(1, 0.08), gain(2, -0.2), gain(3, 0.1), gain(4, 0.006)];
        let one = Prediction { change: 7, actions: vec![0, 1], gain: -0.014, programs };
        let none = Prediction { change: 8, actions: vec![2], gain: 0.001, programs: vec![] };
        assert_eq!(
            message(&Plan { predictions: vec![one, none], ..Plan::nothing("isobar") }),
            [
                "change 7: predicted -1.4 % by 2 actions: a\\nb (pid 2) -20.0 %, mcf (pid 3) +10.0 %, lbm \
                 (pid 1) +8.0 %, 1 more",
                "change 8: predicted +0.1 % by 1 action",
            ]
        );
    }
}
