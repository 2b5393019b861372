//! Decides which of two solutions is better: by the objective, then by the other figure, then by
//! the order of solutions.
//!
//! **Equal figures.** Slowdowns are sums and quotients of floats, so two arrangements that are
//! equal on paper (two copies of a program changing places) differ in their last bits. Figures
//! within one part in 10^10 ([`TIE`]) of each other are therefore equal. Measured tables have 6 to
//! 8 digits, so no measured difference is lost. A search stops looking for improvements smaller
//! than [`STEP`], a small fraction of that: it is far above rounding errors and far below any
//! relevant difference.

use crate::options::Objective;
use isobar_model::metrics::Summary;
use isobar_partition::Solution;
use isobar_partition::evaluate::Evaluation;
use std::cmp::Ordering;

/// Figures whose relative difference is at most this are equal.
pub const TIE: f64 = 1e-10;
/// Relative improvements below this are not looked for.
pub(crate) const STEP: f64 = TIE / 16.0;

/// Compares figures: `Less` is better.
fn compare(one: &Summary, other: &Summary, objective: Objective) -> Ordering {
    let fairer = close(one.unfairness, other.unfairness);
    let faster = close(other.stp, one.stp);
    match objective {
        Objective::Unfairness => fairer.then(faster),
        Objective::Throughput => faster.then(fairer),
    }
}

fn close(a: f64, b: f64) -> Ordering {
    if (a - b).abs() <= TIE * a.abs().max(b.abs()) { Ordering::Equal } else { a.total_cmp(&b) }
}

/// A solution with its figures.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub solution: Solution,
    pub evaluation: Evaluation,
}

impl Found {
    /// Compares solutions: `Less` is better; equal only if the solutions are the same.
    pub fn compare(&self, other: &Self, objective: Objective) -> Ordering {
        let figures = compare(&self.evaluation.summary, &other.evaluation.summary, objective);
        figures.then_with(|| self.solution.cmp(&other.solution))
    }

    /// The figure that the objective optimises.
    pub fn figure(&self, objective: Objective) -> f64 {
        objective.of(self.evaluation.summary.unfairness, self.evaluation.summary.stp)
    }

    /// Keeps the better one.
    pub fn keep(best: &mut Option<Self>, new: Self, objective: Objective) {
        if best.as_ref().is_none_or(|best| new.compare(best, objective) == Ordering::Less) {
            *best = Some(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_unfairness_leaves_it_to_throughput() {
        let figures = |unfairness, stp| Summary { unfairness, stp, antt: 1.0, unfairness_cov: 0.0 };
        let better = |a: Summary, b: &Summary, by| compare(&a, b, by);
        assert_eq!(better(figures(1.2, 3.0), &figures(1.2 + 1e-12, 3.1), Objective::Unfairness), Ordering::Greater);
        assert_eq!(better(figures(1.2, 3.0), &figures(1.2 + 1e-9, 3.1), Objective::Unfairness), Ordering::Less);
        assert_eq!(better(figures(1.2, 3.0), &figures(1.1, 3.0), Objective::Throughput), Ordering::Greater);
    }
}
