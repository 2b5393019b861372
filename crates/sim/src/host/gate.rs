//! The barrier at which a thread of a job waits next: the part of a job's state that each thread
//! has (see `jobs.rs`).

/// The next barrier of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gate {
    /// Its number, from 1, and the number of the last barrier.
    pub number: u32,
    pub last: u32,
    /// The fraction of its time in which the thread works, used as its share when it competes.
    pub busy: f64,
    /// Seconds of work since the last barrier.
    pub worked: f64,
}

impl Gate {
    /// Instructions that a thread has executed when it is at this barrier.
    pub fn at(&self, goal: f64) -> f64 {
        if self.number >= self.last { goal } else { goal * f64::from(self.number) / f64::from(self.last) }
    }
}
