//! Bilbao, Saez and Prieto-Matias, "Divide&Content: A Fair OS-Level Resource Manager for Contention
//! Balancing on NUMA Multicores" (TPDS 2023): its claims on the machines of that paper.
//!
//! | claim | paper | here |
//! |---|---|---|
//! | dc-1 | section IV, table I | [`simulations`]: counted |
//! | dc-2 | section IV, figures 5 and 6 | [`simulations`]: 240 workloads, exact optima |
//! | dc-3, dc-4, dc-5 | section VI, figures 10, 11, tables III, IV | [`dynamic`]: 30 mixes, ten runs each |
//! | dc-6 | table IV | [`decisions`]: timed |
//!
//! Figures are not in the text of the paper that we have: which programs each workload and mix has
//! is not known. They are drawn by class, by the seed ([`draw`]), from the programs that the
//! authors use ([`programs`]); these are calibrated on solo runs alone.

mod decisions;
mod draw;
mod dynamic;
mod extent;
mod programs;
mod simulations;

use crate::error::LabError;
use crate::reproduce::claim::Reproduction;
use crate::reproduce::options::Options;
use extent::Extent;
use isobar_sim::Workload;
use simulations::Model;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs the paper's experiments; `progress` is called with the number done and of all.
///
/// # Errors
/// [`LabError`] where a run cannot be made: a fault of the data that ships, or of a policy.
pub fn dc(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Reproduction, LabError> {
    with(options, &Extent::of(options), progress)
}

fn with(
    options: &Options,
    extent: &Extent,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Reproduction, LabError> {
    let all = 2 * extent.workloads.iter().sum::<usize>() + dynamic::size(extent);
    let done = AtomicUsize::new(0);
    let step = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
    let queueing = simulations::study(Model::Queueing, extent, options, &step)?;
    let pbbcache = simulations::study(Model::PbbCache, extent, options, &step)?;
    let mixes = dynamic::mixes(extent, options)?;
    let rows = dynamic::run(&mixes, extent, options, &step)?;
    let mut claims = vec![simulations::dc_1(), simulations::dc_2(&queueing, &pbbcache)?];
    claims.extend(dynamic::claims(&rows));
    claims.extend(mixes.first().map(|mix| decisions::dc_6(mix, options.seed)).transpose()?);
    let figures = [
        simulations::figure_5(&queueing, "queueing model", "queueing"),
        simulations::figure_5(&pbbcache, "PBBCache's model", "pbbcache"),
        simulations::figure_6(&queueing)?,
        dynamic::figures(&rows),
    ];
    Ok(Reproduction { paper: "dc", claims, figures: figures.concat() })
}

/// What is run, for those who ask which estimates it has.
///
/// # Errors
/// As [`dc`].
pub fn dc_workloads(options: &Options) -> Result<Vec<Workload>, LabError> {
    Ok(dynamic::mixes(&Extent::of(options), options)?.into_iter().map(|mix| mix.workload).collect())
}

#[cfg(test)]
mod tests;
