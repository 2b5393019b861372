//! What must hold whatever the figures are; the figures themselves are not fixed by tests.

use super::platform::PLATFORMS;
use super::runs::{BASE, run};
use super::workloads::homogeneous;
use super::*;
use crate::congestion::EpochLatencies;
use crate::reproduce::claim::Verdict;
use crate::stats::mean_or_zero;

const QUICK: Options = Options { quick: true, seed: 1, jobs: 2, varied: None };

#[test]
fn every_claim_of_the_design_is_there_and_figures_are_whole() {
    let done = camm(&QUICK, &|_, _| ()).unwrap();
    done.is_whole(&["camm-1", "camm-2", "camm-3", "camm-4", "camm-5", "camm-6"]);
    // For the two programs of the quick run; the full run includes mcf, which becomes slower still.
    assert_eq!(done.claims[5].sign, Verdict::Agrees, "{}", done.claims[5].ours);
    let equal = &done.claims[4].ours;
    assert!(equal.contains("identical loads: 0 actions, at most 0.00 % of change"), "{equal}");
}

/// Figures 3 and 6. Without a policy, local memory is the farther one throughout. Under CAMA, once
/// enough memory has been touched after the first decisions, both latencies are nearly equal, and
/// programs end sooner.
#[test]
fn latencies_meet_under_cama_and_programs_end_sooner() {
    let mut workload = homogeneous(&PLATFORMS[0], "npb-is", &[], &QUICK).unwrap();
    workload.run.instructions_factor = 0.3;
    let [base, cama] = [BASE, "cama"].map(|policy| run(&workload, (policy, &[]), 1).unwrap());
    let gap = |look: &EpochLatencies| (look.local - look.remote) / look.remote;
    let late = |looks: &[EpochLatencies]| mean_or_zero(looks[looks.len() / 2..].iter().map(|look| gap(look).abs()));
    assert!(base.looks[1..].iter().all(|look| gap(look) > 0.5), "{:?}", base.looks);
    assert!(late(&cama.looks) < 0.1, "{:?}", cama.looks);
    assert!(cama.improvement(&base) > 20.0, "{}", cama.improvement(&base));
}
