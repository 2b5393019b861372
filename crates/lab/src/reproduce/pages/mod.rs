//! Diener et al., "Modeling Memory Access Behavior for Data Mapping" (2016): its claims on page
//! profiles of six kernels, traced in real runs, and on the machines of its table 5.
//!
//! | claim | paper | here |
//! |---|---|---|
//! | pages-1 | tables 1 and 2, figure 3 | [`printed`]: computed from the printed tables |
//! | pages-2, 3 | table 3, figure 4 | [`usage`]: metrics of the kernels, 64 threads |
//! | pages-4, 5 | section 7.2, figures 12 to 14 | [`gains`]: every mapping on every machine |
//!
//! The paper's programs are NAS and PARSEC; the [`kernels`] are ours. Orders and signs can be
//! compared, but averages only as those of a different set of programs (docs/design/page-usage.md).

mod gains;
mod kernels;
mod printed;
mod usage;

use crate::error::LabError;
use crate::reproduce::claim::Reproduction;
use crate::reproduce::options::Options;

/// Computes what the paper measured; `progress` is called with the number done and the total.
///
/// # Errors
/// [`LabError`] if a shipped profile is wrong, or if the contention model has no answer.
pub fn pages(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Reproduction, LabError> {
    let kernels = kernels::kernels()?;
    let used = usage::Used::of(&kernels)?;
    let gains = gains::Gains::of(&kernels, options, progress)?;
    let claims = vec![printed::claim()?, used.balance(), used.exclusivity(), gains.averages(), gains.suitability()];
    Ok(Reproduction { paper: "pages", claims, figures: gains.figures() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_is_answered() {
        let options = Options { quick: true, seed: 1, jobs: 2, varied: None };
        let found = pages(&options, &|_, _| ()).unwrap();
        found.is_whole(&["pages-1", "pages-2", "pages-3", "pages-4", "pages-5"]);
        assert_eq!(found, pages(&Options { jobs: 1, ..options }, &|_, _| ()).unwrap());
    }
}
