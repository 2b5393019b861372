//! What an action sets. Of two actions on one subject, the later one holds, so that the earlier one
//! cannot be taken back alone.

use crate::ids::{LlcId, NodeId, Pid, Tid};
use crate::plan::Action;

/// What an action sets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The CPUs on which a thread may run.
    Thread(Pid, Tid),
    /// The nodes of a process's pages.
    Pages(Pid),
    /// The ways, bandwidth and threads of a cluster of an LLC.
    Cluster(LlcId, String),
    /// The nodes of a process's new pages: those of threads on one node, or all.
    Allocation(Pid, Option<NodeId>),
}

impl Subject {
    /// The subject of an action; a withdrawal sets nothing.
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

    /// Whether an action on this subject replaces what an earlier action set. Migrations do not:
    /// each moves its own pages.
    #[must_use]
    pub const fn is_replaced(&self) -> bool {
        !matches!(self, Self::Pages(_))
    }

    /// The process that it concerns, if it is a single one.
    #[must_use]
    pub const fn pid(&self) -> Option<Pid> {
        match self {
            Self::Thread(pid, _) | Self::Pages(pid) | Self::Allocation(pid, _) => Some(*pid),
            Self::Cluster(..) => None,
        }
    }
}
