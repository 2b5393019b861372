//! What a person sees of a machine: turns the epochs of a run into nodes, caches, links, programs,
//! and a verdict in words. Everything that shows a run (a terminal, a report, a triage) uses this
//! crate, so that all of them say the same.
//!
//! [`Watch`] takes one [`Moment`] after the other, live, simulated or recorded, and makes a
//! [`View`] of each. Slowdowns and harm between programs are the estimates on which the policy
//! `isobar` bases its decisions ([`isobar_policy::isobar::outlook`]). What was not measured is
//! `None`, and [`View::gaps`] says why.
//!
//! Deliberately absent: I/O, clocks, colours, and the width of anything.

#![forbid(unsafe_code)]

mod actions;
mod answer;
mod caches;
mod changes;
mod gaps;
pub mod group;
mod history;
mod moment;
mod nodes;
mod programs;
#[cfg(test)]
mod test_kit;
mod verdict;
mod view;
mod watch;
pub mod words;

pub use changes::{ActionView, LastAction, Measured, PlannedMove, Proposed};
pub use moment::Moment;
pub use view::{
    Answer, Class, Cluster, Finding, Gap, Harm, LinkView, LlcView, NodeView, Pair, ProgramView, ThreadView, Verdict,
    View,
};
pub use watch::Watch;
