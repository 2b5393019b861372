//! A Python object as a policy. Observations go in and plans come out as the JSON of
//! `docs/writing-a-policy.md`, and a plan is checked against the same rules as the plan of a
//! program.
//!
//! Properties:
//! - A plan that this policy returns is valid for the observation, or it plans nothing.
//! - The first exception of a policy is kept as it was raised, with its traceback.
//! - No policy, in whatever language, is asked after the simulation was interrupted.

use crate::apart::Standing;
use isobar_model::wire::{observation_to_json, plan_from_json, plan_to_json};
use isobar_model::{Action, Observation, Outcome, Plan, Policy, Sensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A policy in Python by name, and the function that makes a fresh one.
#[derive(Debug)]
pub struct Decider {
    pub name: &'static str,
    pub needs: &'static [Sensor],
    pub uses: &'static [Sensor],
    /// Called without arguments; the result has `ask` and `applied`.
    pub make: Py<PyAny>,
    pub shared: Shared,
}

/// State shared by all instances of a policy.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    raised: Option<PyErr>,
    cost: Cost,
}

/// The cost of asking the policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub decisions: u64,
    /// Time from the observation to a checked plan.
    pub elapsed: Duration,
    /// The part of it spent in `decide` of the policy.
    pub policy: Duration,
    /// CPU time in the same span, and the part of it in `decide`: what `elapsed` would be on an
    /// idle machine.
    pub computed: Duration,
    pub policy_computed: Duration,
}

/// The CPU time of this thread.
fn computed() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

impl Shared {
    /// The cost so far.
    pub fn cost(&self) -> Cost {
        self.kept(|kept| kept.cost)
    }

    /// The first exception.
    pub fn raised(&self) -> Option<PyErr> {
        self.kept(|kept| kept.raised.take())
    }

    fn kept<R>(&self, with: impl FnOnce(&mut Kept) -> R) -> R {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Decider {
    /// A fresh policy. If the object cannot be made, the policy has failed before it decides.
    pub fn make(&self) -> Box<dyn Policy> {
        let made = Python::attach(|py| self.make.call0(py));
        let mut policy = Asked {
            name: self.name,
            needs: self.needs,
            uses: self.uses,
            object: None,
            shared: self.shared.clone(),
            failed: None,
        };
        match made {
            Ok(object) => policy.object = Some(object),
            Err(error) => policy.fail(error),
        }
        Box::new(policy)
    }
}

/// An instance that is asked.
struct Asked {
    name: &'static str,
    needs: &'static [Sensor],
    uses: &'static [Sensor],
    object: Option<Py<PyAny>>,
    shared: Shared,
    failed: Option<String>,
}

impl Asked {
    fn fail(&mut self, error: PyErr) {
        self.failed = Some(Python::attach(|py| {
            let value = error.value(py).to_string();
            let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
            if value.is_empty() { kind } else { format!("{kind}: {value}") }
        }));
        self.shared.kept(|kept| {
            kept.raised.get_or_insert(error);
        });
    }

    /// A plan, and the time and CPU time that the policy took for it.
    fn asked(&self, seen: &Observation) -> PyResult<(Plan, Duration, Duration)> {
        let text = observation_to_json(seen).to_string();
        let answer = Python::attach(|py| -> PyResult<(Option<String>, u64, u64)> {
            let object = self.object.as_ref().ok_or_else(|| PyValueError::new_err("the policy could not be made"))?;
            object.call_method1(py, "ask", (text,))?.extract(py)
        });
        let (answer, elapsed, computed) = answer?;
        let plan = answer.map_or_else(|| Ok(Plan::nothing(self.name)), |answer| self.understood(&answer, seen))?;
        Ok((plan, Duration::from_nanos(elapsed), Duration::from_nanos(computed)))
    }

    fn understood(&self, answer: &str, seen: &Observation) -> PyResult<Plan> {
        let wrong = |why: String| PyValueError::new_err(format!("at {} s: {why}", seen.time.0));
        let plan = plan_from_json(answer).map_err(|error| wrong(format!("not a plan: {error}")))?;
        plan.validate(seen).map_err(|fault| wrong(format!("the plan cannot be carried out: {fault}")))?;
        Ok(Plan { policy: self.name.to_owned(), ..plan })
    }
}

impl Policy for Asked {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> &'static [Sensor] {
        self.needs
    }

    fn uses(&self) -> &'static [Sensor] {
        self.uses
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        if self.failed.is_some() {
            return Plan::nothing(self.name);
        }
        let (begun, computed_before) = (Instant::now(), computed());
        match self.asked(seen) {
            Ok((plan, policy, policy_computed)) => {
                self.shared.kept(|kept| {
                    kept.cost.decisions += 1;
                    kept.cost.elapsed += begun.elapsed();
                    kept.cost.policy += policy;
                    kept.cost.computed += computed().saturating_sub(computed_before);
                    kept.cost.policy_computed += policy_computed;
                });
                plan
            }
            Err(error) => {
                self.fail(error);
                Plan::nothing(self.name)
            }
        }
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        let Some(object) = self.object.as_ref().filter(|_| self.failed.is_none()) else { return };
        let (plan, outcome) = (plan_to_json(plan).to_string(), serde_json::to_string(&outcome.actions));
        let told = outcome
            .map_err(|error| PyValueError::new_err(error.to_string()))
            .and_then(|outcome| Python::attach(|py| object.call_method1(py, "applied", (plan, outcome)).map(drop)));
        if let Err(error) = told {
            self.fail(error);
        }
    }

    fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }
}

/// A policy that stops when the work that it belongs to is stopped.
pub struct Stoppable {
    pub inner: Box<dyn Policy>,
    pub standing: Standing,
}

impl Policy for Stoppable {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.inner.needs()
    }

    fn uses(&self) -> &'static [Sensor] {
        self.inner.uses()
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        if self.standing.stopped() { Plan::nothing(self.name()) } else { self.inner.decide(seen) }
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.inner.applied(plan, outcome);
    }

    fn undone(&mut self, action: &Action) {
        self.inner.undone(action);
    }

    fn failed(&self) -> Option<&str> {
        if self.standing.stopped() { Some("interrupted") } else { self.inner.failed() }
    }
}
