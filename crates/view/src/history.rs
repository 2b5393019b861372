//! The last figures of each node, for sparklines.

use isobar_model::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// Number of epochs that are remembered.
const KEPT: usize = 60;

/// The state of a node at the end of an epoch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past {
    /// The fraction of its CPUs that was busy.
    pub busy: Option<f64>,
    /// The used fraction of its controller's capacity.
    pub load: Option<f64>,
    /// Its latency.
    pub latency: Option<f64>,
}

/// The last figures of every node.
#[derive(Clone, Debug, Default)]
pub struct History(BTreeMap<NodeId, VecDeque<Past>>);

impl History {
    /// Adds the figures of an epoch.
    pub fn take(&mut self, node: NodeId, now: Past) {
        let kept = self.0.entry(node).or_default();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(now);
    }

    /// One of the figures over time, the newest last.
    pub fn of(&self, node: NodeId, figure: impl Fn(&Past) -> Option<f64>) -> Vec<Option<f64>> {
        self.0.get(&node).into_iter().flatten().map(figure).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_last_and_the_oldest_are_forgotten() {
        let mut history = History::default();
        (0..100u32).for_each(|k| history.take(NodeId(1), Past { busy: Some(f64::from(k)), ..Past::default() }));
        let busy = history.of(NodeId(1), |past| past.busy);
        assert_eq!((busy.len(), busy[0], busy[59]), (60, Some(40.0), Some(99.0)));
        assert!(history.of(NodeId(0), |past| past.busy).is_empty());
    }
}
