//! Majo and Gross, "Memory Management in NUMA Multicore Systems: Trapped between Cache Contention
//! and Interconnect Overhead" (ISMM 2011): its claims on the simulated machine of that paper,
//! `nehalem-2x4`.
//!
//! | claim | paper | here |
//! |---|---|---|
//! | (figure 3.c) | section 2 | [`pair`]: the one figure whose bars the text gives |
//! | nmass-1 | section 3.1, figures 4 and 5 | [`clones`]: every mapping of the four clones |
//! | nmass-2, 3, 5 | sections 4.3 to 4.5, figures 10 to 12 | [`runs`]: table 2 under each policy |
//! | nmass-4 | section 4.3, figures 10.e and 10.f | the same |
//!
//! NUMA penalties are measured first, each program alone, as the paper does (section 3.2;
//! [`profiles`]). The text of the paper that we have contains no figures: a bar is only compared if
//! the text names its height.

mod claims;
mod clones;
mod figures;
mod pair;
mod profiles;
mod runs;
mod seen;
mod workloads;

use crate::error::LabError;
use crate::reproduce::options::Options;
use crate::reproduce::part::{Done, Paper, Part, Progress};
use isobar_sim::Workload;
use profiles::Profiles;
use seen::Seen;

/// The paper's experiments. Penalties are measured for all of them together.
pub const NMASS: Paper = Paper { name: "nmass", parts: &[Part { workloads: all_workloads, run: all }] };

fn all_workloads(options: &Options) -> Result<Vec<Workload>, LabError> {
    Ok(workloads::cases(options)?.into_iter().map(|case| case.workload).collect())
}

fn all(options: &Options, progress: Progress<'_>) -> Result<Done, LabError> {
    let cases = workloads::cases(options)?;
    let all = cases.len() + 1;
    let profiles = Profiles::measure(cases.iter().map(|case| &case.workload));
    let clones = clones::run(&workloads::clones(options)?, &profiles, options)?;
    let pair = pair::run(options)?;
    progress(1, all);
    let runs = runs::run(cases, &profiles, options, &|done| progress(done + 1, all))?;
    let seen = Seen { profiles, pair, clones, runs };
    Ok((claims::claims(&seen), figures::figures(&seen)))
}

#[cfg(test)]
mod tests;
