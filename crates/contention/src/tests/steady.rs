//! Tests the static case of the question.

use super::machines::{MIB, at, mesh, mixed};
use crate::{Budget, Question, Scratch, Sharers, Steady, solve};

fn steady(bandwidth: Option<f64>) -> Steady {
    Steady::new(&mesh(1, 1), bandwidth, &mixed(4, 1))
}

#[test]
fn the_answer_does_not_depend_on_what_was_asked_before() {
    let steady = steady(None);
    let mut scratch = Scratch::default();
    let all = [Sharers { programs: &[0, 1], ways: 5 }, Sharers { programs: &[2, 3], ways: 11 }];
    let first = steady.paces(all, &mut scratch).unwrap().to_vec();
    steady.paces([Sharers { programs: &[3], ways: 1 }], &mut scratch).unwrap();
    assert_eq!(first, steady.paces(all, &mut scratch).unwrap());
}

/// The same machine and masks give the same answer as a general question.
#[test]
fn it_is_a_case_of_the_general_question() {
    let machine = mesh(1, 1);
    let mut threads = mixed(4, 1);
    for (thread, mask) in threads.iter_mut().zip([0x1f, 0x1f, 0xffe0, 0xffe0]) {
        (thread.mask, thread.place) = (mask, at(0));
    }
    let general = solve(&Question { machine: &machine, threads: &threads, copy: None }, Budget::default()).unwrap();
    let all = [Sharers { programs: &[0, 1], ways: 5 }, Sharers { programs: &[2, 3], ways: 11 }];
    let mut scratch = Scratch::default();
    for (i, pace) in steady(None).paces(all, &mut scratch).unwrap().iter().enumerate() {
        assert!((pace.seconds * general.rates[i] - 1.0).abs() < 1e-7, "{pace:?} {general:?}");
        assert!((pace.misses / general.misses[i] - 1.0).abs() < 1e-7, "{pace:?} {general:?}");
        assert!((pace.held / general.held[i] - 1.0).abs() < 1e-7, "{pace:?} {general:?}");
    }
}

#[test]
fn ways_are_filled_and_the_controller_never_carries_more_than_it_can() {
    let steady = steady(Some(3e9));
    let mut scratch = Scratch::default();
    let paces = steady.paces([Sharers { programs: &[0, 1, 2, 3], ways: 16 }], &mut scratch).unwrap();
    let held: f64 = paces.iter().map(|pace| pace.held).sum();
    let carried: f64 = paces.iter().map(|pace| pace.bandwidth).sum();
    assert!((held / (8.0 * MIB) - 1.0).abs() < 1e-3, "{held}");
    assert!(carried < 3e9 && carried > 2.5e9, "{carried}");
    assert!(paces.iter().all(|pace| pace.unqueued < pace.seconds));
}

#[test]
fn alone_more_ways_and_more_bandwidth_never_hurt() {
    let seconds = |bandwidth, program| {
        let steady = steady(bandwidth);
        (1..=16).map(|ways| steady.alone(program, ways).unwrap().seconds).collect::<Vec<_>>()
    };
    for program in 0..4 {
        let (wide, narrow) = (seconds(None, program), seconds(Some(2e9), program));
        assert!(wide.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-8)));
        assert!(wide.iter().zip(narrow).all(|(wide, narrow)| *wide <= narrow * (1.0 + 1e-8)));
    }
}

/// At the wait that is found, every program behaves the same in a cluster that runs by itself and
/// is made to wait that long.
#[test]
fn a_cluster_that_waits_as_long_is_as_fast() {
    let steady = steady(Some(4e9));
    let all = [Sharers { programs: &[0, 1], ways: 5 }, Sharers { programs: &[2, 3], ways: 11 }];
    let mut scratch = Scratch::default();
    let together = steady.paces(all, &mut scratch).unwrap().to_vec();
    let load: f64 = together.iter().map(|pace| pace.bandwidth).sum();
    // The wait at which that much is carried, found by halving.
    let (mut low, mut high) = (0.0, steady.longest_wait());
    assert!(steady.carried(high) >= load);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if steady.carried(middle) < load { low = middle } else { high = middle }
    }
    let apart: Vec<_> = all.iter().flat_map(|one| steady.waiting(*one, low, &mut scratch).unwrap().to_vec()).collect();
    for (one, other) in together.iter().zip(&apart) {
        assert!((one.seconds / other.seconds - 1.0).abs() < 1e-6, "{one:?} {other:?}");
        assert!((one.bandwidth / other.bandwidth - 1.0).abs() < 1e-6, "{one:?} {other:?}");
    }
}

/// The property on which exact searches rely: while the wait grows, no program becomes faster and
/// no cluster's load grows.
#[test]
fn longer_waits_never_help_and_never_load_more() {
    let steady = steady(Some(4e9));
    let mut scratch = Scratch::default();
    for cluster in [&[0][..], &[0, 1], &[1, 2, 3], &[0, 1, 2, 3]] {
        for ways in [1, 4, 9, 16] {
            let mut before: Option<(Vec<f64>, f64)> = None;
            for step in 0..40 {
                let wait = 1e-9 * (1.2_f64.powi(step) - 1.0);
                let paces = steady.waiting(Sharers { programs: cluster, ways }, wait, &mut scratch).unwrap();
                let seconds: Vec<f64> = paces.iter().map(|pace| pace.seconds).collect();
                let load: f64 = paces.iter().map(|pace| pace.bandwidth).sum();
                if let Some((old, least)) = &before {
                    assert!(seconds.iter().zip(old).all(|(new, old)| *new >= old * (1.0 - 1e-9)), "{cluster:?} {ways}");
                    assert!(load <= least * (1.0 + 1e-9), "{cluster:?} {ways}");
                }
                before = Some((seconds, load));
            }
        }
    }
}
