//! Observations, one JSON document per line, as `isobar decide` reads them. An accepted observation
//! survives the round trip. Every registered policy makes a plan that is valid for it, whatever the
//! policy saw before. A policy that starts again makes the same plans again.

use crate::check::{accepted, plan};
use isobar_model::wire::{observation_from_json, observation_to_json, plan_from_json, plan_to_json};
use isobar_model::{Observation, Plan, Policy};
use isobar_policy::{Settings, registry};

/// Settings that let DINO act within the few intervals of an input.
const QUICK: [(&str, &str); 4] = [
    ("dino.class_window", "2"),
    ("dino.class_votes", "1"),
    ("dino.ping_pong_reversals", "1"),
    ("di-migrate.whole_resident_set", "true"),
];

/// Checks one input.
pub fn run(text: &str) {
    let seen: Vec<Observation> = text.lines().filter_map(read).take(8).collect();
    if seen.is_empty() {
        return;
    }
    for settings in [Settings::default(), quick()] {
        for entry in registry::entries() {
            let decide = || decisions(entry.name, &settings, &seen);
            assert_eq!(decide(), decide(), "{} decides differently the second time", entry.name);
        }
    }
}

fn read(line: &str) -> Option<Observation> {
    let seen = accepted(observation_from_json(line))?;
    let printed = observation_to_json(&seen).to_string();
    let again = observation_from_json(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    assert_eq!(observation_to_json(&again).to_string(), printed, "the printed observation is another");
    Some(seen)
}

fn quick() -> Settings {
    let mut settings = Settings::default();
    for (key, value) in QUICK {
        settings.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    settings
}

fn decisions(name: &str, settings: &Settings, seen: &[Observation]) -> Vec<Plan> {
    let mut policy = registry::build(name, settings).unwrap_or_else(|error| panic!("{error}"));
    seen.iter().map(|seen| decision(policy.as_mut(), seen)).collect()
}

fn decision(policy: &mut dyn Policy, seen: &Observation) -> Plan {
    let plan = plan(policy, seen);
    let printed = plan_to_json(&plan).to_string();
    let again = plan_from_json(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    assert_eq!(again, plan, "the printed plan is another");
    plan
}
