//! What a page migration is asked for, and its bounds.

use super::around::PageRange;
use isobar_model::{Bytes, NodeId, PageSelection, Pages, Pid};
use std::path::PathBuf;

/// Bounds of page migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOptions {
    /// Free memory that is left on the target.
    pub reserve: Bytes,
    /// Where the kernel describes nodes.
    pub nodes: PathBuf,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self { reserve: Bytes(64 << 20), nodes: "/sys/devices/system/node".into() }
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
    /// Which.
    pub select: PageSelection,
    /// Sampled addresses; empty where addresses are not sampled.
    pub addresses: &'a [u64],
    /// Where accessed pages are, those accessed most first; for [`PageSelection::Accessed`].
    pub accessed: &'a [PageRange],
    /// Whether pages far from every sample go, too, once those around the samples are fewer than
    /// asked for: where all threads of the process have gone, not where the samples are of one
    /// thread.
    pub fill_up: bool,
}
