//! Kotra, Kim, Madduri and Kandemir, "Congestion-Aware Memory Management on NUMA Platforms: A
//! VMware ESXi case study" (IISWC 2017): its claims on the simulated machines of that paper,
//! `haswell-2x18` and `westmere-8x10`.
//!
//! | claim | paper | here |
//! |---|---|---|
//! | camm-1 | section III-B, figures 4 and 5 | fixed splits over nodes |
//! | camm-2, camm-3 | section V, figures 6 and 8 to 11 | CAMA on programs whose memory grows |
//! | camm-4 | section VI, figures 12 to 14 | CAPM on the mix, by migration rate |
//! | camm-5 | section VII, figure 15, tables VI and VII | everything |
//! | camm-6 | section III-A, figure 2 | 18 and 36 virtual machines on a socket |
//!
//! [`workloads`] says how we read what the paper leaves open. The text of the paper that we have
//! contains no figures: a bar is only compared if the text names its height.

mod claims;
mod experiments;
mod figures;
mod platform;
mod runs;
mod workloads;

use crate::error::LabError;
use crate::reproduce::claim::Reproduction;
use crate::reproduce::options::Options;

/// Runs the paper's experiments; `progress` is called with the number done and the total.
///
/// # Errors
/// [`LabError`] if a run cannot be made: a fault of the shipped data, or of a policy.
pub fn camm(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Reproduction, LabError> {
    let seen = experiments::all(options, progress)?;
    Ok(Reproduction { paper: "camm", claims: claims::claims(&seen), figures: figures::figures(&seen) })
}

#[cfg(test)]
mod tests;
