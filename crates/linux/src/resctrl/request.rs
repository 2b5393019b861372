//! What a plan wants of resctrl, one request for each `set_ways`, and what becomes of each.

use super::clusters::{Clusters, Key, Threads};
use isobar_model::{ActionOutcome, LlcId};

/// A cluster that a plan wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
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

/// The requests of a plan with what has become of them so far.
#[derive(Debug)]
pub struct Requests {
    list: Vec<(Request, Option<ActionOutcome>)>,
}

impl Requests {
    /// Nothing is settled yet.
    #[must_use]
    pub fn new(requests: Vec<Request>) -> Self {
        Self { list: requests.into_iter().map(|request| (request, None)).collect() }
    }

    /// The requests that are not settled, in order, with their number.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = (usize, &Request)> {
        self.list
            .iter()
            .enumerate()
            .filter(|(_, (_, outcome))| outcome.is_none())
            .map(|(number, (request, _))| (number, request))
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

    /// Settles the last open request about a cluster; whether there was one.
    pub fn settle_last(&mut self, key: &Key, outcome: &ActionOutcome) -> bool {
        let number = self.open().rev().find(|(_, request)| request.key == *key).map(|(number, _)| number);
        number.map(|number| self.settle(number, outcome.clone())).is_some()
    }

    /// The cluster to do without when an LLC has too many: the last that a request would add to
    /// those that stand, else the last that is requested, else the last that stands.
    #[must_use]
    pub fn surplus(&self, llc: LlcId, standing: &Clusters) -> Option<Key> {
        let here = || {
            self.open().rev().map(|(_, request)| request).filter(|request| request.key.llc == llc && request.asked > 0)
        };
        let fresh = here().find(|request| standing.get(&request.key).is_none());
        let key = fresh.or_else(|| here().next()).map(|request| request.key.clone());
        key.or_else(|| standing.keys().filter(|key| key.llc == llc).last().cloned())
    }

    /// What became of each; what is still open was done.
    #[must_use]
    pub fn into_outcomes(self) -> Vec<ActionOutcome> {
        self.list.into_iter().map(|(_, outcome)| outcome.unwrap_or(ActionOutcome::Done)).collect()
    }
}
