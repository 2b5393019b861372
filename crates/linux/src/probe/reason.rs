//! Why a pair of nodes was not measured, in one line with the remedy.

use isobar_model::NodeId;

/// Why there is no latency from a node to a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NotMeasured {
    /// no instructions for it
    #[error("isobar can measure memory latency on x86-64 and AArch64 only")]
    Architecture,
    /// the node has no CPU
    #[error("node {0} has no CPU online: no latency can be measured from there")]
    NoCpu(NodeId),
    /// the node has no memory
    #[error("node {0} has no memory")]
    NoMemory(NodeId),
    /// affinity or cpuset leave out its CPUs
    #[error(
        "isobar is not allowed to run on any CPU of node {0}: widen its affinity (taskset) or its cpuset (cpuset.cpus)"
    )]
    CpusForbidden(NodeId),
    /// the cpuset leaves out its memory
    #[error("isobar is not allowed to use memory of node {0}: widen its cpuset (cpuset.mems)")]
    MemoryForbidden(NodeId),
    /// its pages came from elsewhere
    #[error("node {0} has no free memory for the probe's pages")]
    Full(NodeId),
    /// too few samples
    #[error("nearly every load from node {0} was interrupted: its CPUs are too busy to measure on")]
    Interrupted(NodeId),
    /// the thread did not run in time
    #[error("the probing thread of node {0} did not run in time: its CPUs are too busy to measure on")]
    Late(NodeId),
    /// anything else that the kernel refuses
    #[error("{what}: {why}")]
    Refused {
        /// what was asked for
        what: &'static str,
        /// the kernel's answer
        why: String,
    },
}

impl NotMeasured {
    /// Whether the reason holds until the machine changes, rather than in this round only.
    #[must_use]
    pub const fn lasts(&self) -> bool {
        !matches!(self, Self::Interrupted(_) | Self::Late(_))
    }

    /// A refusal of the kernel.
    pub fn refused(what: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::Refused { what, why: error.to_string() }
    }
}
