//! What a policy wants done: actions, each with its reason in words. The log, `explain`, the TUI
//! and the report print that reason.

use crate::change::{Effect, Prediction};
use crate::cpuset::CpuSet;
use crate::ids::{CpuId, LlcId, NodeId, Pid, Tid};
use crate::serial;
use crate::units::Pages;
use serde::{Deserialize, Serialize};

/// The decision of one epoch. Actions are carried out in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Canonical name of the policy. It may be missing: whoever reads such a plan knows which
    /// policy was asked.
    #[serde(default)]
    pub policy: String,
    /// What to do.
    pub actions: Vec<Action>,
    /// The actions that policies other than `policy` decided, if groups of processes have policies
    /// of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PlanPart>,
    /// What the policy reports beyond its actions: why it did nothing, what it left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What is expected of changes that begin with these actions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<Prediction>,
    /// The effects of earlier changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
}

/// What one policy decided for its group of processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanPart {
    /// The group, as the user named it.
    pub group: String,
    /// Canonical name of its policy.
    pub policy: String,
    /// Its actions, by index.
    pub actions: Vec<usize>,
}

impl Plan {
    /// A plan that does nothing.
    #[must_use]
    pub fn nothing(policy: &str) -> Self {
        Self { policy: policy.to_owned(), ..Self::default() }
    }

    /// The plan of an epoch in which a person had paused decisions.
    #[must_use]
    pub fn paused(policy: &str) -> Self {
        Self { notes: vec![PAUSED.to_owned()], ..Self::nothing(policy) }
    }

    /// Whether the policy was not asked because decisions were paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.notes.first().is_some_and(|note| note == PAUSED) && self.actions.is_empty()
    }

    /// The policy that decided an action.
    #[must_use]
    pub fn decided_by(&self, index: usize) -> &str {
        let part = self.parts.iter().find(|part| part.actions.contains(&index));
        part.map_or(&self.policy, |part| &part.policy)
    }

    /// Keeps the actions that `keep` admits. The indices in predictions and parts are adjusted; a
    /// prediction or part that has lost all its actions is removed too.
    pub fn retain_actions(&mut self, keep: impl Fn(&Action) -> bool) {
        let kept: Vec<bool> = self.actions.iter().map(keep).collect();
        let is_kept = |index: &usize| kept.get(*index).copied().unwrap_or(false);
        let now_at = |index: usize| kept[..index].iter().filter(|kept| **kept).count();
        self.predictions.retain_mut(|prediction| {
            let had = !prediction.actions.is_empty();
            prediction.actions.retain(is_kept);
            prediction.actions.iter_mut().for_each(|index| *index = now_at(*index));
            !(had && prediction.actions.is_empty())
        });
        self.parts.retain_mut(|part| {
            part.actions.retain(is_kept);
            part.actions.iter_mut().for_each(|index| *index = now_at(*index));
            !part.actions.is_empty()
        });
        let mut all = kept.iter();
        self.actions.retain(|_| all.next().copied().unwrap_or(true));
    }
}

/// The note of an epoch in which nothing was decided because a person had paused decisions.
const PAUSED: &str = "paused: nothing is decided until `isobar resume`";

/// One change to the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Let a thread run on one CPU only, or on several among which the kernel may balance it.
    MoveThread {
        /// its process
        pid: Pid,
        /// the thread
        tid: Tid,
        /// the CPU that it goes to
        cpu: CpuId,
        /// the CPUs that it may run on from then on, `cpu` among them; `None`: `cpu` alone. A
        /// thread that was given these CPUs before stays on the one where the kernel has put it
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpus: Option<CpuSet>,
        /// why, in words
        reason: String,
    },
    /// Move pages of a process from node to node.
    MigratePages {
        /// the process
        pid: Pid,
        /// where they are
        #[serde(rename = "from_node")]
        from: NodeId,
        /// where they go
        #[serde(rename = "to_node")]
        to: NodeId,
        /// maximum number of base pages
        pages: Pages,
        /// which pages
        #[serde(default, skip_serializing_if = "PageSelection::is_default")]
        select: PageSelection,
        /// the thread whose accesses select the pages, if it is a single one
        #[serde(rename = "for_tid", skip_serializing_if = "Option::is_none")]
        for_thread: Option<Tid>,
        /// why, in words
        reason: String,
    },
    /// Drop the pages of a process that are under way and not copied yet. Pages that have moved
    /// stay where they are, and pages that the same plan asks for are not dropped.
    WithdrawPages {
        /// the process
        pid: Pid,
        /// only migrations from this node; `None`: from any
        #[serde(rename = "from_node", default, skip_serializing_if = "Option::is_none")]
        from: Option<NodeId>,
        /// only migrations to this node; `None`: to any
        #[serde(rename = "to_node", default, skip_serializing_if = "Option::is_none")]
        to: Option<NodeId>,
        /// why, in words
        reason: String,
    },
    /// Give a cluster of threads a part of an LLC.
    SetWays {
        /// the LLC
        llc: LlcId,
        /// the cluster's name, unique in its LLC
        cluster: String,
        /// bits of the ways it may allocate into
        #[serde(with = "serial::mask")]
        way_mask: u64,
        /// per cent of the memory bandwidth that each of its threads may take (resctrl's `MB`), 1
        /// to 100; `None`: as it is
        #[serde(skip_serializing_if = "Option::is_none")]
        memory_bandwidth_percent: Option<u32>,
        /// its threads
        threads: Vec<Tid>,
        /// why, in words
        reason: String,
    },
    /// Let a process allocate new pages on a node, or spread over several.
    SetAllocation {
        /// the process
        pid: Pid,
        /// the threads that run on this node; `None`: all of the process
        #[serde(rename = "for_node", skip_serializing_if = "Option::is_none")]
        for_node: Option<NodeId>,
        /// the node; if pages are spread, the one that gets most
        node: NodeId,
        /// how new pages are spread over nodes; empty: all on `node`
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        weights: Vec<NodeWeight>,
        /// why, in words
        reason: String,
    },
}

/// The number of new pages that go to a node in each round, like the weights of weighted
/// interleave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeWeight {
    /// The node.
    pub node: NodeId,
    /// Its weight, 1 to 255.
    pub weight: u8,
}

/// Which pages a migration takes (DINO, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageSelection {
    /// The pages before and after sampled addresses (sequential-forward-backward).
    #[default]
    AroundSamples,
    /// Pages accessed in the interval before (CAPM, section VI), those accessed most first (our
    /// order; the paper names none).
    Accessed,
    /// Any resident page: the whole resident set if `pages` covers it.
    ResidentSet,
}

impl PageSelection {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Action {
    /// The reason in words.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::MoveThread { reason, .. }
            | Self::MigratePages { reason, .. }
            | Self::WithdrawPages { reason, .. }
            | Self::SetWays { reason, .. }
            | Self::SetAllocation { reason, .. } => reason,
        }
    }

    /// The reason in words, for rewording.
    pub const fn reason_mut(&mut self) -> &mut String {
        match self {
            Self::MoveThread { reason, .. }
            | Self::MigratePages { reason, .. }
            | Self::WithdrawPages { reason, .. }
            | Self::SetWays { reason, .. }
            | Self::SetAllocation { reason, .. } => reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(tid: u32) -> Action {
        Action::MoveThread { pid: Pid(1), tid: Tid(tid), cpu: CpuId(0), cpus: None, reason: "because".into() }
    }

    /// Five actions, of which the second and the fourth are removed: `0 2 4` become `0 1 2`.
    #[test]
    fn predictions_follow_the_actions_that_are_kept() {
        let prediction =
            |change, actions: &[usize]| Prediction { change, actions: actions.to_vec(), ..Prediction::default() };
        let predictions =
            vec![prediction(1, &[0, 1]), prediction(2, &[1, 3]), prediction(3, &[2, 4]), prediction(4, &[])];
        let part = |actions: &[usize]| PlanPart { actions: actions.to_vec(), ..PlanPart::default() };
        let parts = vec![part(&[1]), part(&[2, 3])];
        let mut plan = Plan { actions: (0..5).map(moved).collect(), parts, predictions, ..Plan::nothing("test") };
        plan.retain_actions(|action| ![moved(1), moved(3)].contains(action));
        assert_eq!(plan.actions, [moved(0), moved(2), moved(4)]);
        assert_eq!(plan.predictions, [prediction(1, &[0]), prediction(3, &[1, 2]), prediction(4, &[])]);
    }
}
