//! The stream prefetcher of a CPU: which misses continue a run of lines, up or down. It sees the
//! misses of the private cache and nothing else; it fetches nothing itself: lines that it covers
//! cost less, and pass the same queues.
//!
//! A line covers nothing by itself. The line next to one that was missed is a guess, the line after
//! that in the same direction is *covered*, and so is every one that follows. Lines are physical:
//! where the next page is elsewhere a new run begins, at the cost of two misses in 64.

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

    /// Follows none.
    pub fn empty(&mut self) {
        self.runs.fill(NOWHERE);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these lines are covered, `#`, and which are not, `.`.
    fn covered(streams: &mut Streams, lines: impl IntoIterator<Item = u64>) -> String {
        lines.into_iter().map(|line| if streams.covers(line) { '#' } else { '.' }).collect()
    }

    #[test]
    fn a_run_covers_from_its_third_line_on() {
        assert_eq!(covered(&mut Streams::new(8), 100..108), "..######");
        assert_eq!(covered(&mut Streams::new(8), (100..108).rev()), "..######");
        assert_eq!(covered(&mut Streams::new(8), [5, 6, 5, 4, 3, 9, 10, 11]), "...##..#");
    }

    #[test]
    fn steps_other_than_one_line_are_no_run() {
        assert_eq!(covered(&mut Streams::new(8), (0..8).map(|at| at * 2)), "........");
        assert_eq!(covered(&mut Streams::new(8), [7; 4]), "....");
    }

    #[test]
    fn eight_interleaved_runs_are_followed_and_the_ninth_drives_all_out() {
        let interleaved = |runs: u64| (0..5 * runs).map(move |at| at % runs * 1000 + at / runs);
        assert_eq!(covered(&mut Streams::new(8), interleaved(8)), ".".repeat(16) + &"#".repeat(24));
        assert_eq!(covered(&mut Streams::new(8), interleaved(9)), ".".repeat(45));
    }

    #[test]
    fn at_a_page_that_lies_elsewhere_a_run_begins_anew() {
        // Pages of 64 lines: 5, then 9, then 10, which lies behind it.
        let lines = (320..384).chain(576..640).chain(640..704);
        let text = covered(&mut Streams::new(8), lines);
        assert_eq!(text, format!("..{}..{}", "#".repeat(62), "#".repeat(126)));
    }

    #[test]
    fn other_misses_between_are_borne_up_to_the_number_of_runs() {
        let line = |at: u64| if at.is_multiple_of(8) { at / 8 } else { 1_000_000 + at * 37 };
        let text = covered(&mut Streams::new(8), (0..64).map(line));
        assert_eq!(text.matches('#').count(), 6);
        assert_eq!(covered(&mut Streams::new(4), (0..64).map(line)).matches('#').count(), 0);
    }
}
