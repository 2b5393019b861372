//! The machine of numasim, as a pure function of the accesses that are reported to it: per CPU a
//! private cache and a stream prefetcher, per last-level cache sets and way masks, per node a
//! memory controller and per link two queues.
//!
//! It knows physical addresses and guest time in picoseconds. It refuses to know QEMU, the guest,
//! clocks and files; the same calls give the same answers on any machine.

#![forbid(unsafe_code)]

mod account;
mod cache;
mod counters;
mod cpulist;
mod error;
mod llc;
mod machine;
mod memory;
pub mod num;
mod queue;
mod route;
mod shared;
mod spec;
mod spec_check;
mod stream;
mod windows;
pub mod x86;

pub use counters::{CpuCounters, LinkCounters, NodeCounters};
pub use cpulist::{CPUS, CpuList};
pub use error::{KnobError, SpecError};
pub use machine::Machine;
pub use shared::Shared;
pub use spec::{Latency, Link, Llc, Node, Prefetch, Private, Queue, Route, Spec};
pub use spec_check::NODES;
pub use windows::{Turn, Windows};
