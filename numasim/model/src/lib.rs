//! The machine of numasim, as a pure function of the accesses that are reported to it. It has, per
//! CPU, a private cache, a stream prefetcher and outstanding misses; per last-level cache, sets and
//! way masks; per line, the caches that have it; per node, a memory controller; and per link, two
//! queues.
//!
//! It knows physical addresses and guest time in picoseconds. It does not know QEMU, the guest,
//! clocks or files. The same calls give the same results on any machine.

#![forbid(unsafe_code)]

mod access;
mod account;
mod apart;
mod cache;
mod coherence;
mod core;
mod counters;
mod cpulist;
mod curve;
mod error;
mod flight;
pub mod flow;
mod issue;
mod llc;
mod machine;
mod memory;
pub mod num;
pub mod page_trace;
mod presence;
mod queue;
mod route;
mod scoreboard;
mod shared;
mod snoop;
mod spaces;
mod spec;
mod spec_check;
mod stream;
mod threads;
mod tlb;
mod windows;
pub mod x86;

pub use crate::core::{Access, Core};
pub use apart::Apart;
pub use counters::{CpuCounters, LinkCounters, NodeCounters};
pub use cpulist::{CPUS, CpuList};
pub use error::{KnobError, SpecError};
pub use issue::{Dispatch, Outcome};
pub use machine::Machine;
pub use page_trace::{PageCounts, PageTrace};
pub use shared::Shared;
pub use spaces::Spaces;
pub use spec::{
    Coherence, LOCAL_OF_HIT, Latency, Link, Llc, Node, Overlap, Prefetch, Private, Queue, Route, Spec, Tlb,
};
pub use spec_check::NODES;
pub use threads::{Counts, Ran, Threads};
pub use windows::{NextStep, Windows};
