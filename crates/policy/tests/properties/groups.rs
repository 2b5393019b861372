//! Properties of every registered policy when another policy decides for a group of processes.

use super::cases::{case, observations};
use super::policies;
use isobar_model::{Action, ActionOutcome, Observation, Outcome, Pid, Policy, Process};
use isobar_policy::Settings;
use isobar_policy::by_group::{ByGroup, Fits, Group};
use isobar_policy::registry::build;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A process is in a group by its name or id; here, by the remainder of its id.
fn every(divisor: u32, remainder: u32) -> Fits {
    Box::new(move |process: &Process| process.pid.0 % divisor == remainder)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// No policy acts on processes that another policy manages, and the joined plan is valid.
    /// Outcomes are passed back, so that refused actions are asked for again.
    #[test]
    fn no_policy_acts_on_what_is_another_s(case in case(), which in 0usize..64, refuse in any::<bool>()) {
        let seen = observations(&case, |id| id);
        let count = policies().len();
        let (own, main) = (which % count, (which / count + which + 1) % count);
        let nth = |nth: usize| policies().swap_remove(nth);
        let group = |name: &str, fits, policy| Group { name: name.into(), fits, policy };
        let groups = vec![group("unit:a", every(3, 0), nth(own)), group("unit:b", every(3, 1), build("linux", &Settings::default()).unwrap())];
        let mut policy = ByGroup::new(groups, nth(main));
        for seen in &seen {
            let plan = policy.decide(seen);
            // Two policies that divide ways are refused when a run starts.
            let why = policy.failed().filter(|why| !why.contains("divides cache ways"));
            prop_assert_eq!(why, None, "{} and {}", nth(own).name(), nth(main).name());
            prop_assert_eq!(plan.validate(seen), Ok(()));
            let ours: BTreeSet<usize> = plan.parts.iter().flat_map(|part| part.actions.iter().copied()).collect();
            for (index, action) in plan.actions.iter().enumerate() {
                for pid in acted_on(action, seen) {
                    let expected = if pid.0 % 3 == 0 { ours.contains(&index) } else { !ours.contains(&index) };
                    prop_assert!(expected && pid.0 % 3 != 1, "{:?} of {:?}", action, plan.parts);
                }
            }
            let outcome = |index: usize| if refuse && index.is_multiple_of(2) {
                ActionOutcome::Refused { errno: None, why: "no".into() }
            } else {
                ActionOutcome::Done
            };
            policy.applied(&plan, &Outcome { actions: (0..plan.actions.len()).map(outcome).collect() });
        }
    }

    /// A group without processes adds only its note, and the policy of a group of all processes
    /// decides as if it were alone, except for the names in the plan.
    #[test]
    fn a_group_of_none_or_of_all_decides_as_the_plain_policy(case in case(), which in 0usize..64) {
        let seen = observations(&case, |id| id);
        let nth = |policies: Vec<Box<dyn Policy>>| { let mut all = policies; let at = which % all.len(); all.swap_remove(at) };
        let group = |fits| vec![Group { name: "unit:a".into(), fits, policy: nth(policies()) }];
        let linux = || build("linux", &Settings::default()).unwrap();
        let mut plain = nth(policies());
        let mut of_none = ByGroup::new(vec![Group { policy: linux(), ..group(Box::new(|_: &Process| false)).remove(0) }], nth(policies()));
        let mut of_all = ByGroup::new(group(Box::new(|_: &Process| true)), linux());
        for (at, seen) in seen.iter().enumerate() {
            let (plain, mut none, all) = (plain.decide(seen), of_none.decide(seen), of_all.decide(seen));
            if at == 0 {
                prop_assert!(none.notes.remove(0).starts_with("no managed process is in unit:a yet"));
            }
            prop_assert_eq!(&none, &plain);
            let bare = |mut action: Action, prefix: &str| {
                let reason = action.reason_mut();
                *reason = reason.strip_prefix(prefix).unwrap_or("no prefix").to_owned();
                action
            };
            let prefix = format!("{} for unit:a: ", plain.policy);
            let all: Vec<Action> = all.actions.into_iter().map(|action| bare(action, &prefix)).collect();
            prop_assert_eq!(all, plain.actions);
        }
    }
}

/// The processes that an action is about.
fn acted_on(action: &Action, seen: &Observation) -> Vec<Pid> {
    match action {
        Action::MoveThread { pid, .. }
        | Action::MigratePages { pid, .. }
        | Action::WithdrawPages { pid, .. }
        | Action::SetAllocation { pid, .. } => vec![*pid],
        Action::SetWays { threads, .. } => {
            let of = seen.threads().filter(|(_, thread)| threads.contains(&thread.tid));
            of.map(|(process, _)| process.pid).collect()
        }
    }
}
