//! Section VI: the mixes under the four strategies.

mod claims;
mod figures;
mod mixes;
mod policies;
mod runs;

pub(super) use claims::claims;
pub(super) use figures::figures;
pub(super) use mixes::{Mix, mixes};
pub(super) use policies::dino;

use super::extent::Extent;
use crate::error::LabError;
use crate::reproduce::options::Options;
use policies::strategies;
use runs::Row;

/// The number of runs.
pub(super) fn size(extent: &Extent) -> usize {
    mixes::KINDS.len() * extent.mixes * strategies().len() * extent.launches
}

/// Runs every mix under every strategy.
pub(super) fn run(
    mixes: &[Mix],
    extent: &Extent,
    options: &Options,
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<Row>, LabError> {
    runs::run(mixes, &strategies(), extent.launches, options, progress)
}
