//! Enumerates every solution of a problem: for models that give nothing but the figures of a whole
//! solution.
//!
//! Nothing is discarded. A black box bounds how fast a program can be, but its fastest program may
//! be arbitrarily slow, so no part of a solution bounds how fair the whole can be.

use crate::options::OptimaError;
use crate::problem::{Problem, solution};
use crate::rank::Found;
use crate::set::Set;
use crate::watch::{STRIDE, Watch};
use isobar_partition::evaluate::evaluate;
use isobar_partition::model::Meaningless;
use isobar_partition::{Cluster, Group};

/// Calls `visit` with every clustering of `set` that uses all `ways`, in order, until `visit`
/// returns `false`.
pub(crate) fn clusterings(set: Set, ways: usize, most: usize, visit: &mut dyn FnMut(&Group) -> bool) -> bool {
    let mut group = Group::new();
    cluster(set, ways, most, &mut group, visit)
}

fn cluster(left: Set, ways: usize, most: usize, group: &mut Group, visit: &mut dyn FnMut(&Group) -> bool) -> bool {
    if left.is_empty() {
        return ways > 0 || visit(group);
    }
    for programs in left.firsts(most) {
        let rest = left.without(programs);
        let sizes = if rest.is_empty() { ways..=ways } else { 1..=ways.saturating_sub(1) };
        for size in sizes.filter(|size| *size > 0) {
            group.push(Cluster { programs: programs.list(), ways: size });
            let go_on = cluster(rest, ways - size, most, group, visit);
            group.pop();
            if !go_on {
                return false;
            }
        }
    }
    true
}

/// Visits the groups that a menu has for a set of programs, in order, until `visit` returns
/// `false`.
fn groups(problem: &Problem<'_>, set: Set, visit: &mut dyn FnMut(&Group) -> bool) -> Result<bool, OptimaError> {
    if let Some(group) = problem.only(set) {
        return group.map(|group| visit(&group));
    }
    Ok(clusterings(set, problem.model.ways(), problem.cluster_size(), visit))
}

/// The result of a walk: the best solution, and a reason why some solution had no meaning.
pub(crate) struct Walked {
    pub best: Option<Found>,
    pub meaningless: Option<Meaningless>,
}

/// Looks at every solution, starting from a known one, if any.
pub(crate) fn walk(
    problem: &Problem<'_>,
    all_groups: usize,
    best: Option<Found>,
    watch: &Watch<'_>,
) -> Result<Walked, OptimaError> {
    let walked = Walked { best, meaningless: None };
    let mut walker = Walker { problem, all_groups, watch, groups: Vec::new(), pending: 0, failed: None, walked };
    walker.group(problem.everyone());
    watch.count(walker.pending);
    walker.failed.map_or(Ok(walker.walked), Err)
}

struct Walker<'a> {
    problem: &'a Problem<'a>,
    all_groups: usize,
    watch: &'a Watch<'a>,
    groups: Vec<Group>,
    pending: u64,
    failed: Option<OptimaError>,
    walked: Walked,
}

impl Walker<'_> {
    fn group(&mut self, left: Set) -> bool {
        if left.is_empty() {
            return self.leaf();
        }
        let open = self.problem.groups - self.groups.len();
        for set in left.firsts(self.problem.cores) {
            let rest = left.without(set);
            let fits = rest.len() <= open.saturating_sub(1).saturating_mul(self.problem.cores);
            if !fits || open == 0 || !self.problem.may_group(set) {
                continue;
            }
            let problem = self.problem;
            let mut go_on = |group: &Group| {
                self.groups.push(group.clone());
                let go_on = self.group(rest);
                self.groups.pop();
                go_on
            };
            match groups(problem, set, &mut go_on) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    self.failed = Some(error);
                    return false;
                }
            }
        }
        true
    }

    fn leaf(&mut self) -> bool {
        let solution = solution(self.groups.clone(), self.all_groups);
        match evaluate(self.problem.model, &solution) {
            Ok(evaluation) => {
                Found::keep(&mut self.walked.best, Found { solution, evaluation }, self.problem.objective);
            }
            Err(why) => self.walked.meaningless = Some(why),
        }
        self.pending += 1;
        if self.pending < STRIDE / 64 {
            return true;
        }
        !self.watch.count(std::mem::take(&mut self.pending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_programs_have_1191_ways_to_share_16() {
        let mut seen = Vec::new();
        clusterings(Set::all(4), 16, usize::MAX, &mut |group| {
            seen.push(group.clone());
            true
        });
        assert!(seen.len() == 1191 && seen.is_sorted());
    }
}
