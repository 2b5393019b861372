//! Where a thread of a job waits next: what the thread itself knows of its job (`jobs.rs`).

/// The next barrier of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gate {
    /// Its number, from 1, and that of the last.
    pub number: u32,
    pub last: u32,
    /// The part of its time in which the thread works, as it competes.
    pub busy: f64,
    /// Seconds of work since the last barrier.
    pub worked: f64,
}

impl Gate {
    /// Instructions of a thread at this barrier.
    pub fn at(&self, goal: f64) -> f64 {
        if self.number >= self.last { goal } else { goal * f64::from(self.number) / f64::from(self.last) }
    }
}
