//! What must come out whatever the figures are; figures themselves are not pinned.

use super::*;
use crate::reproduce::claim::Verdict;
use crate::reproduce::table::claims_table;

/// All of it, as small as it can be.
const TINY: Extent = Extent { workloads: [1, 0], mixes: 1, launches: 2, minutes: 0.5 };

fn run(jobs: usize) -> Reproduction {
    with(&Options { quick: true, seed: 1, jobs }, &TINY, &|done, all| assert!(done <= all && all == 2 + 24)).unwrap()
}

#[test]
fn every_claim_of_the_design_is_there_and_figures_are_whole() {
    let done = run(2);
    let ids: Vec<_> = done.claims.iter().map(|claim| claim.id).collect();
    assert_eq!(ids, ["dc-1", "dc-2", "dc-3", "dc-4", "dc-5", "dc-6"]);
    assert_eq!(done.claims[0].size, Verdict::Agrees, "{}", done.claims[0].ours);
    for claim in &done.claims {
        let texts = [&claim.claim, &claim.paper, &claim.ours, &claim.band];
        assert!(
            texts.iter().all(|text| !text.is_empty() && !text.contains("NaN") && !text.contains("inf")),
            "{claim:?}"
        );
    }
    for figure in &done.figures {
        assert!(roxmltree::Document::parse(&figure.svg).is_ok() && figure.svg.contains("Divide&amp;Content"));
        assert!(figure.file.starts_with("dc-") && figure.file.ends_with(".svg"), "{}", figure.file);
    }
    let files: std::collections::BTreeSet<_> = done.figures.iter().map(|figure| &figure.file).collect();
    assert_eq!((files.len(), done.figures.len()), (13, 13));
}

/// But for dc-6, which is timed.
#[test]
fn jobs_change_no_byte() {
    let steady = |jobs| {
        let mut done = run(jobs);
        assert_eq!(done.claims.pop().map(|claim| claim.id), Some("dc-6"));
        (claims_table(&done), done.figures)
    };
    assert_eq!(steady(1), steady(2));
}
