//! What a plan wants of resctrl, one wish for each `set_ways`, and what becomes of each.

use super::clusters::{Clusters, Key, Threads};
use isobar_model::{ActionOutcome, LlcId};

/// A cluster that a plan wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// its LLC and name
    pub key: Key,
    /// bits of the ways that it may fill
    pub way_mask: u64,
    /// per cent of the memory bandwidth that each of its threads may take
    pub percent: Option<u32>,
    /// its threads that were in the last sample
    pub threads: Threads,
    /// how many threads the plan named
    pub asked: usize,
}

/// The wishes of a plan with what has become of them so far.
#[derive(Debug)]
pub struct Wishes {
    list: Vec<(Wish, Option<ActionOutcome>)>,
}

impl Wishes {
    /// Nothing is settled yet.
    #[must_use]
    pub fn new(wishes: Vec<Wish>) -> Self {
        Self { list: wishes.into_iter().map(|wish| (wish, None)).collect() }
    }

    /// The wishes that are not settled, in order, with their number.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = (usize, &Wish)> {
        self.list
            .iter()
            .enumerate()
            .filter(|(_, (_, outcome))| outcome.is_none())
            .map(|(number, (wish, _))| (number, wish))
    }

    /// Settles one.
    pub fn settle(&mut self, number: usize, outcome: ActionOutcome) {
        if let Some((_, settled @ None)) = self.list.get_mut(number) {
            *settled = Some(outcome);
        }
    }

    /// Settles all that are open.
    pub fn settle_all(&mut self, outcome: &ActionOutcome) {
        for (_, settled) in &mut self.list {
            settled.get_or_insert_with(|| outcome.clone());
        }
    }

    /// Settles the last open wish about a cluster; whether there was one.
    pub fn settle_last(&mut self, key: &Key, outcome: &ActionOutcome) -> bool {
        let number = self.open().rev().find(|(_, wish)| wish.key == *key).map(|(number, _)| number);
        number.map(|number| self.settle(number, outcome.clone())).is_some()
    }

    /// The cluster to do without when an LLC has too many: the last that a wish would add to those that stand, else the last that
    /// is wished for, else the last that stands.
    #[must_use]
    pub fn surplus(&self, llc: LlcId, standing: &Clusters) -> Option<Key> {
        let here = || self.open().rev().map(|(_, wish)| wish).filter(|wish| wish.key.llc == llc && wish.asked > 0);
        let fresh = here().find(|wish| standing.get(&wish.key).is_none());
        let key = fresh.or_else(|| here().next()).map(|wish| wish.key.clone());
        key.or_else(|| standing.keys().filter(|key| key.llc == llc).last().cloned())
    }

    /// What became of each; what is still open was done.
    #[must_use]
    pub fn into_outcomes(self) -> Vec<ActionOutcome> {
        self.list.into_iter().map(|(_, outcome)| outcome.unwrap_or(ActionOutcome::Done)).collect()
    }
}
