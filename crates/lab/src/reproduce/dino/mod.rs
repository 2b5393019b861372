//! Blagodurov et al., "A Case for NUMA-aware Contention Management on Multicore Systems" (2011):
//! its claims on the simulated machines of that paper.
//!
//! | claim | paper | here |
//! |---|---|---|
//! | dino-1 | section 2.1, figures 4 and 5 | [`factors`] |
//! | dino-2 | sections 3.2 and 5.3, figures 6, 7, 11 and 12 | [`schedulers`] |
//! | dino-3 | table 1 | [`schedulers`] |
//! | dino-4, dino-5 | sections 4.1 and 5.2 | [`pages`], from [`crate::sra`] |
//!
//! Figures are not in the text of the paper that we have: a bar is only compared where the text
//! names its height.

mod factors;
mod pages;
mod plots;
mod schedulers;
mod workloads;

use crate::error::LabError;
use crate::reproduce::claim::Reproduction;
use crate::reproduce::options::Options;
use crate::sra::{self, Spec};
use isobar_sim::Workload;

/// Runs the paper's experiments.
///
/// # Errors
/// [`LabError`] where a run cannot be made: a fault of the data that ships, or of a policy.
pub fn dino(options: &Options) -> Result<Reproduction, LabError> {
    with(options, &pages::spec(options))
}

/// With a page-migration study of a given size.
fn with(options: &Options, pages: &Spec) -> Result<Reproduction, LabError> {
    let factors = factors::measure(options)?;
    let runs = schedulers::run(options)?;
    let study = sra::study(pages)?;
    let claims = [vec![factors.claim()], runs.claims(), pages::claims(&study)];
    let figures = [factors.figures(), plots::figures(&runs), pages::figures(pages, &study)];
    Ok(Reproduction { paper: "dino", claims: claims.concat(), figures: figures.concat() })
}

/// What is run, for those who ask which estimates it has.
///
/// # Errors
/// As [`dino`].
pub fn dino_workloads(options: &Options) -> Result<Vec<Workload>, LabError> {
    let all = [workloads::steady(options)?, workloads::changing(options)?].concat();
    Ok(all.into_iter().map(|one| one.workload).collect())
}

#[cfg(test)]
mod tests;
