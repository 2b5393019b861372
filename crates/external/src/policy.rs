//! The policy that asks a program. It turns observations into lines and lines into plans, checks
//! plans against the rules, and decides what happens to a program that fails.
//!
//! Properties:
//! - A plan that this policy returns is valid for the observation, or it plans nothing.
//! - The program never sees its own process, so it cannot move itself by accident.
//! - A decision takes no longer than the time-out plus the time to end a process, and is cut short
//!   when isobar is asked to stop.

use crate::cost::{Begun, Costs};
use crate::fault::Fault;
use crate::program::Program;
use crate::restarts::Restarts;
use crate::running::Running;
use isobar_model::text::{one_line, plain};
use isobar_model::wire::{observation_to_json, plan_from_json};
use isobar_model::{Observation, Pid, Plan, Policy, Sensor};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What happens after a fault of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFault {
    /// Nothing is planned in that epoch, a note says why, and the program is restarted if
    /// necessary. Used on a real machine.
    GoOn,
    /// The run ends with an error that names the program. Used in a simulation.
    End,
}

/// How a program is asked.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum time for a decision.
    pub timeout: Duration,
    /// Raised when isobar is asked to stop. A decision that is not made by then is given up.
    pub stop: Arc<AtomicBool>,
    /// Maximum number of restarts, unless the program makes ten good plans in between.
    pub restarts: u32,
    /// The sensors without which it cannot decide.
    pub needs: &'static [Sensor],
    /// Sensors that are switched on for it if they work.
    pub uses: &'static [Sensor],
    /// What happens after its faults.
    pub on_fault: OnFault,
    /// Whether the program runs on the machine that it observes. If so, it does not see itself. A
    /// simulated or recorded process may have the same number by chance, and is visible.
    pub here: bool,
    /// A remark that is made once, with the first plan.
    pub remark: Option<String>,
}

/// A policy that is a program.
#[derive(Debug)]
pub struct External {
    program: Program,
    options: Options,
    costs: Costs,
    restarts: Restarts,
    running: Option<Running>,
    failed: Option<String>,
}

impl External {
    /// Starts the program, so that it is ready for the first question.
    #[must_use]
    pub fn start(program: &Program, options: &Options, costs: &Costs) -> Self {
        // If the program does not start, it is started again when it is asked; its fault is
        // reported then.
        let running = Running::start(program, costs.clone()).ok();
        let restarts = Restarts::at_most(options.restarts);
        let (program, options, costs) = (program.clone(), options.clone(), costs.clone());
        Self { program, options, costs, restarts, running, failed: None }
    }

    fn asked(&mut self, seen: &Observation) -> Result<Plan, Fault> {
        let running = match self.running.take() {
            Some(running) => running,
            None => {
                self.restarts.may_start()?;
                Running::start(&self.program, self.costs.clone())?
            }
        };
        let running = self.running.insert(running);
        let begun = Begun::now();
        let seen = if self.options.here { without(seen, running.pid()) } else { Cow::Borrowed(seen) };
        let line = observation_to_json(&seen).to_string();
        let answer = running.ask(&line, self.options.timeout, &self.options.stop)?;
        let plan = understood(&answer, &seen)?;
        running.decided(begun);
        self.restarts.went_well();
        Ok(Plan { policy: self.program.name().to_owned(), ..plan })
    }

    /// What is wrong, with the program's last line on stderr.
    fn in_words(&mut self, fault: Fault) -> String {
        let (fault, last) = match self.running.take() {
            Some(running) if fault.ends_it() => running.end(fault),
            running => {
                let last = running.as_ref().and_then(Running::last_words);
                self.running = running;
                (fault, last)
            }
        };
        if fault.ends_it() {
            self.restarts.died();
        }
        let last = last.map(|line| format!("; its last line on stderr: {}", plain(&line))).unwrap_or_default();
        format!("{}{last}", one_line(&fault.to_string()))
    }
}

impl Policy for External {
    fn name(&self) -> &'static str {
        self.program.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.options.needs
    }

    fn uses(&self) -> &'static [Sensor] {
        self.options.uses
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = match self.asked(seen) {
            Ok(plan) => plan,
            Err(fault) => {
                let words = self.in_words(fault);
                let note = format!("nothing is planned: {} {words}", plain(self.program.name()));
                self.failed = Some(words).filter(|_| self.options.on_fault == OnFault::End);
                Plan { notes: vec![note], ..Plan::nothing(self.program.name()) }
            }
        };
        plan.notes.extend(self.options.remark.take());
        plan
    }

    fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }
}

/// The observation without one process.
fn without(seen: &Observation, pid: u32) -> Cow<'_, Observation> {
    let pid = Pid(pid);
    if seen.process(pid).is_none() {
        return Cow::Borrowed(seen);
    }
    let mut seen = seen.clone();
    seen.processes.retain(|process| process.pid != pid);
    Cow::Owned(seen)
}

/// Parses and checks an answer.
fn understood(answer: &[u8], seen: &Observation) -> Result<Plan, Fault> {
    let text = String::from_utf8_lossy(answer);
    let begin = || text.chars().take(60).collect::<String>();
    let plan = plan_from_json(&text).map_err(|error| Fault::NotAPlan(error, format!("{:?}", begin())))?;
    plan.validate(seen).map_err(Fault::Plan)?;
    Ok(plan)
}
