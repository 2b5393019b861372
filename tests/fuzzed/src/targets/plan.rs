//! Plans as JSON. An accepted plan is printed and read back as the same plan, and can be checked
//! against any machine. A refusal is one line.

use crate::check::accepted;
use isobar_model::Observation;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::wire::{plan_from_json, plan_to_json};
use std::sync::{Arc, LazyLock};

static SEEN: LazyLock<Observation> = LazyLock::new(|| {
    let machine = synthetic("node:2 core:2").unwrap_or_else(|error| panic!("{error}"));
    Observation::bare(Arc::new(machine), Vec::new())
});

/// Checks one input.
pub fn run(text: &str) {
    let Some(plan) = accepted(plan_from_json(text)) else { return };
    let printed = plan_to_json(&plan).to_string();
    let again = plan_from_json(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    assert_eq!(again, plan, "the printed plan is another");
    assert!(!printed.contains('\n'), "a plan is one line");
    let threads_moved = plan.actions.iter().any(|action| matches!(action, isobar_model::Action::MoveThread { .. }));
    let verdict = plan.validate(&SEEN);
    assert!(!(threads_moved && verdict.is_ok()), "a thread that was not observed is moved");
}
