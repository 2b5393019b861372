//! Deliberate bugs for tests that need one; documented in docs/security.md. With
//! `ISOBAR_TEST_PANIC_AT_EPOCH=N` in the environment, decision N panics; with
//! `ISOBAR_TEST_HANG_AT_EPOCH=N`, it never ends. The tests use them to show that a bug in a policy
//! leaves nothing changed behind.

use isobar_model::{Action, GroupPolicy, Observation, Outcome, Plan, Policy, Sensor, WayCurves};
use std::time::Duration;

const PANIC: &str = "ISOBAR_TEST_PANIC_AT_EPOCH";
const HANG: &str = "ISOBAR_TEST_HANG_AT_EPOCH";

/// The policy, wrapped with the bug that the environment asks for, if any.
pub fn perhaps(policy: Box<dyn Policy>) -> Box<dyn Policy> {
    let decision = |variable: &str| std::env::var(variable).ok().and_then(|value| value.parse().ok());
    let bugs = [(PANIC, panic as fn()), (HANG, hang)];
    match bugs.iter().find_map(|(variable, bug)| Some((decision(variable)?, *bug))) {
        Some((left, bug)) => Box::new(Faulty { policy, left, bug }),
        None => policy,
    }
}

#[expect(clippy::panic, reason = "that is its purpose")]
fn panic() {
    panic!("asked for by {PANIC}");
}

fn hang() {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

struct Faulty {
    policy: Box<dyn Policy>,
    /// Number of decisions until the bug occurs, including that one.
    left: u64,
    bug: fn(),
}

impl Policy for Faulty {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.policy.needs()
    }

    fn uses(&self) -> &'static [Sensor] {
        self.policy.uses()
    }

    fn failed(&self) -> Option<&str> {
        self.policy.failed()
    }

    fn groups(&self) -> Vec<GroupPolicy> {
        self.policy.groups()
    }

    fn learnt(&self) -> Vec<WayCurves> {
        self.policy.learnt()
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            (self.bug)();
        }
        self.policy.decide(seen)
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.policy.applied(plan, outcome);
    }

    fn undone(&mut self, action: &Action) {
        self.policy.undone(action);
    }
}
