//! Tests `isobar` on machines and mixes for which it was not developed: seeds draw them
//! (`drawn/lots.rs`), with right figures and with wrong ones. The long form, 1,000 of each, is
//! `cargo test --release -p isobar-lab --test it drawn -- --ignored --nocapture`; figures of the
//! whole thousand are in docs/choosing.md.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod lots;
mod shown;

use crate::misled::Misled;
use crate::watched::{Noted, Watched};
use isobar_lab::run_policy;
use isobar_model::{Policy, num};
use isobar_policy::Settings;
use isobar_policy::registry::build;
use rayon::prelude::*;

/// A mix under `isobar`, compared with the same mix under stock Linux.
struct Mix {
    seed: u64,
    /// Mean gain of the programs in per cent, and the gain of the program that fares worst.
    gain: f64,
    worst: f64,
    noted: Noted,
}

/// `isobar`, with right figures or with wrong ones.
fn policy(seed: u64, wrong: bool) -> Box<dyn Policy> {
    if wrong { Box::new(Misled::patchy(seed)) } else { build("isobar", &Settings::default()).unwrap() }
}

fn mix(seed: u64, wrong: bool) -> Mix {
    started(seed, seed, wrong)
}

/// Runs the mix of seed `drawn`, with the start of `seed`.
fn started(drawn: u64, seed: u64, wrong: bool) -> Mix {
    let workload = lots::workload(drawn, 30.0);
    let mut stock = build("linux", &Settings::default()).unwrap();
    let linux = run_policy(&workload, seed, stock.as_mut()).unwrap();
    let mut watched = Watched::new(policy(seed, wrong));
    let run = run_policy(&workload, seed, &mut watched).unwrap();
    // A lost thread never ends, so its program would have no time.
    let gains: Vec<f64> = linux
        .apps
        .iter()
        .zip(&run.apps)
        .map(|(a, b)| 100.0 * (1.0 - b.mean_seconds.expect("it ends") / a.mean_seconds.expect("it ends")))
        .collect();
    let gain = gains.iter().sum::<f64>() / num::float_len(gains.len());
    Mix { seed, gain, worst: gains.iter().copied().fold(f64::INFINITY, f64::min), noted: watched.noted }
}

fn mixes(seeds: std::ops::Range<u64>, wrong: bool) -> Vec<Mix> {
    let mut all: Vec<Mix> = seeds.into_par_iter().map(|seed| mix(seed, wrong)).collect();
    all.sort_by(|a, b| a.gain.total_cmp(&b.gain));
    all
}

/// The percentile of a sorted list.
fn part(sorted: &[f64], percent: usize) -> f64 {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

fn print(what: &str, all: &[Mix]) {
    let gains: Vec<f64> = all.iter().map(|mix| mix.gain).collect();
    let mut worst: Vec<f64> = all.iter().map(|mix| mix.worst).collect();
    worst.sort_by(f64::total_cmp);
    let mut errors: Vec<f64> = all.iter().flat_map(|mix| mix.noted.errors()).collect();
    errors.sort_by(f64::total_cmp);
    let mean = gains.iter().sum::<f64>() / num::float_len(gains.len());
    let behind = |by: f64| gains.iter().filter(|gain| **gain < -by).count();
    println!("{what}: {} mixes, mean gain {mean:+.2} %", all.len());
    println!(
        "  gains: 1st percentile {:+.2}, 5th {:+.2}, median {:+.2}, 95th {:+.2}",
        part(&gains, 1),
        part(&gains, 5),
        part(&gains, 50),
        part(&gains, 95)
    );
    println!("  behind stock Linux by more than 1 %: {}, more than 2 %: {}", behind(1.0), behind(2.0));
    println!(
        "  the ten worst mixes, each with hundredths of a per cent behind: {:?}",
        all.iter().take(10).map(|mix| (mix.seed, num::round(-100.0 * mix.gain))).collect::<Vec<_>>()
    );
    println!(
        "  program that fares worst: 1st percentile {:+.1}, 5th {:+.1}, median {:+.1}",
        part(&worst, 1),
        part(&worst, 5),
        part(&worst, 50)
    );
    println!("  trials {}, taken back {}", errors.len(), all.iter().map(|mix| mix.noted.taken_back).sum::<usize>());
    println!(
        "  prediction error, per cent of the speed of a changed program: median {:.1}, 95th percentile {:.1}",
        part(&errors, 50),
        part(&errors, 95)
    );
    println!(
        "  moves of a program in an hour: at most {}",
        all.iter().map(|mix| mix.noted.most_in_an_hour()).max().unwrap_or(0)
    );
}

/// Properties of every mix.
fn check(all: &[Mix], most_behind: f64) {
    assert!(all[0].gain > -most_behind, "seed {} is {:.2} % behind stock Linux", all[0].seed, -all[0].gain);
    for mix in all {
        assert!(mix.noted.most_in_an_hour() <= 3, "seed {}: {:?}", mix.seed, mix.noted.moves);
    }
    assert!(all.iter().any(|mix| !mix.noted.moves.is_empty()), "it moves something somewhere");
}

#[test]
fn on_drawn_machines_it_is_never_far_behind_and_moves_none_to_and_fro() {
    for (what, wrong) in [("right figures", false), ("wrong figures", true)] {
        let all = mixes(1..13, wrong);
        print(what, &all);
        check(&all, 2.0);
    }
}

/// The seeds of the long form: `ISOBAR_DRAWN_FROM=1001` draws the thousand after the first.
fn seeds() -> std::ops::Range<u64> {
    let from = std::env::var("ISOBAR_DRAWN_FROM").ok().and_then(|from| from.parse().ok()).unwrap_or(1);
    from..from + 1000
}

#[test]
#[ignore = "minutes: the long form"]
fn a_thousand_drawn_machines() {
    for (what, wrong) in [("right figures", false), ("wrong figures", true)] {
        let all = mixes(seeds(), wrong);
        print(what, &all);
        let lost = all.iter().filter(|mix| mix.noted.most_in_an_hour() > 3).count();
        assert_eq!(lost, 0, "moved more than three times in an hour");
    }
}
