//! DINO and the two algorithms from which it grew.
//!
//! S. Blagodurov, S. Zhuravlev, M. Dashti, A. Fedorova: *A Case for NUMA-aware Contention
//! Management on Multicore Systems*, USENIX ATC 2011. [`di_plain`] is section 3.1, [`di_migrate`]
//! section 3.2, [`dino`] section 3.3; page migration is section 4 and lives in
//! [`crate::kit::pages`].

pub mod class;
pub mod colocate;
pub mod di_migrate;
pub mod di_plain;
#[allow(clippy::module_inception)] // The paper and its last policy share a name.
pub mod dino;
pub mod seating;
#[cfg(test)]
mod test_kit;

use crate::entry::Entry;

/// The policies of the paper.
pub const POLICIES: [Entry; 3] = [di_plain::ENTRY, di_migrate::ENTRY, dino::ENTRY];
