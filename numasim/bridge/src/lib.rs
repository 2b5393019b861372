//! isobar on numasim, an emulated NUMA machine with a page of counters and knobs (`numasim-page`):
//! counters of threads or, failing that, of CPUs, and cache ways by classes of CPUs. They implement
//! the interfaces that perf and resctrl implement on a real machine.
//!
//! The crate is used only if the configuration names it. It knows the page; it does not know what
//! counters and ways are for.

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
