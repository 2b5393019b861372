//! Prints drawn machines for a person who looks for the cause of a loss: one machine in detail, or
//! one from several starts.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::{lots, policy, started};
use isobar_lab::run_policy;
use isobar_model::{NodeMap, Observation, Outcome, Plan, Policy, Process, Sensor, num};
use isobar_policy::Settings;
use isobar_policy::registry::build;
use rayon::prelude::*;

/// Number of starts of a mix, enough to tell luck from a fault.
const STARTS: u64 = 8;

/// The same mix from eight starts: `ISOBAR_DRAWN=936,628`, with wrong figures by `ISOBAR_WRONG=1`.
/// The luck of a start differs between them; a fault of the policy does not.
#[test]
#[ignore = "prints for a person"]
fn drawn_machines_from_many_starts() {
    let Ok(seeds) = std::env::var("ISOBAR_DRAWN") else { return };
    for drawn in seeds.split(',').map(|seed| seed.parse::<u64>().expect("ISOBAR_DRAWN: seeds with commas")) {
        let mut all: Vec<f64> =
            (1..=STARTS).into_par_iter().map(|seed| started(drawn, seed, is_wrong()).gain).collect();
        all.sort_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / num::float_len(all.len());
        let spread = (all.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / num::float_len(all.len() - 1)).sqrt();
        println!("{drawn}: mean {mean:+.2}, spread {spread:.2}, {:+.2} to {:+.2}", all[0], all[all.len() - 1]);
    }
}

/// One machine in detail: `ISOBAR_DRAWN=936 cargo test --release -p isobar-lab --test it one_drawn
/// -- --ignored --nocapture` prints the gain of each program and the decisions with their times;
/// with `ISOBAR_START=3` from another start.
#[test]
#[ignore = "prints one machine for a person"]
fn one_drawn_machine() {
    let Ok(seed) = std::env::var("ISOBAR_DRAWN") else { return };
    let seed: u64 = seed.parse().expect("ISOBAR_DRAWN is a seed");
    let workload = lots::workload(seed, 30.0);
    let seed = std::env::var("ISOBAR_START").ok().map_or(seed, |start| start.parse().expect("ISOBAR_START is a seed"));
    let mut stock = build("linux", &Settings::default()).unwrap();
    let linux = run_policy(&workload, seed, stock.as_mut()).unwrap();
    let mut told = Told(policy(seed, is_wrong()));
    let run = run_policy(&workload, seed, &mut told).unwrap();
    for (a, b) in linux.apps.iter().zip(&run.apps) {
        let gain = 100.0 * (1.0 - b.mean_seconds.unwrap() / a.mean_seconds.unwrap());
        println!("{:14} {:7.1} s {:7.1} s {gain:+6.1} %", a.name, a.mean_seconds.unwrap(), b.mean_seconds.unwrap());
    }
}

/// Whether the policy is given wrong figures.
fn is_wrong() -> bool {
    std::env::var_os("ISOBAR_WRONG").is_some()
}

/// A wrapper that prints the plans of a policy.
struct Told(Box<dyn Policy>);

impl Policy for Told {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.0.needs()
    }

    fn uses(&self) -> &'static [Sensor] {
        self.0.uses()
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let plan = self.0.decide(seen);
        println!("{:6.1}", seen.time.0);
        seen.processes.iter().for_each(|process| println!("        {}", line(process, seen.interval.0)));
        plan.actions.iter().for_each(|action| println!("    do {}", serde_json::to_string(action).unwrap()));
        plan.predictions.iter().for_each(|one| println!("    predicts {one:?}"));
        plan.effects.iter().for_each(|one| println!("    effect {one:?}"));
        plan.notes.iter().for_each(|one| println!("    note {one}"));
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.0.applied(plan, outcome);
    }
}

/// Where a program runs, where its pages are (in thousands), and how fast it is.
fn line(process: &Process, seconds: f64) -> String {
    let cpus: Vec<String> = process.threads.iter().filter_map(|thread| Some(thread.cpu?.to_string())).collect();
    let pages = process.pages.iter().flat_map(NodeMap::values).map(|count| (count.0 / 1000).to_string());
    let done: f64 = process.threads.iter().filter_map(|thread| thread.instructions).map(num::float).sum();
    let (pid, name, cpus, pages) = (process.pid, &process.name, cpus.join(" "), pages.collect::<Vec<_>>().join(" "));
    format!("{pid} {name:14} on {cpus} pages {pages} k, {:.2} billion instructions a second", done / 1e9 / seconds)
}
