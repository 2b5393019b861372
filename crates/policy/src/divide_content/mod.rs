//! Divide&Content and its building blocks.
//!
//! C. Bilbao, J. C. Saez, M. Prieto-Matias: *Divide&Content: A Fair OS-Level Resource Manager for
//! Contention Balancing on NUMA Multicores*, IEEE TPDS 2023. [`lfoc_plus`] is section II.B with
//! V.A, [`divide_content`] section V.B and V.C, [`dino_lfoc_plus`] the comparison of section VI-A.
//! Algorithm 1 and the four steps of balancing are pure arithmetic in `isobar_partition`, which the
//! static study shares.

pub mod balancing;
pub mod capacity;
mod clustering;
pub mod clusters;
pub mod config;
pub mod core_groups;
pub mod dino_lfoc_plus;
#[allow(clippy::module_inception)] // The paper and its policy share a name.
pub mod divide_content;
pub mod lfoc_plus;
pub mod llcs;
pub mod migrations;
pub mod partitioner;
pub mod pressure;
pub mod profile;
pub mod programs;
pub mod reading;
pub mod sampling;
pub mod stability;
#[cfg(test)]
mod test_kit;
mod words;

use crate::entry::Entry;

/// The policies of the paper.
pub const POLICIES: [Entry; 3] = [lfoc_plus::ENTRY, divide_content::ENTRY, dino_lfoc_plus::ENTRY];
