//! A bug on purpose: with `ISOBAR_PANIC_AT_EPOCH=N` in the environment, decision N panics. The machine test shows with it that a
//! bug in a policy leaves nothing changed behind. Nobody else sets it.

use isobar_model::{Observation, Plan, Policy, Sensor, WayCurves};

const VARIABLE: &str = "ISOBAR_PANIC_AT_EPOCH";

/// The policy itself, or one that panics when the environment says so.
pub fn perhaps(policy: Box<dyn Policy>) -> Box<dyn Policy> {
    let decision = std::env::var(VARIABLE).ok().and_then(|value| value.parse().ok());
    match decision {
        Some(left) => Box::new(Faulty { policy, left }),
        None => policy,
    }
}

struct Faulty {
    policy: Box<dyn Policy>,
    left: u64,
}

impl Policy for Faulty {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.policy.needs()
    }

    fn learnt(&self) -> Vec<WayCurves> {
        self.policy.learnt()
    }

    #[expect(clippy::panic, reason = "that is its purpose")]
    fn decide(&mut self, seen: &Observation) -> Plan {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            panic!("asked for by {VARIABLE}");
        }
        self.policy.decide(seen)
    }
}
