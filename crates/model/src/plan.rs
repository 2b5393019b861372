//! What a policy wants done: actions, each with its reason in words. The log, `explain`, the TUI
//! and the report print that reason.

use crate::ids::{CpuId, LlcId, NodeId, Pid, Tid};
use crate::units::Pages;

/// The decision of one epoch. Actions are carried out in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Canonical name of the policy.
    pub policy: String,
    /// What to do.
    pub actions: Vec<Action>,
    /// What the policy wants people to know beyond its actions: why it did nothing, what it left
    /// alone.
    pub notes: Vec<String>,
}

impl Plan {
    /// A plan that does nothing.
    #[must_use]
    pub fn nothing(policy: &str) -> Self {
        Self { policy: policy.to_owned(), ..Self::default() }
    }
}

/// One change to the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Let a thread run on one CPU only.
    MoveThread {
        /// its process
        pid: Pid,
        /// the thread
        tid: Tid,
        /// the CPU
        cpu: CpuId,
        /// why, in words
        reason: String,
    },
    /// Move pages of a process from node to node.
    MigratePages {
        /// the process
        pid: Pid,
        /// where they are
        from: NodeId,
        /// where they go
        to: NodeId,
        /// maximum number of base pages
        pages: Pages,
        /// which pages
        select: PageSelection,
        /// the thread whose accesses select the pages, where it is one
        for_thread: Option<Tid>,
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
        way_mask: u64,
        /// per cent of the memory bandwidth that each of its threads may take (resctrl's `MB`), 1
        /// to 100; `None`: as it is
        memory_bandwidth_percent: Option<u32>,
        /// its threads
        threads: Vec<Tid>,
        /// why, in words
        reason: String,
    },
    /// Let a process allocate new pages on a node.
    SetAllocation {
        /// the process
        pid: Pid,
        /// the node
        node: NodeId,
        /// why, in words
        reason: String,
    },
}

/// Which pages a migration takes (DINO, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageSelection {
    /// The pages before and after sampled addresses (sequential-forward-backward).
    #[default]
    AroundSamples,
    /// Any resident page: the whole resident set when `pages` covers it.
    ResidentSet,
}

impl Action {
    /// The reason in words.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::MoveThread { reason, .. }
            | Self::MigratePages { reason, .. }
            | Self::SetWays { reason, .. }
            | Self::SetAllocation { reason, .. } => reason,
        }
    }
}
