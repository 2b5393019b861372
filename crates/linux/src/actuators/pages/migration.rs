//! The request for a page migration, and its limits.

use super::around::PageRange;
use crate::kernel::node_memory::NODES;
use isobar_model::{Bytes, NodeId, PageSelection, Pages, Pid};
use std::path::PathBuf;

/// Limits of page migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOptions {
    /// Memory that is left free on the target.
    pub reserve: Bytes,
    /// The folder in which the kernel describes nodes.
    pub nodes: PathBuf,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self { reserve: Bytes(64 << 20), nodes: NODES.into() }
    }
}

/// A request to move pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration<'a> {
    /// The process.
    pub pid: Pid,
    /// Its start time, as it was observed.
    pub pid_start: u64,
    /// Where the pages are.
    pub from: NodeId,
    /// Where they go.
    pub to: NodeId,
    /// Maximum number of pages to move.
    pub pages: Pages,
    /// Which pages.
    pub select: PageSelection,
    /// Sampled addresses; empty if addresses are not sampled.
    pub addresses: &'a [u64],
    /// Where accessed pages are, those accessed most first; for [`PageSelection::Accessed`].
    pub accessed: &'a [PageRange],
    /// If the pages around the samples are fewer than requested, whether pages far from every
    /// sample go, too. That is right if all threads of the process have moved, but not if the
    /// samples are those of one thread.
    pub fill_up: bool,
}
