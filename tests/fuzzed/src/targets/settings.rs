//! Settings of policies as TOML. Every policy can be built from accepted settings, and then
//! decides. A refusal is one line that names a key.

use crate::check::{accepted, plan};
use isobar_model::Observation;
use isobar_model::wire::observation_from_json;
use isobar_policy::{Settings, registry};
use std::sync::LazyLock;

/// Two intervals of a machine with something to do, from the seeds of the target `observation`.
static SEEN: LazyLock<Vec<Observation>> = LazyLock::new(|| {
    let text = include_str!("../../seeds/observation/two-nodes.jsonl");
    text.lines().map(|line| observation_from_json(line).unwrap_or_else(|error| panic!("{error}"))).collect()
});

/// Checks one input.
pub fn run(text: &str) {
    let table = text.parse::<toml::Table>().ok();
    table.and_then(|table| accepted(Settings::from_tables(table))).iter().for_each(check);
    let mut settings = Settings::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        accepted(registry::set(&mut settings, key, value));
    }
    check(&settings);
}

fn check(settings: &Settings) {
    for entry in registry::entries() {
        let Some(mut policy) = accepted(registry::build(entry.name, settings)) else { return };
        SEEN.iter().for_each(|seen| drop(plan(policy.as_mut(), seen)));
    }
}
