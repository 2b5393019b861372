//! The latency probe (CAMM, section IV.A): how long a load takes from the CPUs of each node to the
//! memory of each node, at present, under whatever load there is. It needs no counters and no
//! privileges.
//!
//! There is one thread per node, on one of its CPUs for a round. The thread that requests a round
//! waits meanwhile, so on its own node the probe takes the CPU that becomes free.
//! `docs/design/probe.md` describes the method and its readings. The probe knows times and places;
//! whether a node is congested is decided elsewhere.
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
