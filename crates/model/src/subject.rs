//! What an action sets. Of two actions on one subject the later one holds, so that the earlier one
//! cannot be taken back alone.

use crate::ids::{LlcId, NodeId, Pid, Tid};
use crate::plan::Action;

/// What an action sets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Where a thread may run.
    Thread(Pid, Tid),
    /// Where pages of a process are.
    Pages(Pid),
    /// What a cluster of an LLC has.
    Cluster(LlcId, String),
    /// Where new pages of a process go: those of threads on a node, or all.
    Allocation(Pid, Option<NodeId>),
}

impl Subject {
    /// What an action sets; a withdrawal sets nothing.
    #[must_use]
    pub fn of(action: &Action) -> Option<Self> {
        match action {
            Action::MoveThread { pid, tid, .. } => Some(Self::Thread(*pid, *tid)),
            Action::MigratePages { pid, .. } => Some(Self::Pages(*pid)),
            Action::SetWays { llc, cluster, .. } => Some(Self::Cluster(*llc, cluster.clone())),
            Action::SetAllocation { pid, for_node, .. } => Some(Self::Allocation(*pid, *for_node)),
            Action::WithdrawPages { .. } => None,
        }
    }

    /// Whether an action on this subject replaces what an earlier one set. Migrations move each its
    /// own pages.
    #[must_use]
    pub const fn is_replaced(&self) -> bool {
        !matches!(self, Self::Pages(_))
    }

    /// The process that it is about, where it is one.
    #[must_use]
    pub const fn pid(&self) -> Option<Pid> {
        match self {
            Self::Thread(pid, _) | Self::Pages(pid) | Self::Allocation(pid, _) => Some(*pid),
            Self::Cluster(..) => None,
        }
    }
}
