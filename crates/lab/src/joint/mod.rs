//! The yardstick: the best static arrangement of a workload's threads, pages and cache ways under
//! the contention model, by mean slowdown. It knows the programs as the simulator does, which no
//! policy can.
//!
//! **What is searched.** [`isobar_sim::arrangement`] defines an arrangement and what is computed
//! for it: all applications run all the time, and nothing moves. Every thread is assigned to a
//! last-level cache, such that no CPU is idle while another has two threads. The pages of each
//! application are where the workload leaves them, with its threads, on one node, or split over all
//! nodes in proportion to their bandwidth; they must fit. The applications of a cache share its
//! ways in sets that do not overlap, at most as many sets as there are classes of service.
//!
//! **How.** If at most a thousand arrangements differ, all of them are evaluated (`exhaust.rs`).
//! Otherwise the search starts from two simple arrangements and makes small changes as long as one
//! of them helps (`climb.rs`). Then it makes a few random changes, from a fixed sequence, and
//! climbs from there, until the allowed calls of the model are used up. The result is the same
//! every time, unless a clock ended the search.
//!
//! **What is proved** is a bound on the mean slowdown that holds for all arrangements, including
//! those that are not searched (`isobar_contention::least_cost`, derived in
//! `docs/design/contention-fixed-point.md`). If all arrangements were evaluated, or the best found
//! is within [`PROVED`] of the bound, the best found is the optimum. Otherwise the gap says how
//! much better an arrangement could still be.

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
