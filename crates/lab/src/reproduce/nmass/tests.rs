//! What must hold whatever the figures are; the figures themselves are not fixed by tests.

use super::*;
use crate::reproduce::claim::Verdict;
use crate::reproduce::table::claims_table;

const QUICK: Options = Options { quick: true, seed: 1, jobs: 1, varied: None };

#[test]
fn every_claim_of_the_design_is_there_and_figures_are_whole() {
    let done = NMASS.run(&QUICK, &|_, _| ()).unwrap();
    done.is_whole(&["nmass-1", "nmass-2", "nmass-3", "nmass-4", "nmass-5"]);
    assert_eq!(done.claims[0].sign, Verdict::Agrees, "3 + 1: {}", done.claims[0].ours);
    let drawn = |svg: &str| svg.contains("<polyline") || svg.contains("<rect");
    assert!(done.figures.iter().all(|figure| drawn(&figure.svg)));
}

#[test]
fn jobs_change_no_byte() {
    let text = |jobs| claims_table(&NMASS.run(&Options { jobs, ..QUICK }, &|_, _| ()).unwrap());
    assert_eq!(text(1), text(2));
}

/// Figure 4: 35 % more misses with all clones on one cache, 19 % at 57 % locality. These values
/// follow from the curve, which was fitted to them. The test checks that the model shares caches as
/// the curve assumes.
#[test]
fn clones_share_caches_and_locality_falls_with_each_that_leaves() {
    let workload = workloads::clones(&QUICK).unwrap();
    let profiles = Profiles::measure([&workload].into_iter());
    let seen = clones::run(&workload, &profiles, &QUICK).unwrap();
    let remote: Vec<_> = seen.mappings.iter().map(|one| one.remote).collect();
    assert_eq!(remote, [0, 1, 2, 3, 4]);
    assert!(seen.mappings.windows(2).all(|two| two[1].locality < two[0].locality));
    let near = |ours: f64, paper: f64| assert!((ours - paper).abs() < 3.0, "{ours} {paper}");
    near(seen.mappings[0].mpki_increase, 35.0);
    near(seen.mappings[2].mpki_increase, 19.0);
    near(seen.mappings[2].locality, 57.0);
    near(seen.mappings[0].locality, 100.0);
}

/// Section 2: with both local, mean slowdown is 17 % and lbm's 11 %; with mcf remote, the mean is
/// 11 %. With the controller at its printed peak, both local came out better than mcf remote. With
/// the traffic of prefetchers, equal for both programs, contention is slightly stronger than
/// printed.
#[test]
fn mcf_and_lbm_are_better_apart_although_one_is_remote() {
    let seen = pair::run(&QUICK).unwrap();
    let (local, apart) = (&seen[0], &seen[2]);
    assert!(apart.mean() < local.mean(), "{seen:?}");
    assert!((local.ours[1] - 11.0).abs() < 5.0 && (apart.mean() - 11.0).abs() < 4.0, "{seen:?}");
}
