//! Defines what all ways of seeing accesses have in common.

use super::heat::AccessedRange;
use isobar_model::{NodeMap, Pages, Pid};
use std::collections::BTreeMap;

/// A process whose accesses are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its id.
    pub pid: Pid,
    /// Start time in ticks since boot: with the pid, its identity.
    pub start: u64,
    /// Its resident pages, as last counted: the cost of looking at all of them.
    pub resident: u64,
}

/// What a process accessed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The start time of the process, which identifies it.
    pub start: u64,
    /// The stretches that were accessed.
    pub stretches: Vec<AccessedRange>,
    /// Accessed pages by node; `None` if the engine knows addresses only.
    pub by_node: Option<NodeMap<Pages>>,
}

/// A way of seeing which pages are accessed.
pub trait Engine: Send {
    /// Describes the engine for people, in one line.
    fn describe(&self) -> &'static str;

    /// Called in every sample with the processes of interest, the busiest first. Returns the
    /// readings that are new.
    fn step(&mut self, wanted: &[Watched]) -> BTreeMap<Pid, Reading>;

    /// Number of processes that may not be watched, for lack of permission.
    fn denied(&self) -> usize {
        0
    }
}
