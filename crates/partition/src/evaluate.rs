//! Evaluates a solution under a model: each program's effect, and the four measures over all
//! slowdowns.

use crate::model::{Effect, Meaningless, StaticModel};
use crate::solution::Solution;
use isobar_model::metrics::{self, Summary};

/// A model's results for a whole solution.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// By program.
    pub effects: Vec<Effect>,
    /// Unfairness, STP, ANTT, CoV.
    pub summary: Summary,
}

/// Evaluates a valid solution (see [`Solution::validate`]).
///
/// # Errors
/// [`Meaningless`], also if a slowdown is not positive.
pub fn evaluate(model: &dyn StaticModel, solution: &Solution) -> Result<Evaluation, Meaningless> {
    let order: Vec<usize> = solution.clusters().flat_map(|(_, cluster)| cluster.programs.iter().copied()).collect();
    let found = model.effects(&solution.groups)?;
    let mut effects = vec![Effect { slowdown: 0.0, slowdown_without_bandwidth: 0.0 }; model.programs().len()];
    order.into_iter().zip(found).for_each(|(program, effect)| effects[program] = effect);
    let slowdowns: Vec<f64> = effects.iter().map(|effect| effect.slowdown).collect();
    let none = || Meaningless { model: model.name(), why: "a program has no positive slowdown".to_owned() };
    let summary = metrics::summary(&slowdowns).ok_or_else(none)?;
    Ok(Evaluation { effects, summary })
}
