//! The five approaches of figure 5, and the baseline with which they are compared, on one workload.
//!
//! | paper | here |
//! |---|---|
//! | OptMap, OptMap+OptPart, Optimal, BestMapLFOC+ | `isobar_optima`, for unfairness |
//! | DC | `divide-content` of `isobar_partition::heuristics` |
//! | a random mapping, no partitioning | the mean over [`DRAWS`] random mappings |

use super::super::draw::WorkloadRng;
use super::workloads::CORES;
use crate::error::LabError;
use isobar_optima::{Objective, Optimum, Options as Search, best_map, opt_map, opt_map_then_part, optimal};
use isobar_partition::evaluate::evaluate;
use isobar_partition::heuristics::{self, Rule, Setting};
use isobar_partition::model::StaticModel;
use isobar_partition::{Group, Solution};

/// The approaches, in the order of the figure's legend.
pub(crate) const APPROACHES: [&str; 5] = ["opt-map", "opt-map+opt-part", "optimal", "best-map+lfoc+", "divide-content"];
/// Number of random mappings per workload. The paper takes one; the mean over several has less
/// noise.
const DRAWS: u32 = 35;

/// Unfairness and STP of a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub unfairness: f64,
    pub stp: f64,
}

/// An approach's solution.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub point: Point,
    pub solution: Solution,
    /// Whether it is proved to be the best of its kind; a heuristic's solution never is.
    pub proved: bool,
}

/// The answer of every approach; `bandwidth` is in MB/s per memory node.
pub(super) fn answers(model: &dyn StaticModel, groups: usize, bandwidth: f64) -> Result<Vec<Answer>, LabError> {
    let setting = Setting {
        cores_per_group: CORES,
        max_bandwidth: Some(bandwidth),
        ..Setting::new(groups, model.programs().len())
    };
    let search = Search { groups, cores: Some(CORES), ..Search::new(Objective::Unfairness) };
    let lfoc_plus = |programs: &[usize]| partitioned(model, programs, &setting);
    let found = [
        opt_map(model, &search),
        opt_map_then_part(model, &search),
        optimal(model, &search),
        best_map(model, &search, &lfoc_plus),
    ];
    let exact = APPROACHES.iter().zip(found).map(|(name, found)| Ok(exact(found.map_err(failed(name))?)));
    exact.chain([divide_content(model, &setting)]).collect()
}

/// LFOC+ on one group; empty if it refuses, which the search reports.
fn partitioned(model: &dyn StaticModel, programs: &[usize], setting: &Setting) -> Group {
    match heuristics::by_name("lfoc+").map(|entry| entry.rule) {
        Some(Rule::OneLlc(partition)) => partition(model, programs, setting).unwrap_or_default(),
        _ => Group::new(),
    }
}

fn exact(found: Optimum) -> Answer {
    let summary = found.evaluation.summary;
    let point = Point { unfairness: summary.unfairness, stp: summary.stp };
    Answer { point, solution: found.solution, proved: found.proved_optimal }
}

fn divide_content(model: &dyn StaticModel, setting: &Setting) -> Result<Answer, LabError> {
    let name = "divide-content";
    let entry = heuristics::by_name(name).ok_or("no such heuristic").map_err(failed(name))?;
    let solution = entry.run(model, setting).map_err(failed(name))?;
    Ok(Answer { point: point(name, model, &solution)?, solution, proved: false })
}

/// The mean over random mappings that fill all cores, without partitioning.
pub(super) fn random(model: &dyn StaticModel, groups: usize, dice: &mut WorkloadRng) -> Result<Point, LabError> {
    let mut sum = Point::default();
    for _ in 0..DRAWS {
        let seats: Vec<usize> = (0..groups).flat_map(|group| [group; CORES]).collect();
        let llcs = dice.some(seats.len(), &seats);
        let seen = point("random mapping", model, &Solution::unpartitioned(&llcs, groups, model.ways()))?;
        sum = Point { unfairness: sum.unfairness + seen.unfairness, stp: sum.stp + seen.stp };
    }
    let draws = f64::from(DRAWS);
    Ok(Point { unfairness: sum.unfairness / draws, stp: sum.stp / draws })
}

fn point(approach: &'static str, model: &dyn StaticModel, solution: &Solution) -> Result<Point, LabError> {
    let summary = evaluate(model, solution).map_err(failed(approach))?.summary;
    Ok(Point { unfairness: summary.unfairness, stp: summary.stp })
}

/// Wraps an approach's error, under the approach's name.
fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(approach: &'static str) -> impl FnOnce(E) -> LabError {
    move |cause| LabError::Approach { approach, cause: cause.into() }
}
