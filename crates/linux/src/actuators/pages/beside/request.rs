//! Requests to the thread that copies pages, and its reports.

use super::super::around::PageRange;
use super::super::migration::Migration;
use isobar_model::{NodeId, PageMove, PageSelection, Pages, Pid};
use std::collections::BTreeSet;

/// A request to move pages that outlives the plan that made it. Fields as in [`Migration`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
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
    /// Sampled addresses.
    pub addresses: Vec<u64>,
    /// Where accessed pages are, the hottest first.
    pub accessed: Vec<PageRange>,
    /// Whether pages far from every sample go, too.
    pub fill_up: bool,
}

impl Request {
    /// The same as a borrowed [`Migration`].
    pub fn migration(&self) -> Migration<'_> {
        let Self { pid, pid_start, from, to, pages, select, fill_up, .. } = *self;
        let (addresses, accessed) = (&self.addresses[..], &self.accessed[..]);
        Migration { pid, pid_start, from, to, pages, select, addresses, accessed, fill_up }
    }
}

/// What has happened since the last look.
#[derive(Debug, Default)]
pub struct News {
    /// The migrations that are under way or have ended; ascending by number.
    pub flights: Vec<PageMove>,
    /// Pages that moved, with the node that they left and the node that they reached.
    pub moved: Vec<(NodeId, NodeId, Pages)>,
    /// Processes whose pages are not where they were last seen.
    pub outdated: BTreeSet<Pid>,
}
