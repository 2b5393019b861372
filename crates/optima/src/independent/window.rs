//! Covers under a window: the search over intervals of the least slowdown.
//!
//! Let L be a solution's least slowdown. It is the least slowdown of some point, so L is one of the
//! *levels* (all points' least slowdowns). For an interval of levels [a, b], take every set that
//! has a point with `least >= a` and `greatest <= U b`. A solution whose L is in the interval and
//! whose unfairness is at most U consists of such sets. If these sets do not cover all programs,
//! the interval is done. If they do, the cover is settled (its points are chosen as well as
//! possible), which may lower U, and the interval is halved. At a single level the condition is not
//! a relaxation, so the search ends. Throughput enters by weights: each set is weighted with the
//! greatest throughput that it has under the same condition, and the heaviest cover bounds what the
//! interval can reach.

use super::cover::Cover;
use super::front::Front;
use super::weigh::{Weighed, Weigher};
use crate::group::{EMPTY, Point};
use crate::rank::{STEP, TIE};
use crate::set::Set;
use crate::watch::Watch;

/// A cover: for every set, the position of its front, and the point.
pub(crate) type Chosen = Vec<(usize, Point)>;

/// The question, and the helpers for answering it.
pub(crate) struct Window<'a> {
    fronts: &'a [Front],
    everyone: Set,
    groups: usize,
    watch: &'a Watch<'a>,
    cover: &'a mut Cover,
    weigher: &'a mut Weigher,
    levels: Vec<f64>,
}

/// An interval of levels, including both ends.
type Interval = (usize, usize);

/// The best cover found, with its figures, and the proved bound.
pub(crate) struct Outcome {
    pub best: Option<(Point, Chosen)>,
    /// No cover has a better figure.
    pub bound: f64,
}

impl<'a> Window<'a> {
    pub fn new(
        fronts: &'a [Front],
        (everyone, groups): (Set, usize),
        watch: &'a Watch<'a>,
        (cover, weigher): (&'a mut Cover, &'a mut Weigher),
    ) -> Self {
        let all = fronts.iter().flat_map(|front| front.points.iter());
        let mut levels: Vec<f64> = all.map(|point| point.least).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        Self { fronts, everyone, groups, watch, cover, weigher, levels }
    }

    /// The least unfairness of all covers whose throughput is at least `floor`.
    pub fn fairest(&mut self, floor: f64) -> Outcome {
        let mut best: Option<(Point, Chosen)> = None;
        let mut open: Vec<Interval> = self.all();
        while let Some((from, to)) = open.pop() {
            let ratio = best.as_ref().map_or(f64::INFINITY, |best| best.0.ratio() * (1.0 - STEP));
            let found = self.probe((from, to), ratio, floor);
            if self.watch.stopped() {
                open.push((from, to));
                break;
            }
            let Some(places) = found else { continue };
            let settled = self.settle(&places, floor);
            let better = settled.filter(|settled| best.as_ref().is_none_or(|best| settled.0.ratio() < best.0.ratio()));
            if let Some(better) = better {
                best = Some(better);
                open.push((from, to));
            } else if from < to {
                let middle = usize::midpoint(from, to);
                open.extend([(middle + 1, to), (from, middle)]);
            }
            if !floor.is_finite() {
                self.report(best.as_ref(), &open);
            }
        }
        let ratio = best.as_ref().map_or(f64::INFINITY, |best| best.0.ratio());
        let bound = open.iter().map(|interval| self.least_ratio(*interval)).fold(ratio, f64::min);
        Outcome { best, bound }
    }

    /// The greatest throughput of all covers with an unfairness of at most `ratio`, if above
    /// `floor`.
    pub fn fastest(&mut self, ratio: f64, floor: f64) -> Outcome {
        let mut best: Option<(Point, Chosen)> = None;
        let mut open = if ratio.is_finite() { self.all() } else { self.all().into_iter().map(|_| (0, 0)).collect() };
        let mut bound = f64::NEG_INFINITY;
        while let Some((from, to)) = open.pop() {
            let had = best.as_ref().map_or(floor, |best| best.0.stp.max(floor));
            let above = if had.is_finite() { had + had.abs() * STEP } else { had };
            let sets = self.weighed((from, to), ratio);
            let places = sets.iter().map(|(set, _, place)| (*set, *place));
            let stop = || self.watch.count(0);
            if !ratio.is_finite() || self.cover.find(self.everyone, places, self.groups, &stop).is_some() {
                let found = self.weigher.best(self.everyone, &sets, self.groups, above, &stop);
                if self.watch.stopped() {
                    bound = f64::max(bound, found.bound);
                } else if let Some((_, places)) = found.cover {
                    let settled = self.settle_fast(&places, ratio).filter(|settled| settled.0.stp > above);
                    best = settled.or(best);
                    if from < to {
                        let middle = usize::midpoint(from, to);
                        open.extend([(middle + 1, to), (from, middle)]);
                    }
                }
            }
            if self.watch.stopped() {
                let most = open.iter().map(|interval| self.most(*interval, ratio));
                bound = most.fold(f64::max(bound, self.most((from, to), ratio)), f64::max);
                break;
            }
        }
        let stp = best.as_ref().map_or(f64::NEG_INFINITY, |best| best.0.stp);
        Outcome { best, bound: bound.max(stp) }
    }

    /// The levels L at which there are covers with all slowdowns between L and `ratio` L and a
    /// throughput of at least `floor`. Of levels within half a tie of each other, one may stand for
    /// all, because slowdowns that approach 1 make thousands of such levels. `None` if the search
    /// was stopped.
    pub fn levels(&mut self, ratio: f64, floor: f64) -> Option<Vec<f64>> {
        let mut levels = Vec::new();
        let mut open = self.all();
        while let Some((from, to)) = open.pop() {
            let found = self.probe((from, to), ratio, floor).is_some();
            if self.watch.stopped() {
                return None;
            }
            let one = self.levels[to] <= self.levels[from] * (1.0 + TIE / 2.0);
            if found && !one {
                let middle = usize::midpoint(from, to);
                open.extend([(middle + 1, to), (from, middle)]);
            } else if found {
                levels.push(self.levels[from]);
            }
        }
        Some(levels)
    }

    fn all(&self) -> Vec<Interval> {
        if self.levels.is_empty() { Vec::new() } else { vec![(0, self.levels.len() - 1)] }
    }

    fn probe(&mut self, interval: Interval, ratio: f64, floor: f64) -> Option<Vec<u32>> {
        let sets = self.weighed(interval, ratio);
        let places = sets.iter().map(|(set, _, place)| (*set, *place));
        let stop = || self.watch.count(0);
        let found = self.cover.find(self.everyone, places, self.groups, &stop)?;
        if floor.is_finite() {
            let above = floor - floor.abs() * STEP;
            return self.weigher.best(self.everyone, &sets, self.groups, above, &stop).cover.map(|cover| cover.1);
        }
        Some(found)
    }

    /// The sets that an interval can use, with the throughput that each can have.
    fn weighed(&self, (from, to): Interval, ratio: f64) -> Vec<Weighed> {
        let (least, greatest) = (self.levels[from], self.limit(self.levels[to], ratio));
        self.fronts
            .iter()
            .zip(0..)
            .filter_map(|(front, place)| Some((front.set, fast(front, least, greatest)?.stp, place)))
            .collect()
    }

    fn limit(&self, level: f64, ratio: f64) -> f64 {
        if ratio.is_finite() { level * ratio } else { f64::INFINITY }
    }

    /// The points of a cover's sets that make it fairest, with a throughput of at least `floor`.
    fn settle(&self, places: &[u32], floor: f64) -> Option<(Point, Chosen)> {
        let fronts: Vec<(usize, &Front)> = self.named(places);
        let mut best: Option<(Point, Chosen)> = None;
        for level in self.levels_of(&fronts) {
            let ceilings = self.ceilings(&fronts, level, floor);
            for ceiling in ceilings {
                let pick = |(place, front): &(usize, &Front)| Some((*place, fast(front, level, ceiling)?));
                let chosen: Option<Chosen> = fronts.iter().map(pick).collect();
                let Some(chosen) = chosen else { continue };
                let total = chosen.iter().fold(EMPTY, |sum, (_, point)| sum.and(*point));
                let enough = !floor.is_finite() || total.stp >= floor - floor.abs() * STEP;
                if !enough {
                    continue;
                }
                if best.as_ref().is_none_or(|best| total.ratio() < best.0.ratio()) {
                    best = Some((total, chosen));
                }
                break;
            }
        }
        best
    }

    /// The ceilings worth trying at a level, lowest first: with a floor, all greatest slowdowns;
    /// otherwise only the lowest possible.
    fn ceilings(&self, fronts: &[(usize, &Front)], level: f64, floor: f64) -> Vec<f64> {
        let above = |front: &&Front| {
            front.points.iter().filter(|point| point.least >= level).map(|point| point.greatest).collect()
        };
        let all: Vec<Vec<f64>> = fronts.iter().map(|(_, front)| above(front)).collect();
        let lowest = all.iter().map(|one| one.iter().copied().fold(f64::INFINITY, f64::min)).fold(0.0, f64::max);
        if !lowest.is_finite() {
            return Vec::new();
        }
        if !floor.is_finite() {
            return vec![lowest];
        }
        let mut ceilings: Vec<f64> = all.into_iter().flatten().filter(|ceiling| *ceiling > lowest).collect();
        ceilings.push(lowest);
        ceilings.sort_by(f64::total_cmp);
        ceilings
    }

    /// The points of a cover's sets that make it fastest, with an unfairness of at most `ratio`.
    fn settle_fast(&self, places: &[u32], ratio: f64) -> Option<(Point, Chosen)> {
        let fronts = self.named(places);
        let mut best: Option<(Point, Chosen)> = None;
        for level in self.levels_of(&fronts) {
            let ceiling = self.limit(level, ratio);
            let pick = |(place, front): &(usize, &Front)| Some((*place, fast(front, level, ceiling)?));
            let Some(chosen) = fronts.iter().map(pick).collect::<Option<Chosen>>() else { continue };
            let total = chosen.iter().fold(EMPTY, |sum, (_, point)| sum.and(*point));
            if best.as_ref().is_none_or(|best| total.stp > best.0.stp) {
                best = Some((total, chosen));
            }
        }
        best
    }

    fn named(&self, places: &[u32]) -> Vec<(usize, &'a Front)> {
        let fronts = self.fronts;
        places.iter().map(|place| isobar_model::num::index(*place)).map(|place| (place, &fronts[place])).collect()
    }

    fn levels_of(&self, fronts: &[(usize, &Front)]) -> Vec<f64> {
        fronts.iter().flat_map(|(_, front)| front.points.iter().map(|point| point.least)).collect()
    }

    /// A lower bound on the unfairness of an interval's covers: the largest of the programs' lowest
    /// ceilings, divided by the interval's highest level.
    fn least_ratio(&self, (from, to): Interval) -> f64 {
        let mut lowest = [f64::INFINITY; 64];
        for front in self.fronts {
            let points = front.points.iter().filter(|point| point.least >= self.levels[from]);
            let greatest = points.map(|point| point.greatest).fold(f64::INFINITY, f64::min);
            front.set.iter().for_each(|program| lowest[program] = lowest[program].min(greatest));
        }
        let highest = self.everyone.iter().map(|program| lowest[program]).fold(0.0, f64::max);
        (highest / self.levels[to]).max(1.0)
    }

    /// An upper bound on the throughput of an interval's covers: the sum of every program's best
    /// share of a set's throughput.
    fn most(&self, interval: Interval, ratio: f64) -> f64 {
        let mut best = [0.0_f64; 64];
        for (set, weight, _) in self.weighed(interval, ratio) {
            let share = weight / isobar_model::num::float_len(set.len());
            set.iter().for_each(|program| best[program] = best[program].max(share));
        }
        self.everyone.iter().map(|program| best[program]).sum::<f64>()
    }

    fn report(&self, best: Option<&(Point, Chosen)>, open: &[Interval]) {
        if let Some((point, _)) = best {
            let bound = open.iter().map(|interval| self.least_ratio(*interval)).fold(point.ratio(), f64::min);
            self.watch.report(point.ratio(), bound);
        }
    }
}

/// The point of a front with the greatest throughput within a window.
fn fast(front: &Front, least: f64, greatest: f64) -> Option<Point> {
    let from = front.points.partition_point(|point| point.least < least);
    let within = front.points[from..].iter().filter(|point| point.greatest <= greatest);
    within.copied().reduce(|a, b| if b.stp > a.stp { b } else { a })
}
