//! The yardstick: the best static arrangement of a workload's threads, pages and cache ways under
//! the contention model, by mean slowdown. It knows the programs as the simulator does, which no
//! policy can.
//!
//! **What is searched.** [`isobar_sim::arrangement`] says what an arrangement is and what it
//! computes: all applications run, all the time, and nothing moves. Every thread has a last-level
//! cache, so that no CPU is idle while another has two threads. The pages of each application are
//! where the workload leaves them, with its threads, on one node, or split over all nodes in
//! proportion to their bandwidth; they must fit. The applications of a cache share its ways in sets
//! that do not overlap, at most as many as there are classes of service.
//!
//! **How.** Where at most a thousand arrangements differ, all are looked at (`exhaust.rs`). Else
//! small changes are made of two plain ones as long as one of them helps (`climb.rs`); then a few
//! changes are made by lot, from a fixed sequence, and it goes on from there, until the questions
//! are used up. The result is the same every time, unless a clock ended the search.
//!
//! **What is proved** is a bound on the mean slowdown that holds for all arrangements, those that
//! are not searched as well (`isobar_contention::least_cost`, derived in
//! `docs/design/contention-fixed-point.md`). Where all were looked at, or the best found is within
//! [`PROVED`] of the bound, the best found is the optimum; else the gap says what may be left.

mod choices;
mod climb;
mod exhaust;
mod found;
mod moves;
mod search;
mod text;

pub use found::{Joint, JointApp, JointWays, PROVED};
pub use search::{QUESTIONS, joint};
pub use text::{joint_table, joints_table};

#[cfg(test)]
mod tests;
