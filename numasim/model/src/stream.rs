//! The stream prefetcher of a CPU: which misses continue a run of lines, up or down. It sees only
//! the misses of the private cache. It fetches nothing itself: lines that it covers cost less, and
//! pass the same queues.
//!
//! A run is the range of lines that missed recently. A miss up to [`REACH`] lines beyond an end of
//! the range moves that end, and the run *leans* one step in that direction. From two steps on, a
//! run covers misses that continue in its direction, and lines inside the range, which were
//! skipped. Lines that are visited slightly out of order, as in unrolled loops, and strides of up
//! to `REACH` lines therefore also make runs. Lines are physical, because prefetchers follow
//! physical pages: if the next page is elsewhere, a new run begins, at the cost of two misses in
//! 64.

/// A run of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    low: u64,
    /// The distance from the lowest to the highest line.
    length: u8,
    /// The direction: positive is up, negative is down.
    lean: i8,
}

/// The runs of a CPU, the last continued one first.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    runs: Vec<Run>,
}

/// An empty run: no line is near it.
const NOWHERE: Run = Run { low: u64::MAX / 2, length: 0, lean: 0 };
/// The largest distance beyond its end at which a line continues a run.
const REACH: u64 = 4;
/// The largest length of a run: lines further back no longer belong to it.
const LENGTH: u64 = 8;
/// How far a run must lean before it covers, and the most that it can lean: it turns within four
/// lines.
const SURE: i8 = 2;
const MOST: i8 = 3;

impl Streams {
    pub fn new(count: u32) -> Self {
        Self { runs: (0..count).map(|_| NOWHERE).collect() }
    }

    /// Removes all runs.
    pub fn empty(&mut self) {
        self.runs.fill(NOWHERE);
    }

    /// Whether a miss on this line is covered. The search for its run moves the other runs down by
    /// one on its way: if there is none, a new run is in the first place, and the last run has
    /// fallen out.
    pub fn covers(&mut self, line: u64) -> bool {
        let mut held = Run { low: line, ..NOWHERE };
        for place in &mut self.runs {
            std::mem::swap(place, &mut held);
            if near(held, line) {
                let (run, covered) = next(held, line);
                self.runs[0] = run;
                return covered;
            }
        }
        false
    }
}

#[inline]
fn near(run: Run, line: u64) -> bool {
    line.wrapping_add(REACH).wrapping_sub(run.low) <= u64::from(run.length) + 2 * REACH
}

/// A run extended by a line near it, and whether it covers the line.
#[inline]
fn next(run: Run, line: u64) -> (Run, bool) {
    let high = run.low + u64::from(run.length);
    if line > high {
        let lean = (run.lean + 1).min(MOST);
        (Run::of(run.low.max(line.saturating_sub(LENGTH)), line, lean), lean >= SURE)
    } else if line < run.low {
        let lean = (run.lean - 1).max(-MOST);
        (Run::of(line, high.min(line + LENGTH), lean), lean <= -SURE)
    } else {
        // A run of one line has the same line again: not a stream.
        (run, run.lean.abs() >= SURE)
    }
}

impl Run {
    #[inline]
    fn of(low: u64, high: u64, lean: i8) -> Self {
        Self { low, length: u8::try_from(high - low).unwrap_or(u8::MAX), lean }
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
        // 6 and 5 lean up, 4 leans back, and 3, 2, 1 lean down.
        assert_eq!(covered(&mut Streams::new(8), [5, 6, 5, 4, 3, 2, 1, 0]), ".....###");
    }

    #[test]
    fn a_run_turns_within_five_lines() {
        let there_and_back = (100..120).chain((100..112).rev());
        assert_eq!(covered(&mut Streams::new(8), there_and_back), format!("..{}....#######", "#".repeat(19)));
    }

    #[test]
    fn short_strides_are_runs_and_longer_ones_are_not() {
        for stride in 1..=4 {
            assert_eq!(covered(&mut Streams::new(8), (0..8).map(|at| 100 + at * stride)), "..######", "{stride}");
            assert_eq!(covered(&mut Streams::new(8), (0..8).map(|at| 100 - at * stride)), "..######", "{stride}");
        }
        assert_eq!(covered(&mut Streams::new(8), (0..8).map(|at| at * 5)), "........");
        assert_eq!(covered(&mut Streams::new(8), [7; 4]), "....");
    }

    /// Every order of four lines in which a loop that is unrolled four times may visit them, group
    /// after group: covered from the seventh group on at the latest.
    #[test]
    fn nearly_ordered_lines_are_a_run() {
        for order in orders() {
            let lines = (0..16).flat_map(|group| order.map(|line| 4 * group + line));
            let text = covered(&mut Streams::new(8), lines);
            assert!(text.ends_with(&"#".repeat(40)), "{order:?}: {text}");
        }
    }

    fn orders() -> impl Iterator<Item = [u64; 4]> {
        let all = (0..256_u64).map(|code| [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6]);
        all.filter(|order| (0..4).all(|line| order.contains(&line)))
    }

    /// Lines anywhere among 2048: less than one in a hundred counts as part of a run.
    #[test]
    fn random_lines_are_not_covered() {
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            1_000 + (seed >> 33) % 2048
        };
        let lines: Vec<_> = (0..10_000).map(|_| random()).collect();
        assert!(covered(&mut Streams::new(8), lines).matches('#').count() < 100);
    }

    #[test]
    fn eight_interleaved_runs_are_followed_and_the_ninth_drives_all_out() {
        let interleaved = |runs: u64| (0..5 * runs).map(move |at| at % runs * 1000 + at / runs);
        assert_eq!(covered(&mut Streams::new(8), interleaved(8)), ".".repeat(16) + &"#".repeat(24));
        assert_eq!(covered(&mut Streams::new(8), interleaved(9)), ".".repeat(45));
    }

    #[test]
    fn at_a_page_that_lies_elsewhere_a_run_begins_anew() {
        // Pages of 64 lines: page 5, then page 9, then page 10, which follows it.
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
