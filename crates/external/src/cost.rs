//! The cost of asking a program: the time that the loop waits for a decision, and how much of that
//! time the program and isobar computed, by the kernel's count. The rest is waiting for a CPU.

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The decisions of a program, without the first one of each process, because the start of an
/// interpreter is not part of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of decisions.
    pub decisions: u32,
    /// The time that they took in total.
    pub elapsed: Duration,
    /// The CPU time of the program in that time.
    pub program: Duration,
    /// The CPU time of isobar for them: writing and reading JSON, checking, pipes.
    pub isobar: Duration,
}

/// The parts of a decision, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionCost {
    /// The whole decision.
    pub elapsed: f64,
    /// What the program computed.
    pub program: f64,
    /// What isobar computed.
    pub isobar: f64,
}

impl Cost {
    /// The mean over the decisions; `None` if there were none.
    #[must_use]
    pub fn each(&self) -> Option<DecisionCost> {
        let each = |time: Duration| time.as_secs_f64() * 1000.0 / f64::from(self.decisions);
        let (elapsed, program, isobar) = (self.elapsed, self.program, self.isobar);
        (self.decisions > 0).then(|| DecisionCost {
            elapsed: each(elapsed),
            program: each(program),
            isobar: each(isobar),
        })
    }
}

/// The costs of all instances of a policy together.
#[derive(Clone, Debug, Default)]
pub struct Costs(Arc<Mutex<Cost>>);

impl Costs {
    /// The sum of these costs.
    #[must_use]
    pub fn sum(&self) -> Cost {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, cost: Cost) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sum.decisions = sum.decisions.saturating_add(cost.decisions);
        sum.elapsed += cost.elapsed;
        sum.program += cost.program;
        sum.isobar += cost.isobar;
    }
}

/// The costs of one process.
#[derive(Debug)]
pub(crate) struct Meter {
    costs: Costs,
    pid: u32,
    /// The CPU time of the process after its first answer.
    begin: Option<Duration>,
    sum: Cost,
}

/// A decision that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    at: Instant,
    isobar: Duration,
}

impl Begun {
    /// A decision that begins now, on this thread.
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), isobar: own_time() }
    }
}

impl Meter {
    /// A meter for a process.
    pub(crate) fn of(pid: u32, costs: Costs) -> Self {
        Self { costs, pid, begin: None, sum: Cost::default() }
    }

    /// Adds a decision that was made.
    pub(crate) fn add(&mut self, begun: Begun) {
        if self.begin.is_none() {
            self.begin = Some(cpu_time(self.pid));
            return;
        }
        self.sum.decisions = self.sum.decisions.saturating_add(1);
        self.sum.elapsed += begun.at.elapsed();
        self.sum.isobar += own_time().saturating_sub(begun.isobar);
    }

    /// Adds the process's costs to the sum. Must be called before the process ends.
    pub(crate) fn end(&mut self) {
        if let Some(begin) = self.begin.take() {
            let program = cpu_time(self.pid).saturating_sub(begin);
            self.costs.add(Cost { program, ..self.sum });
        }
    }
}

/// The time that a process has been on a CPU (`/proc/PID/schedstat`, in nanoseconds); zero if the
/// kernel does not count it.
fn cpu_time(pid: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let nanoseconds = text.split_ascii_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// The CPU time of this thread.
fn own_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_s_time_is_split_into_the_program_s_and_the_rest() {
        let of = Duration::from_millis;
        let cost = Cost { decisions: 4, elapsed: of(8), program: of(6), isobar: of(1) };
        assert_eq!(cost.each(), Some(DecisionCost { elapsed: 2.0, program: 1.5, isobar: 0.25 }));
        assert_eq!(Cost::default().each(), None);
    }
}
