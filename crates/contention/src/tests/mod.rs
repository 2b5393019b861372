//! Tests of the whole model: its laws over random machines, machines worked out by hand, and the
//! cost of a question.

mod bracket;
mod cost;
mod laws;
pub(crate) mod machines;
mod pooled;
mod ring;
mod steady;
mod transient;
mod worked;

use crate::{Answer, Budget, Demand, Machine, PageCopy, Question, Solver};

/// The answer for threads on a machine from a cold start, with the solver that found it.
fn fixed_point(machine: &Machine, threads: &[Demand], copy: Option<PageCopy>) -> (Answer, Solver) {
    let mut solver = Solver::default();
    let answer = solver.ask(&Question { machine, threads, copy }, Budget::default()).unwrap().clone();
    (answer, solver)
}

/// Bytes per second on every resource of the machine, for the last answer.
fn loads(machine: &Machine, solver: &Solver) -> Vec<f64> {
    let mut loads = vec![0.0; machine.resources().len()];
    for (stream, flow) in solver.network.streams.iter().zip(&solver.at.flows) {
        stream.visits.iter().for_each(|visit| loads[solver.used[visit.resource]] += visit.lines * flow.bytes);
    }
    loads
}
