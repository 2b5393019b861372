//! isobar on numasim, an emulated NUMA machine with a page of counters and knobs (`numasim-page`):
//! counters of threads, else of CPUs, and cache ways by the classes of CPUs, behind the seams where
//! a real machine has perf and resctrl.
//!
//! It is used only where the configuration names it. It knows the page; what counters and ways are
//! for is known elsewhere.

#![forbid(unsafe_code)]

pub mod counters;
mod error;
pub mod page;
pub mod placement;
pub mod topology;
pub mod ways;

pub use counters::PageCounters;
pub use error::NumasimError;
pub use page::Page;
pub use ways::PageWays;
