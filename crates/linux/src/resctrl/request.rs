//! What a plan requests of resctrl, one request for each `set_ways`, and the outcome of each.

use super::clusters::{Cluster, Clusters, Key, Threads};
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
    /// number of threads that the plan named
    pub asked: usize,
}

/// The requests of a plan with their outcomes so far.
#[derive(Debug)]
pub struct Requests {
    list: Vec<(Request, Option<ActionOutcome>)>,
}

impl Requests {
    /// Requests of which none is settled yet.
    #[must_use]
    pub fn new(requests: Vec<Request>) -> Self {
        Self { list: requests.into_iter().map(|request| (request, None)).collect() }
    }

    /// The requests that are not settled, in order.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.list.iter().filter(|(_, outcome)| outcome.is_none()).map(|(request, _)| request)
    }

    /// The present clusters with the open requests applied. `screen` says which threads of a
    /// request can be put into its cluster, or why the request is not carried out, which settles
    /// it.
    pub fn target(
        &mut self,
        standing: Clusters,
        mut screen: impl FnMut(&Request) -> Result<Threads, ActionOutcome>,
    ) -> Clusters {
        let mut target = standing;
        for (request, outcome) in self.list.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            let Request { key, way_mask, percent, .. } = &*request;
            match screen(request) {
                Ok(threads) => target.set(key.clone(), Cluster { way_mask: *way_mask, percent: *percent, threads }),
                Err(why) => *outcome = Some(why),
            }
        }
        target
    }

    /// Settles the open requests for which `which` holds.
    pub fn settle(&mut self, outcome: &ActionOutcome, which: impl Fn(&Request) -> bool) {
        for (request, settled) in &mut self.list {
            if which(request) {
                settled.get_or_insert_with(|| outcome.clone());
            }
        }
    }

    /// Settles the last open request about a cluster, and returns whether there was one.
    pub fn settle_last(&mut self, key: &Key, outcome: &ActionOutcome) -> bool {
        let of_key =
            |(request, settled): &&mut (Request, Option<ActionOutcome>)| settled.is_none() && request.key == *key;
        let last = self.list.iter_mut().rev().find(of_key);
        last.map(|(_, settled)| *settled = Some(outcome.clone())).is_some()
    }

    /// The cluster to drop when an LLC has too many: the last requested one that does not exist
    /// yet, else the last requested one, else the last existing one.
    #[must_use]
    pub fn surplus(&self, llc: LlcId, standing: &Clusters) -> Option<Key> {
        let here = || self.open().rev().filter(|request| request.key.llc == llc && request.asked > 0);
        let fresh = here().find(|request| standing.get(&request.key).is_none());
        let key = fresh.or_else(|| here().next()).map(|request| request.key.clone());
        key.or_else(|| standing.keys().filter(|key| key.llc == llc).last().cloned())
    }

    /// The outcome of each request; those still open were done.
    #[must_use]
    pub fn into_outcomes(self) -> Vec<ActionOutcome> {
        self.list.into_iter().map(|(_, outcome)| outcome.unwrap_or(ActionOutcome::Done)).collect()
    }
}
