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
//! The text of the paper that we have contains no figures, so the programs of each workload and mix
//! are not known. They are drawn by class and by the seed ([`draw`]) from the programs that the
//! authors use ([`programs`]). These programs are calibrated on solo runs alone.

mod decisions;
mod draw;
mod dynamic;
mod extent;
mod programs;
mod simulations;

use crate::error::LabError;
use crate::reproduce::options::Options;
use crate::reproduce::part::{Done, Paper, Part, Progress};
use extent::Extent;
use isobar_sim::Workload;
use simulations::Model;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The paper's experiments.
pub const DC: Paper = Paper {
    name: "dc",
    parts: &[
        Part { workloads: nothing, run: |_, _| Ok((vec![simulations::dc_1()], Vec::new())) },
        Part {
            workloads: simulations::machines,
            run: |options, progress| statics(options, &Extent::of(options), progress),
        },
        Part {
            workloads: |options| mixes(options, &Extent::of(options)),
            run: |options, progress| dynamics(options, &Extent::of(options), progress),
        },
        Part { workloads: nothing, run: |options, _| timed(options, &Extent::of(options)) },
    ],
};

/// No workloads: the part is counted, or timed.
fn nothing(_: &Options) -> Result<Vec<Workload>, LabError> {
    Ok(Vec::new())
}

fn statics(options: &Options, extent: &Extent, progress: Progress<'_>) -> Result<Done, LabError> {
    let all = 2 * extent.workloads.iter().sum::<usize>();
    let done = AtomicUsize::new(0);
    let step = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
    let queueing = simulations::study(Model::Queueing, extent, options, &step)?;
    let pbbcache = simulations::study(Model::PbbCache, extent, options, &step)?;
    let figures = [
        simulations::figure_5(&queueing, "queueing model", "queueing"),
        simulations::figure_5(&pbbcache, "PBBCache's model", "pbbcache"),
        simulations::figure_6(&queueing)?,
    ];
    Ok((vec![simulations::dc_2(&queueing, &pbbcache)?], figures.concat()))
}

fn mixes(options: &Options, extent: &Extent) -> Result<Vec<Workload>, LabError> {
    Ok(dynamic::mixes(extent, options)?.into_iter().map(|mix| mix.workload).collect())
}

fn dynamics(options: &Options, extent: &Extent, progress: Progress<'_>) -> Result<Done, LabError> {
    let mixes = dynamic::mixes(extent, options)?;
    let done = AtomicUsize::new(0);
    let step = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, dynamic::size(extent));
    let rows = dynamic::run(&mixes, extent, options, &step)?;
    Ok((dynamic::claims(&rows), dynamic::figures(&rows)))
}

fn timed(options: &Options, extent: &Extent) -> Result<Done, LabError> {
    let mixes = dynamic::mixes(extent, options)?;
    let claim = mixes.first().map(|mix| decisions::dc_6(mix, options.seed)).transpose()?;
    Ok((claim.into_iter().collect(), Vec::new()))
}

#[cfg(test)]
mod tests;
