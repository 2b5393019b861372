//! The stream prefetcher of a CPU: which misses continue a run of lines, up or down. It sees the misses of the private cache and nothing
//! else; it fetches nothing itself: what it covers costs less, and passes the same queues.
//!
//! A line covers nothing by itself. The line next to one that was missed is a guess, the line after that in the same direction
//! is *covered*, and so is every one that follows. Lines are physical: where the next page lies elsewhere a run begins anew, at the
//! price of two misses in 64.

/// A run of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    last: u64,
    /// Steps up (above 0) or down (below 0) so far.
    steps: i64,
}

/// The runs that a CPU is in, the last continued one first.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    runs: Vec<Run>,
}

/// No line is next to this one.
const NOWHERE: Run = Run { last: u64::MAX / 2, steps: 0 };
/// Steps from which on a run covers.
const SURE: i64 = 2;

impl Streams {
    pub fn new(count: u32) -> Self {
        Self { runs: (0..count).map(|_| NOWHERE).collect() }
    }

    /// Whether a miss on this line is covered.
    pub fn covers(&mut self, line: u64) -> bool {
        let mut held = Run { last: line, steps: 0 };
        for place in 0..self.runs.len() {
            let run = self.runs[place];
            if let Some(steps) = next(run, line) {
                self.runs[place] = held;
                self.runs[0] = Run { last: line, steps };
                return steps.abs() >= SURE;
            }
            self.runs[place] = held;
            held = run;
        }
        false
    }
}

/// How many steps a run has made when it goes on with this line; none: it does not.
#[inline]
fn next(run: Run, line: u64) -> Option<i64> {
    if line == run.last.wrapping_add(1) {
        Some(run.steps.max(0) + 1)
    } else if line.wrapping_add(1) == run.last {
        Some(run.steps.min(0) - 1)
    } else {
        None
    }
}
