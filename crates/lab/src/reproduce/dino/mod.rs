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
//! The text of the paper that we have contains no figures: a bar is only compared if the text names
//! its height.

mod factors;
mod pages;
mod plots;
mod schedulers;
mod workloads;

use crate::error::LabError;
use crate::reproduce::options::Options;
use crate::reproduce::part::{Done, Paper, Part};
use crate::sra::{self, Spec};

/// The paper's experiments.
pub const DINO: Paper = Paper {
    name: "dino",
    parts: &[
        Part { workloads: factors::workloads, run: |options, _| one_second(options) },
        Part { workloads: schedulers::workloads, run: |options, _| schedulers(options) },
        Part { workloads: |_| Ok(Vec::new()), run: |options, _| migration(&pages::spec(options)) },
    ],
};

fn one_second(options: &Options) -> Result<Done, LabError> {
    let factors = factors::measure(options)?;
    Ok((vec![factors.claim()], factors.figures()))
}

fn schedulers(options: &Options) -> Result<Done, LabError> {
    let runs = schedulers::run(options)?;
    Ok((runs.claims(), plots::figures(&runs)))
}

/// The page-migration study, with a given extent.
fn migration(spec: &Spec) -> Result<Done, LabError> {
    let study = sra::study(spec)?;
    Ok((pages::claims(&study), pages::figures(spec, &study)))
}

#[cfg(test)]
mod tests;
