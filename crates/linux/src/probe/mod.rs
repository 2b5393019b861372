//! The latency probe (CAMM, section IV.A): how long a load takes from the CPUs of each node to the
//! memory of each node, now, under whatever load there is. No counters, no privileges.
//!
//! One thread a node, on one CPU of it for a round: the thread that asks waits meanwhile, so on its
//! own node the probe takes the CPU that it leaves. `docs/design/probe.md` has the method and its
//! readings. It knows times and places; whether a node is congested is decided elsewhere.
//!
//! Modules import downwards only:
//!
//! ```text
//! bandwidth   weights        streams instead of single loads; their sums as weights of interleave
//! prober                     threads, rounds, matrices
//! row                        what a thread does in a round
//! memory                     pages on a node
//! timer   pattern   figures   reason
//! instructions
//! ```

pub mod bandwidth;
mod figures;
mod instructions;
mod memory;
mod pattern;
mod prober;
mod reason;
mod row;
mod timer;
pub mod weights;

pub use figures::Figures;
pub use prober::{Prober, Round, unavailable};
pub use reason::NotMeasured;
