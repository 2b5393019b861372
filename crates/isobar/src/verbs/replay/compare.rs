//! Compares two plans for one epoch.

use isobar_model::wire::plan_to_json;
use isobar_model::{Action, Plan};

/// The actions of two plans, by which plan they are in.
#[derive(Debug, Default, PartialEq)]
pub struct Compared<'a> {
    /// In both plans, even if their reasons differ.
    pub both: Vec<&'a Action>,
    /// Only in the recorded plan.
    pub recorded: Vec<&'a Action>,
    /// Only in the replayed plan.
    pub replayed: Vec<&'a Action>,
}

/// Compares the actions of two plans. Each list is in the order of its plan.
pub fn compare<'a>(recorded: &'a Plan, replayed: &'a Plan) -> Compared<'a> {
    let mut compared = Compared { replayed: replayed.actions.iter().collect(), ..Compared::default() };
    for action in &recorded.actions {
        match compared.replayed.iter().position(|other| is_same(action, other)) {
            Some(at) => compared.both.push(compared.replayed.remove(at)),
            None => compared.recorded.push(action),
        }
    }
    compared
}

/// Whether two plans are the same to the byte, including reasons and notes.
pub fn is_identical(recorded: &Plan, replayed: &Plan) -> bool {
    plan_to_json(recorded) == plan_to_json(replayed)
}

/// Whether two plans have the same actions in the same order. Their reasons, predictions and notes
/// may differ.
pub fn acts_alike(recorded: &Plan, replayed: &Plan) -> bool {
    let (a, b) = (&recorded.actions, &replayed.actions);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
}

/// Whether two actions do the same; their reasons may differ.
fn is_same(a: &Action, b: &Action) -> bool {
    let bare = |action: &Action| {
        let mut document = serde_json::to_value(action).unwrap_or_default();
        document.as_object_mut().map(|keys| keys.remove("reason"));
        document
    };
    bare(a) == bare(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::{CpuId, Pid, Tid};

    fn to(cpu: u32, reason: &str) -> Action {
        Action::MoveThread { pid: Pid(1), tid: Tid(cpu), cpu: CpuId(cpu), cpus: None, reason: reason.to_owned() }
    }

    #[test]
    fn what_both_do_is_told_from_what_one_does_and_reasons_do_not_count() {
        let plan = |actions| Plan { actions, ..Plan::nothing("x") };
        let (recorded, replayed) = (plan(vec![to(1, "a"), to(2, "a")]), plan(vec![to(3, "b"), to(1, "b")]));
        let compared = compare(&recorded, &replayed);
        assert_eq!(compared.both, [&to(1, "b")]);
        assert_eq!((compared.recorded, compared.replayed), (vec![&to(2, "a")], vec![&to(3, "b")]));
        assert!(!is_identical(&recorded, &replayed) && is_identical(&recorded, &recorded.clone()));
        assert!(!acts_alike(&recorded, &replayed));
        let noted = Plan { notes: vec!["a note".into()], ..recorded.clone() };
        assert!(!is_identical(&recorded, &noted), "notes are a part of the plan");
        assert!(acts_alike(&recorded, &noted) && acts_alike(&noted, &plan(vec![to(1, "b"), to(2, "b")])));
        assert!(!acts_alike(&recorded, &plan(vec![to(1, "a")])));
    }
}
