//! The pure parts, computed by hand, and a quick run of everything.

use super::factors::Split;
use super::workloads::BARRIER_BILLION;
use super::{DINO, migration, one_second, schedulers};
use crate::reproduce::claim::{Reproduction, Verdict};
use crate::reproduce::estimate::BARRIERS;
use crate::reproduce::options::Options;
use crate::sra::Spec;

/// Effects that do not affect each other are found exactly, whatever the order: 1 for memories
/// together, 2 for remote (of which 0.5 alone), 4 for the cache.
#[test]
fn independent_factors_are_found() {
    let split = Split::of(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 0.5);
    assert!((split.cache - 4.0).abs() < 1e-12 && (split.controller - 1.0).abs() < 1e-12);
    assert!((split.interconnect - 1.5).abs() < 1e-12 && (split.remote_latency - 0.5).abs() < 1e-12);
}

/// All three at once cost 10, and one or two of them cost nothing. Each is last in a third of the
/// orders, and the parts add up.
#[test]
fn what_only_all_cost_is_shared() {
    let split = Split::of(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0], 1.0);
    assert_eq!((split.cache, split.controller, split.interconnect, split.remote_latency), (3.0, 3.0, 2.0, 1.0));
    let [cache, controller, interconnect, remote] = split.percents();
    assert!((cache + controller + interconnect + remote - 100.0).abs() < 1e-9 && (remote - 100.0 / 9.0).abs() < 1e-9);
}

/// `--sensitivity` moves the estimate over the range that is stated beside it.
#[test]
fn barriers_are_moved_to_the_ends_of_their_range() {
    let factors = [BARRIER_BILLION.low, BARRIER_BILLION.high].map(|end| end / BARRIER_BILLION.value);
    assert!(factors.iter().zip(BARRIERS).all(|(own, moved)| (own / moved - 1.0).abs() < 1e-9), "{factors:?}");
}

/// A short run of everything, with few pages of memory. The asserted verdicts hold with a wide
/// margin.
#[test]
fn a_quick_run_tells_every_claim_of_the_design() {
    let pages = Spec {
        programs: vec!["povray".into(), "namd".into()],
        shared: vec!["apache".into()],
        ks: vec![64],
        rates: vec![1e-3],
        seconds: 0.05,
        repeats: 1,
        ..Spec::paper()
    };
    let options = Options { quick: true, seed: 1, jobs: 2, varied: None };
    let parts = [one_second(&options), schedulers(&options), migration(&pages)];
    assert_eq!(parts.len(), DINO.parts.len());
    let (claims, figures): (Vec<_>, Vec<_>) = parts.map(Result::unwrap).into_iter().unzip();
    let got = Reproduction { paper: DINO.name, claims: claims.concat(), figures: figures.concat() };
    got.is_whole(&["dino-1", "dino-2", "dino-3", "dino-4", "dino-5"]);
    assert_eq!((got.claims[0].sign, got.claims[2].sign), (Verdict::Agrees, Verdict::Agrees), "{:#?}", got.claims);
    let named = |svg: &str, file: &str| svg.contains("DINO") || file.contains("sra");
    assert!(got.figures.iter().all(|figure| named(&figure.svg, &figure.file)));
}
