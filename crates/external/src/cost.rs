//! What asking a program costs: the time of a decision as the loop waits for it, and how much of it
//! the program itself computed, by the kernel's count.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The decisions of a program, without the first one of each process: the start of an interpreter
/// is no part of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How many.
    pub decisions: u32,
    /// The time that they took in all.
    pub elapsed: Duration,
    /// The CPU time of the program in that time.
    pub own: Duration,
}

impl Cost {
    /// The time of a decision, and what of it is beyond the program's own, in milliseconds; `None`
    /// where there was no decision.
    #[must_use]
    pub fn per_decision(&self) -> Option<(f64, f64)> {
        let each = |time: Duration| time.as_secs_f64() * 1000.0 / f64::from(self.decisions);
        (self.decisions > 0).then(|| (each(self.elapsed), each(self.elapsed.saturating_sub(self.own))))
    }
}

/// Costs of all instances of a policy together.
#[derive(Clone, Debug, Default)]
pub struct Costs(Arc<Mutex<Cost>>);

impl Costs {
    /// What they came to.
    #[must_use]
    pub fn sum(&self) -> Cost {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, cost: Cost) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sum.decisions = sum.decisions.saturating_add(cost.decisions);
        sum.elapsed += cost.elapsed;
        sum.own += cost.own;
    }
}

/// The costs of one process.
#[derive(Debug)]
pub(crate) struct Meter {
    costs: Costs,
    pid: u32,
    /// The CPU time of the process after its first answer.
    begin: Option<Duration>,
    decisions: u32,
    elapsed: Duration,
}

impl Meter {
    /// For a process.
    pub(crate) const fn of(pid: u32, costs: Costs) -> Self {
        Self { costs, pid, begin: None, decisions: 0, elapsed: Duration::ZERO }
    }

    /// A decision was made.
    pub(crate) fn add(&mut self, elapsed: Duration) {
        if self.begin.is_none() {
            self.begin = Some(cpu_time(self.pid));
            return;
        }
        self.decisions = self.decisions.saturating_add(1);
        self.elapsed += elapsed;
    }

    /// Adds up, before the process ends.
    pub(crate) fn end(&mut self) {
        if let Some(begin) = self.begin.take() {
            let own = cpu_time(self.pid).saturating_sub(begin);
            self.costs.add(Cost { decisions: self.decisions, elapsed: self.elapsed, own });
        }
    }
}

/// The time that a process has been on a CPU (`/proc/PID/schedstat`, in nanoseconds); nothing where
/// the kernel does not count it.
fn cpu_time(pid: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let nanoseconds = text.split_ascii_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_s_time_is_split_into_the_program_s_and_the_rest() {
        let cost = Cost { decisions: 4, elapsed: Duration::from_millis(8), own: Duration::from_millis(6) };
        assert_eq!(cost.per_decision(), Some((2.0, 0.5)));
        assert_eq!(Cost::default().per_decision(), None);
    }
}
