//! Plans as JSON. What is accepted is printed and read back as the same plan, and can be checked
//! against any machine; what is refused is refused in one line.

#![no_main]

use isobar_model::topology::synthetic::synthetic;
use isobar_model::wire::{plan_from_json, plan_to_json};
use isobar_model::{NodeMap, Observation, Seconds};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

static SEEN: LazyLock<Observation> = LazyLock::new(|| Observation {
    time: Seconds(0.0),
    interval: Seconds(1.0),
    machine: Arc::new(synthetic("node:2 core:2").unwrap_or_else(|error| panic!("{error}"))),
    free: NodeMap::default(),
    latency: None,
    latency_cycles: None,
    processes: Vec::new(),
});

fuzz_target!(|text: &str| match plan_from_json(text) {
    Ok(plan) => {
        let printed = plan_to_json(&plan).to_string();
        let again = plan_from_json(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
        assert_eq!(again, plan, "the printed plan is another");
        assert!(!printed.contains('\n'), "a plan is one line");
        let threads_moved = plan.actions.iter().any(|action| matches!(action, isobar_model::Action::MoveThread { .. }));
        let verdict = plan.validate(&SEEN);
        assert!(!(threads_moved && verdict.is_ok()), "a thread that was not observed is moved");
    }
    Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
});
