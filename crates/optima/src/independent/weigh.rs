//! Finds the heaviest exact cover: of all covers with at most a given number of sets, the cover
//! with the largest sum of weights (throughputs).
//!
//! **The bound.** Give every program a price. A cover contains every program once, so its weight is
//! the sum of all prices plus, for each of its sets, the *rest* `weight - prices of its programs`.
//! Hence no cover weighs more than all prices plus the largest rests that the same number of sets
//! could have (Lagrangian relaxation: sets may overlap). This holds for any prices, and a
//! subgradient method lowers the bound: the price of a program rises if the sets with the largest
//! rests contain it too often, and falls if they miss it. A set that does not exceed the best known
//! weight even with the best other rests is dropped for good. Among the remaining sets a
//! depth-first search finds the answer, with the same bound at every node. A branch is skipped if
//! the same programs remained before with at least the same weight gathered.

use super::cover::sort;
use crate::set::Set;
use isobar_model::num;

/// Number of steps of the subgradient method.
const STEPS: u32 = 120;
/// Number of steps without a lower bound after which the steps become half as long.
const PATIENCE: u32 = 6;

/// A set to choose, its weight, and its position in the caller's list.
pub(crate) type Weighed = (Set, f64, u32);

/// Finds heaviest covers. Keeps its prices from one question to the next, because questions
/// resemble each other.
pub(crate) struct Weigher {
    cores: usize,
    prices: [f64; 64],
    primed: bool,
    slots: Vec<Slot>,
    round: u32,
    /// Number of nodes since the start.
    pub nodes: u64,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    left: u64,
    gathered: f64,
    round: u32,
    groups: u32,
}

/// The result of a question.
pub(crate) struct Heaviest {
    /// Weight and positions of the heaviest cover, if heavier than required.
    pub cover: Option<(f64, Vec<u32>)>,
    /// No cover is heavier.
    pub bound: f64,
}

/// The state of the current question.
struct Question<'a> {
    sorted: Vec<Vec<(Set, u32)>>,
    /// By position in `kept`: the weight of the set minus the prices of its programs.
    rests: Vec<f64>,
    /// Sums of the largest rests: `tops[n]` of n sets.
    tops: Vec<f64>,
    prices: f64,
    above: f64,
    best: Option<Vec<u32>>,
    stop: &'a dyn Fn() -> bool,
}

impl Weigher {
    pub fn new(programs: usize, cores: usize) -> Self {
        let slots = vec![Slot::default(); 1 << programs.min(18)];
        Self { cores, prices: [0.0; 64], primed: false, slots, round: 0, nodes: 0 }
    }

    /// The heaviest cover of `everyone` by at most `groups` of `sets` (all of them subsets of it),
    /// if it weighs more than `above`.
    pub fn best(
        &mut self,
        everyone: Set,
        sets: &[Weighed],
        groups: usize,
        above: f64,
        stop: &dyn Fn() -> bool,
    ) -> Heaviest {
        let none = |bound| Heaviest { cover: None, bound };
        if everyone.is_empty() {
            let cover = (above < 0.0).then(|| (0.0, Vec::new()));
            return Heaviest { cover, bound: 0.0 };
        }
        let bound = self.price(everyone, sets, groups, above);
        if bound <= above {
            return none(bound);
        }
        let (kept, mut question) = self.question(everyone, sets, groups, above, stop);
        let numbered = kept.iter().zip(0..).map(|((set, _, _), place)| (*set, place));
        let Some(sorted) = sort(everyone, numbered) else { return none(above) };
        question.sorted = sorted;
        for list in &mut question.sorted {
            list.sort_by(|a, b| question.rests[num::index(b.1)].total_cmp(&question.rests[num::index(a.1)]));
        }
        self.round += 1;
        self.descend(&mut question, Set::all(everyone.len()), groups, 0.0, &mut Vec::new());
        let Some(places) = question.best else { return none(if stop() { bound } else { above }) };
        let places: Vec<usize> = places.into_iter().map(num::index).collect();
        let weight = places.iter().map(|place| kept[*place].1).sum();
        let cover = Some((weight, places.iter().map(|place| kept[*place].2).collect()));
        Heaviest { cover, bound: if stop() { bound } else { weight } }
    }

    /// Bounds on what parts of `everyone` can weigh, as tight as the prices allow.
    pub fn others(&mut self, everyone: Set, sets: &[Weighed], groups: usize, above: f64) -> Others {
        self.price(everyone, sets, groups, above);
        let (_, question) = self.question(everyone, sets, groups, f64::NEG_INFINITY, &|| false);
        Others { prices: self.prices, tops: question.tops, cores: self.cores }
    }

    /// Lowers the bound by adjusting the prices; keeps the best prices.
    fn price(&mut self, everyone: Set, sets: &[Weighed], groups: usize, above: f64) -> f64 {
        if !self.primed {
            let share = |set: &Weighed| set.1 / num::float_len(set.0.len());
            let mean = sets.iter().map(share).sum::<f64>() / num::float_len(sets.len().max(1));
            self.prices = [mean; 64];
            self.primed = true;
        }
        let mut prices = self.prices;
        let (mut best, mut length, mut patience) = (f64::INFINITY, 1.0, 0);
        for _ in 0..STEPS {
            let (bound, missing, square) = self.look(everyone, sets, groups, &prices);
            if bound < best {
                (best, patience) = (bound, 0);
                self.prices = prices;
            } else {
                patience += 1;
            }
            if best <= above || square <= 0.0 {
                break;
            }
            if patience > PATIENCE {
                (length, patience) = (length / 2.0, 0);
            }
            let aim = if above.is_finite() { bound - above } else { bound.abs() * 0.02 };
            let step = length * aim.max(bound.abs() * 1e-6) / square;
            everyone.iter().for_each(|program| prices[program] -= step * missing[program]);
        }
        best
    }

    /// The bound under the given prices; how often each program is missing from the sets that give
    /// the bound; the sum of the squares of these numbers.
    fn look(&self, everyone: Set, sets: &[Weighed], groups: usize, prices: &[f64; 64]) -> (f64, [f64; 64], f64) {
        let mut top: Vec<(f64, Set)> = Vec::with_capacity(groups + 1);
        for (set, weight, _) in sets {
            let rest = weight - worth(*set, prices);
            if top.len() < groups || rest > top[top.len() - 1].0 {
                let place = top.partition_point(|(other, _)| *other >= rest);
                top.insert(place, (rest, *set));
                top.truncate(groups);
            }
        }
        let must = everyone.len().div_ceil(self.cores);
        let mut missing = [0.0; 64];
        everyone.iter().for_each(|program| missing[program] = 1.0);
        let mut bound = worth(everyone, prices);
        for (_, (rest, set)) in top.iter().enumerate().filter(|(place, (rest, _))| *place < must || *rest > 0.0) {
            bound += rest;
            set.iter().for_each(|program| missing[program] -= 1.0);
        }
        let square = missing.iter().map(|miss| miss * miss).sum();
        (bound, missing, square)
    }

    fn question<'a>(
        &self,
        everyone: Set,
        sets: &[Weighed],
        groups: usize,
        above: f64,
        stop: &'a dyn Fn() -> bool,
    ) -> (Vec<Weighed>, Question<'a>) {
        let rest = |set: &Weighed| set.1 - worth(set.0, &self.prices);
        let prices = worth(everyone, &self.prices);
        let mut rests: Vec<f64> = sets.iter().map(rest).collect();
        let mut sorted = rests.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut tops = vec![0.0];
        sorted.iter().take(groups).for_each(|rest| tops.push(tops[tops.len() - 1] + rest));
        let mut question = Question { sorted: Vec::new(), rests: Vec::new(), tops, prices, above, best: None, stop };
        let must = everyone.len().div_ceil(self.cores);
        let others = question.most(must.saturating_sub(1), groups - 1);
        let kept: Vec<Weighed> = sets.iter().copied().filter(|set| prices + rest(set) + others > above).collect();
        rests.clear();
        rests.extend(kept.iter().map(rest));
        question.rests = rests;
        (kept, question)
    }

    fn descend(&mut self, question: &mut Question<'_>, left: Set, groups: usize, gathered: f64, chosen: &mut Vec<u32>) {
        if left.is_empty() {
            if question.prices + gathered > question.above {
                question.above = question.prices + gathered;
                question.best = Some(chosen.clone());
            }
            return;
        }
        let must = left.len().div_ceil(self.cores);
        let out = must > groups || question.prices + gathered + question.most(must, groups) <= question.above;
        if out || self.seen(left, groups, gathered) {
            return;
        }
        self.nodes += 1;
        if self.nodes.is_multiple_of(crate::watch::STRIDE) && (question.stop)() {
            return;
        }
        let others = question.most(must - 1, groups - 1);
        for index in 0..question.sorted[left.first()].len() {
            let (set, place) = question.sorted[left.first()][index];
            let rest = gathered + question.rests[num::index(place)];
            if question.prices + rest + others <= question.above {
                break;
            }
            if set.within(left) {
                chosen.push(place);
                self.descend(question, left.without(set), groups - 1, rest, chosen);
                chosen.pop();
            }
        }
    }

    /// Whether the same programs were left before, with no less weight gathered and no fewer
    /// groups. If not, records the state.
    fn seen(&mut self, left: Set, groups: usize, gathered: f64) -> bool {
        let place = left.slot(self.slots.len());
        let (slot, groups) = (&mut self.slots[place], num::narrow(groups));
        let same = slot.left == left.0 && slot.round == self.round;
        if same && slot.gathered >= gathered && slot.groups >= groups {
            return true;
        }
        *slot = Slot { left: left.0, gathered, round: self.round, groups };
        false
    }
}

impl Question<'_> {
    fn most(&self, must: usize, groups: usize) -> f64 {
        greatest(&self.tops, must, groups)
    }
}

/// See [`Weigher::others`].
pub(crate) struct Others {
    prices: [f64; 64],
    tops: Vec<f64>,
    cores: usize,
}

impl Others {
    /// An upper bound on the weight of a cover of `left` with at most `groups` of the sets.
    pub fn most(&self, left: Set, groups: usize) -> f64 {
        worth(left, &self.prices) + greatest(&self.tops, left.len().div_ceil(self.cores), groups)
    }
}

/// The greatest sum of the rests of at least `must` and at most `groups` sets.
fn greatest(tops: &[f64], must: usize, groups: usize) -> f64 {
    let range = must.min(tops.len() - 1)..=groups.min(tops.len() - 1);
    tops[range].iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn worth(set: Set, prices: &[f64; 64]) -> f64 {
    set.iter().map(|program| prices[program]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_of_all_pairings() {
        // Six programs in pairs; the weight of {a, b} is (a * b * 7) % 11. Compares the search with
        // all 15 pairings.
        let weight = |a: usize, b: usize| num::float_len((a * b * 7) % 11);
        let pairs: Vec<Weighed> = (0..6)
            .flat_map(|a| (a + 1..6).map(move |b| (a, b)))
            .zip(0..)
            .map(|((a, b), place)| (Set::of(&[a, b]), weight(a, b), place))
            .collect();
        let mut best = 0.0_f64;
        for b in 1..6 {
            let rest: Vec<usize> = (1..6).filter(|other| *other != b).collect();
            for d in 1..4 {
                let others: Vec<usize> = rest[1..].iter().copied().filter(|other| *other != rest[d]).collect();
                best = best.max(weight(0, b) + weight(rest[0], rest[d]) + weight(others[0], others[1]));
            }
        }
        let mut weigher = Weigher::new(6, 2);
        let all = Set::all(6);
        let found = weigher.best(all, &pairs, 3, f64::NEG_INFINITY, &|| false);
        assert_eq!(found.cover.unwrap().0, best);
        assert!(weigher.best(all, &pairs, 3, best - 0.5, &|| false).cover.is_some());
        assert!(weigher.best(all, &pairs, 3, best, &|| false).cover.is_none());
        assert!(weigher.best(all, &pairs, 2, 0.0, &|| false).cover.is_none());
    }
}
