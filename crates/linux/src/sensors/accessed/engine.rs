//! What every way of seeing accesses has in common.

use super::heat::Stretch;
use isobar_model::{NodeMap, Pages, Pid};
use std::collections::BTreeMap;

/// A process whose accesses are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its id.
    pub pid: Pid,
    /// Start time in ticks since boot: with the pid, its identity.
    pub start: u64,
    /// Its resident pages, as last counted: what a look at all of them costs.
    pub resident: u64,
}

/// What was accessed of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Which process this is, by its start.
    pub start: u64,
    /// Where.
    pub stretches: Vec<Stretch>,
    /// Accessed pages by node; `None` where the engine knows addresses only.
    pub by_node: Option<NodeMap<Pages>>,
}

/// A way of seeing which pages are accessed.
pub trait Engine: Send {
    /// What it is, for people, in one line.
    fn describe(&self) -> &'static str;

    /// Called in every sample with the processes of interest, the busiest first. Returns what is
    /// newly known.
    fn step(&mut self, wanted: &[Watched]) -> BTreeMap<Pid, Reading>;

    /// Processes that may not be watched, for want of permission.
    fn denied(&self) -> usize {
        0
    }
}
