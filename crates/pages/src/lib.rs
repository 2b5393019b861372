//! Page usage: how often each thread of a program accesses each page, what this implies for mapping
//! pages to nodes, and the mappings. After Diener et al., Modeling Memory Access Behavior for Data
//! Mapping (2016), "the paper" below.
//!
//! ```text
//! usage      accesses by page and thread, at any page size
//! homes      which node each thread runs on
//! seen       usage by node: of each page all accesses, the most from one node, and which
//! metrics    exclusivity, balance, locality (equations 1 to 5, 8, 9, 11, 12)
//! dynamics   migrations from time slice to time slice (equations 6 and 7)
//! mapping    eight policies that give each page a node (section 5.1)
//! order      pages by their accesses, as `balanced` wants them
//! trace      what a traced run says, slice by slice
//! profile    the usage of a whole run, with what its pages are
//! import     profiles from files: traces, numalize's CSV, perf's samples; export to CSV
//! report     what all of that says, and which mapping suits
//! synthetic  accesses generated from a recipe
//! transfer   a placement of a traced run, for a live one with other addresses
//! ```
//!
//! Pure. Counts saturate; sums of counts do not overflow.

#![forbid(unsafe_code)]

mod dynamics;
mod error;
mod homes;
pub mod import;
mod mapping;
mod metrics;
mod order;
mod profile;
pub mod report;
mod seen;
pub mod synthetic;
pub mod trace;
mod transfer;
mod usage;

pub use dynamics::{Dynamics, Slice};
pub use error::PagesError;
pub use homes::Homes;
pub use import::{ImportError, open};
pub use mapping::{MIN_EXCLUSIVITY, Mapping, Placement};
pub use metrics::{Metrics, exclusivity, imbalance};
pub use profile::{KernelPlacement, PageProfile, Structure};
pub use seen::{PageSeen, Seen};
pub use transfer::{Transfer, Wanted, transfer};
pub use usage::{Page, Usage};
