//! Tests `isobar` with wrong figures. It must not fall far behind stock Linux. Its gains with right
//! figures are in docs/choosing.md.

use crate::misled::Misled;
use isobar_lab::run_policy;
use isobar_model::num;
use isobar_policy::Settings;
use isobar_policy::registry::build;
use isobar_sim::{RunReport, Workload};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/stress")
}

fn workload(name: &str) -> Workload {
    let text = std::fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
    let beside = |path: &str| std::fs::read_to_string(folder().join(path)).map_err(|error| error.to_string());
    Workload::from_toml_with(name, &text, &beside).unwrap()
}

/// The mean gain, in per cent, of the completion times of one run over those of another.
fn gain(linux: &RunReport, other: &RunReport) -> f64 {
    let pairs = linux.apps.iter().zip(&other.apps);
    let gains: Vec<f64> =
        pairs.map(|(a, b)| 100.0 * (1.0 - b.mean_seconds.unwrap() / a.mean_seconds.unwrap())).collect();
    gains.iter().sum::<f64>() / num::float_len(gains.len())
}

/// A single start says little: if a program ends and starts anew in another place, completion times
/// differ by a tenth under stock Linux, too. So the mean over the starts of a workload may lose a
/// third of what a single start may lose.
#[test]
fn wrong_figures_and_noise_never_cost_more_than_a_per_cent_on_the_mean() {
    let mut all: Vec<(&str, Vec<f64>)> = Vec::new();
    for name in ["one-node", "server-batch", "unequal", "changing"] {
        let workload = workload(name);
        let start = |seed| {
            let mut stock = build("linux", &Settings::default()).unwrap();
            let linux = run_policy(&workload, seed, stock.as_mut()).unwrap();
            let misled = run_policy(&workload, seed, &mut Misled::new(seed)).unwrap();
            gain(&linux, &misled)
        };
        all.push((name, (1..=4).map(start).collect()));
    }
    let mean = |gains: &[f64]| gains.iter().sum::<f64>() / num::float_len(gains.len());
    assert!(all.iter().all(|(_, gains)| mean(gains) > -1.0), "{all:?}");
    assert!(all.iter().flat_map(|(_, gains)| gains).all(|gain| *gain > -3.0), "{all:?}");
    assert!(mean(&all[0].1) > 5.0, "it is not idle either: {all:?}");
}
