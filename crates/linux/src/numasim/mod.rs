//! The test backend for guests of numasim, an emulated NUMA machine with a page of counters and knobs (`numasim-page`): counters of
//! CPUs attributed to threads, and cache ways by the classes of CPUs, where a real machine has a PMU and resctrl.
//!
//! It is never chosen by itself: the configuration names it. It knows the page; what counters and ways are for is known elsewhere.

pub mod counters;
mod error;
pub mod page;
pub mod placement;
pub mod share;
pub mod topology;
pub mod ways;

pub use counters::PageCounters;
pub use error::NumasimError;
pub use page::Page;
pub use ways::PageWays;
