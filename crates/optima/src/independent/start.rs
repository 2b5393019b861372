//! A good cover to start with: the better it is, the less remains to be searched. Any cover, then
//! the best exchange of two programs between groups (or move of one) as long as it helps, then the
//! same again after a few exchanges at random (a fixed sequence: the start is always the same).

use super::front::Front;
use super::window::{Chosen, Window};
use crate::group::Point;
use crate::set::Set;

/// Restarts for each group.
const KICKS: usize = 4;

/// Improves a cover by exchanges; `None` where a set has no front.
pub(crate) fn improve(window: &Window<'_>, places: &[u32], cores: usize, groups: usize) -> Option<(Point, Chosen)> {
    let mut search = Exchange { window, cores, groups, index: index(window.fronts), random: 1 };
    let mut here = search.descend(places.iter().map(|place| window.front(*place).set).collect())?;
    let mut best = here.clone();
    for _ in 0..KICKS * groups {
        if window.watch.count(0) {
            break;
        }
        let kicked = search.kick(&best.1);
        if let Some(found) = search.descend(kicked) {
            here = found;
        }
        if here.0.0.ratio() < best.0.0.ratio() {
            best = here.clone();
        }
    }
    Some(best.0)
}

fn index(fronts: &[Front]) -> Vec<(Set, u32)> {
    let mut index: Vec<(Set, u32)> = fronts.iter().zip(0..).map(|(front, place)| (front.set, place)).collect();
    index.sort_unstable();
    index
}

struct Exchange<'a> {
    window: &'a Window<'a>,
    cores: usize,
    groups: usize,
    index: Vec<(Set, u32)>,
    random: u64,
}

/// A settled cover and its sets.
type Here = ((Point, Chosen), Vec<Set>);

impl Exchange<'_> {
    fn descend(&self, sets: Vec<Set>) -> Option<Here> {
        let (mut ratio, mut here) = (self.ratio(&sets, f64::INFINITY)?, sets);
        loop {
            let mut better: Option<(f64, Vec<Set>)> = None;
            self.neighbours(&here, &mut |sets| {
                let bar = better.as_ref().map_or(ratio, |better| better.0);
                if let Some(found) = self.ratio(sets, bar) {
                    better = Some((found, sets.to_vec()));
                }
            });
            match better {
                Some(better) if !self.window.watch.stopped() => (ratio, here) = better,
                _ => return Some((self.settle(&here)?, here)),
            }
        }
    }

    fn place(&self, set: Set) -> Option<u32> {
        self.index.binary_search_by_key(&set, |(set, _)| *set).ok().map(|at| self.index[at].1)
    }

    fn settle(&self, sets: &[Set]) -> Option<(Point, Chosen)> {
        let places: Option<Vec<u32>> = sets.iter().filter(|set| !set.is_empty()).map(|set| self.place(*set)).collect();
        self.window.settle(&places?, f64::NEG_INFINITY)
    }

    /// The least unfairness of a cover, if below `bar`. Along a front both slowdowns rise, so the
    /// first point above a level has the lowest ceiling.
    fn ratio(&self, sets: &[Set], bar: f64) -> Option<f64> {
        let mut fronts: [&[Point]; 64] = [&[]; 64];
        let mut count = 0;
        for set in sets.iter().filter(|set| !set.is_empty()) {
            fronts[count] = &self.window.front(self.place(*set)?).points;
            count += 1;
        }
        let fronts = &fronts[..count];
        let mut best = bar;
        for level in fronts.iter().flat_map(|points| points.iter().map(|point| point.least)) {
            let highest = fronts.iter().try_fold(0.0_f64, |highest, points| {
                let first = points.get(points.partition_point(|point| point.least < level))?;
                Some(highest.max(first.greatest)).filter(|highest| *highest < best * level)
            });
            best = highest.map_or(best, |highest| best.min(highest / level));
        }
        (best < bar).then_some(best)
    }

    /// Every exchange of two programs, every move of one to a group with room.
    fn neighbours(&self, sets: &[Set], visit: &mut dyn FnMut(&[Set])) {
        let mut all = sets.to_vec();
        all.resize(self.groups, Set(0));
        let count = all.len();
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        for (a, b) in pairs {
            let (here, there) = (all[a], all[b]);
            let swaps = here.iter().flat_map(|x| there.iter().map(move |y| (Set::one(x), Set::one(y))));
            let right = here.iter().filter(|_| there.len() < self.cores).map(|x| (Set::one(x), Set(0)));
            let left = there.iter().filter(|_| here.len() < self.cores).map(|y| (Set(0), Set::one(y)));
            for (x, y) in swaps.chain(right).chain(left) {
                all[a] = here.without(x).with(y);
                all[b] = there.without(y).with(x);
                visit(&all);
            }
            (all[a], all[b]) = (here, there);
        }
    }

    /// Three exchanges at random.
    fn kick(&mut self, sets: &[Set]) -> Vec<Set> {
        let mut sets = sets.to_vec();
        for _ in 0..3 {
            let (a, b) = (self.below(sets.len()), self.below(sets.len()));
            if a == b || sets[a].is_empty() || sets[b].is_empty() {
                continue;
            }
            let (x, y) = (self.member(sets[a]), self.member(sets[b]));
            sets[a] = sets[a].without(x).with(y);
            sets[b] = sets[b].without(y).with(x);
        }
        sets
    }

    fn member(&mut self, set: Set) -> Set {
        let nth = self.below(set.len());
        Set::one(set.iter().nth(nth).unwrap_or(set.first()))
    }

    /// A number below `end`, from a linear congruential sequence.
    fn below(&mut self, end: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.random >> 33).unwrap_or(0) % end.max(1)
    }
}
