//! Local search: starts from a simple solution and applies small changes as long as one of them
//! helps. It proves nothing. The exact searches start from its result, and return that result if
//! they run out of time or memory.
//!
//! The changes: a program goes to another cluster, or to a new cluster of its own with a way of
//! another cluster; two programs change places; a way changes clusters. If a program leaves a
//! cluster empty, the ways of that cluster go to another one.

use crate::options::{Objective, OptimaError};
use crate::problem::{Menu, Problem, solution};
use crate::rank::Found;
use crate::set::Set;
use crate::watch::Watch;
use isobar_partition::evaluate::evaluate;
use isobar_partition::{Cluster, Group};
use std::cmp::Ordering;

/// A group as clusters with their ways. If the menu has one group per set, one cluster stands for
/// the whole set.
type Part = Vec<(Set, usize)>;

/// The best solution that small changes lead to, from a few simple starting points; `None` if no
/// solution met on the way has a meaning.
pub(crate) fn search(problem: &Problem<'_>, all: usize, watch: &Watch<'_>) -> Result<Option<Found>, OptimaError> {
    let climb = Climb { problem, all, watch };
    let mut best: Option<Found> = None;
    for start in climb.starts() {
        if let Some(found) = climb.climb(start)? {
            Found::keep(&mut best, found, problem.objective);
        }
        if watch.stopped() {
            break;
        }
    }
    Ok(best)
}

struct Climb<'a> {
    problem: &'a Problem<'a>,
    all: usize,
    watch: &'a Watch<'a>,
}

impl Climb<'_> {
    /// The starting points: programs are dealt to the groups in turn, and share all ways of their
    /// group or have a cluster each, as far as the ways suffice.
    fn starts(&self) -> Vec<Vec<Part>> {
        let ways = self.problem.model.ways();
        let sets = self.problem.mapping.clone().unwrap_or_else(|| self.dealt());
        let together = sets.iter().map(|set| vec![(*set, ways)]).collect();
        let apart = sets.iter().map(|set| apart(*set, ways)).collect();
        match self.problem.menu {
            Menu::Whole | Menu::Given(_) => vec![together],
            Menu::Alone => vec![apart],
            Menu::Any => vec![together, apart],
        }
    }

    fn dealt(&self) -> Vec<Set> {
        let mut sets = vec![Set(0); self.problem.groups];
        for (index, program) in self.problem.everyone().iter().enumerate() {
            let group = index % self.problem.groups;
            sets[group] = sets[group].with(Set::one(program));
        }
        sets.retain(|set| !set.is_empty());
        sets
    }

    fn climb(&self, start: Vec<Part>) -> Result<Option<Found>, OptimaError> {
        let mut here = (self.judge(&start)?, start);
        loop {
            let mut next = None;
            for parts in self.neighbours(&here.1) {
                if self.watch.count(1) {
                    return Ok(here.0);
                }
                let Some(found) = self.judge(&parts)? else { continue };
                if here.0.as_ref().is_none_or(|old| self.better(&found, old)) {
                    next = Some((Some(found), parts));
                    break;
                }
            }
            match next {
                Some(next) => here = next,
                None => return Ok(here.0),
            }
        }
    }

    /// Compares without tolerance: "better by more than a tie" could go round in a circle, this
    /// comparison cannot.
    fn better(&self, new: &Found, old: &Found) -> bool {
        let figures = |found: &Found| (found.evaluation.summary.unfairness, -found.evaluation.summary.stp);
        let ((fair, fast), (old_fair, old_fast)) = (figures(new), figures(old));
        let order = match self.problem.objective {
            Objective::Unfairness => fair.total_cmp(&old_fair).then(fast.total_cmp(&old_fast)),
            Objective::Throughput => fast.total_cmp(&old_fast).then(fair.total_cmp(&old_fair)),
        };
        order == Ordering::Less
    }

    fn judge(&self, parts: &[Part]) -> Result<Option<Found>, OptimaError> {
        let groups: Result<Vec<Group>, OptimaError> = parts.iter().map(|part| self.spelled(part)).collect();
        let solution = solution(groups?, self.all);
        Ok(evaluate(self.problem.model, &solution).ok().map(|evaluation| Found { solution, evaluation }))
    }

    fn spelled(&self, part: &Part) -> Result<Group, OptimaError> {
        let set = members(part);
        if set.is_empty() {
            return Ok(Group::new());
        }
        let spell = |(set, ways): &(Set, usize)| Cluster { programs: set.list(), ways: *ways };
        self.problem.only(set).unwrap_or_else(|| Ok(part.iter().map(spell).collect()))
    }

    fn neighbours(&self, parts: &[Part]) -> impl Iterator<Item = Vec<Part>> {
        let mut parts = parts.to_vec();
        parts.resize(if self.problem.mapping.is_some() { parts.len() } else { self.problem.groups }, Part::new());
        let places: Vec<(usize, usize)> = parts
            .iter()
            .enumerate()
            .flat_map(|(group, part)| (0..part.len()).map(move |cluster| (group, cluster)))
            .collect();
        let mut found = Vec::new();
        for (here, there) in places.iter().flat_map(|here| places.iter().map(move |there| (*here, *there))) {
            if here == there {
                continue;
            }
            self.shift(&parts, here, there, &mut found);
            self.swaps(&parts, here, there, &mut found);
            self.joins(&parts, here, there, &mut found);
        }
        for here in &places {
            (0..parts.len()).for_each(|group| self.splits(&parts, *here, group, &mut found));
        }
        found.into_iter()
    }

    /// Whether there is only one group for each set, so that clusters and ways are not chosen here.
    fn given(&self) -> bool {
        matches!(self.problem.menu, Menu::Whole | Menu::Given(_))
    }

    fn shift(&self, parts: &[Part], here: (usize, usize), there: (usize, usize), found: &mut Vec<Vec<Part>>) {
        if here.0 == there.0 && parts[here.0][here.1].1 > 1 && !self.given() {
            let mut new = parts.to_vec();
            new[here.0][here.1].1 -= 1;
            new[there.0][there.1].1 += 1;
            found.push(new);
        }
    }

    fn swaps(&self, parts: &[Part], here: (usize, usize), there: (usize, usize), found: &mut Vec<Vec<Part>>) {
        if here > there || (self.problem.mapping.is_some() && here.0 != there.0) {
            return;
        }
        let (a, b) = (parts[here.0][here.1].0, parts[there.0][there.1].0);
        for (x, y) in a.iter().flat_map(|x| b.iter().map(move |y| (Set::one(x), Set::one(y)))) {
            let mut new = parts.to_vec();
            new[here.0][here.1].0 = a.without(x).with(y);
            new[there.0][there.1].0 = b.without(y).with(x);
            found.push(new);
        }
    }

    fn joins(&self, parts: &[Part], here: (usize, usize), there: (usize, usize), found: &mut Vec<Vec<Part>>) {
        let full = here.0 != there.0
            && (members(&parts[there.0]).len() >= self.problem.cores || self.problem.mapping.is_some());
        if full || matches!(self.problem.menu, Menu::Alone) {
            return;
        }
        for program in parts[here.0][here.1].0.iter() {
            let mut new = parts.to_vec();
            new[there.0][there.1].0 = new[there.0][there.1].0.with(Set::one(program));
            self.leave(new, here, program, found);
        }
    }

    /// Moves programs of a cluster, one at a time, to a cluster of their own in a group, with a way
    /// of each of the group's clusters in turn.
    fn splits(&self, parts: &[Part], here: (usize, usize), group: usize, found: &mut Vec<Vec<Part>>) {
        let moves = group != here.0;
        if moves && (self.problem.mapping.is_some() || members(&parts[group]).len() >= self.problem.cores) {
            return;
        }
        for program in parts[here.0][here.1].0.iter() {
            if parts[group].is_empty() {
                let mut new = parts.to_vec();
                new[group].push((Set::one(program), self.problem.model.ways()));
                self.leave(new, here, program, found);
            }
            if self.given() || (!moves && parts[here.0][here.1].0.len() == 1) {
                continue;
            }
            for donor in (0..parts[group].len()).filter(|donor| parts[group][*donor].1 > 1) {
                let mut new = parts.to_vec();
                new[group][donor].1 -= 1;
                new[group].push((Set::one(program), 1));
                self.leave(new, here, program, found);
            }
        }
    }

    /// Takes a program out of its cluster. If the cluster is then empty, its ways go to each of the
    /// others in turn.
    fn leave(
        &self,
        mut parts: Vec<Part>,
        (group, cluster): (usize, usize),
        program: usize,
        found: &mut Vec<Vec<Part>>,
    ) {
        let left = &mut parts[group][cluster];
        left.0 = left.0.without(Set::one(program));
        if !left.0.is_empty() {
            found.push(parts);
            return;
        }
        let (_, ways) = parts[group].remove(cluster);
        for heir in 0..parts[group].len() {
            let mut new = parts.clone();
            new[group][heir].1 += ways;
            found.push(new);
        }
        if parts[group].is_empty() {
            found.push(parts);
        }
    }
}

fn members(part: &Part) -> Set {
    part.iter().fold(Set(0), |all, (set, _)| all.with(*set))
}

/// A cluster for each program, with ways as even as possible. If there are too few ways, the last
/// programs share a cluster.
fn apart(set: Set, ways: usize) -> Part {
    let clusters = set.len().min(ways);
    let mut part: Part = vec![(Set(0), 0); clusters];
    for (index, program) in set.iter().enumerate() {
        let cluster = &mut part[index.min(clusters - 1)];
        cluster.0 = cluster.0.with(Set::one(program));
    }
    (0..ways).for_each(|way| part[way % clusters].1 += 1);
    part
}
