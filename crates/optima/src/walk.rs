//! Every solution of a problem, one by one: for models that say nothing of themselves but a solution's figures.
//!
//! Partial solutions are discarded by the one thing that any model promises, `least_slowdown`: with the throughput that it allows at
//! most, a throughput objective has a bound. Unfairness has none (nothing says how *fast* the slowest must be), so all are looked at.

use crate::problem::{Menu, Problem, solution};
use crate::rank::Found;
use crate::set::Set;
use crate::watch::{STRIDE, Watch};
use isobar_partition::evaluate::evaluate;
use isobar_partition::model::Meaningless;
use isobar_partition::{Cluster, Group};

/// Calls `visit` with every clustering of `set` that uses all `ways`, in order; stops where it says `false`.
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

/// The groups that a menu has for a set of programs, in order; stops where `visit` says `false`.
pub(crate) fn groups(problem: &Problem<'_>, set: Set, visit: &mut dyn FnMut(&Group) -> bool) -> Option<bool> {
    if let Some(group) = problem.only(set) {
        return group.ok().map(|group| visit(&group));
    }
    let most = if matches!(problem.menu, Menu::Alone) { 1 } else { usize::MAX };
    Some(clusterings(set, problem.model.ways(), most, visit))
}

/// What a walk found: the best, and a reason why something had no meaning.
#[derive(Default)]
pub(crate) struct Walked {
    pub best: Option<Found>,
    pub meaningless: Option<Meaningless>,
}

/// Looks at every solution.
pub(crate) fn walk(problem: &Problem<'_>, all_groups: usize, watch: &Watch<'_>) -> Walked {
    let mut walker = Walker { problem, all_groups, watch, groups: Vec::new(), pending: 0, walked: Walked::default() };
    walker.group(problem.everyone());
    watch.count(walker.pending);
    walker.walked
}

struct Walker<'a> {
    problem: &'a Problem<'a>,
    all_groups: usize,
    watch: &'a Watch<'a>,
    groups: Vec<Group>,
    pending: u64,
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
            if groups(problem, set, &mut go_on) == Some(false) {
                return false;
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
