//! Settings of policies as TOML. Every policy can be built from whatever is accepted, and then
//! decides; what is refused is refused in one line that names a key.

#![no_main]

use isobar_model::Observation;
use isobar_model::wire::observation_from_json;
use isobar_policy::{Settings, registry};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// Two intervals of a machine with something to do, from the seeds of the target `observation`.
static SEEN: LazyLock<Vec<Observation>> = LazyLock::new(|| {
    let text = include_str!("../seeds/observation/two-nodes.jsonl");
    text.lines().map(|line| observation_from_json(line).unwrap_or_else(|error| panic!("{error}"))).collect()
});

fuzz_target!(|text: &str| {
    if let Ok(tables) = text.parse::<toml::Table>() {
        match Settings::from_tables(tables) {
            Ok(settings) => check(&settings),
            Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
        }
    }
    let mut settings = Settings::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        if let Err(error) = registry::set(&mut settings, key, value) {
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
    }
    check(&settings);
});

fn check(settings: &Settings) {
    for entry in registry::entries() {
        let mut policy = match registry::build(entry.name, settings) {
            Ok(policy) => policy,
            Err(error) => {
                assert!(!error.to_string().contains(char::is_control), "{error:?}");
                return;
            }
        };
        for seen in SEEN.iter() {
            let plan = policy.decide(seen);
            if let Err(fault) = plan.validate(seen) {
                panic!("{}: {fault}: {plan:?}", entry.name);
            }
        }
    }
}
