//! What must hold whatever the figures are; the figures themselves are not fixed by tests.

use super::*;
use crate::reproduce::claim::{Reproduction, Verdict};
use crate::reproduce::table::claims_table;

/// Everything, as small as possible.
const TINY: Extent = Extent { workloads: [1, 0], mixes: 1, launches: 2, minutes: 0.5 };

fn run(jobs: usize) -> Reproduction {
    let options = Options { quick: true, seed: 1, jobs, varied: None };
    let parts = [
        Ok((vec![simulations::dc_1()], Vec::new())),
        statics(&options, &TINY, &|done, all| assert!(done <= all && all == 2)),
        dynamics(&options, &TINY, &|done, all| assert!(done <= all && all == 24)),
        timed(&options, &TINY),
    ];
    assert_eq!(parts.len(), DC.parts.len());
    let (claims, figures): (Vec<_>, Vec<_>) = parts.map(Result::unwrap).into_iter().unzip();
    Reproduction { paper: DC.name, claims: claims.concat(), figures: figures.concat() }
}

#[test]
fn every_claim_of_the_design_is_there_and_figures_are_whole() {
    let done = run(2);
    done.is_whole(&["dc-1", "dc-2", "dc-3", "dc-4", "dc-5", "dc-6"]);
    assert_eq!(done.claims[0].size, Verdict::Agrees, "{}", done.claims[0].ours);
    assert!(done.figures.iter().all(|figure| figure.svg.contains("Divide&amp;Content")));
    assert_eq!(done.figures.len(), 13);
}

/// Except for dc-6, which is timed.
#[test]
fn jobs_change_no_byte() {
    let steady = |jobs| {
        let mut done = run(jobs);
        assert_eq!(done.claims.pop().map(|claim| claim.id), Some("dc-6"));
        (claims_table(&done), done.figures)
    };
    assert_eq!(steady(1), steady(2));
}
