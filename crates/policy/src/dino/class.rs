//! DINO's classes and their hysteresis (sections 3.3.2 and 3.3.3): a thread changes class only
//! after it spent at least `votes` of its last `window` intervals in the new one.

use isobar_model::Mpki;
use std::fmt;

/// How memory-intensive a thread is. Ordered by intensity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Fewer than 2 LLC misses per 1000 instructions.
    Turtle,
    /// 2 to 100.
    Devil,
    /// More than 100.
    SuperDevil,
}

/// Number of classes.
pub const CLASSES: usize = 3;

impl Class {
    /// Its position by rising intensity.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The class of a miss rate. `devil` and `super_devil` are the thresholds; a rate equal to
    /// either of them belongs to the middle class.
    #[must_use]
    pub fn of(rate: Mpki, devil: Mpki, super_devil: Mpki) -> Self {
        if rate.0 < devil.0 {
            Self::Turtle
        } else if rate.0 <= super_devil.0 {
            Self::Devil
        } else {
            Self::SuperDevil
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Turtle => "turtle",
            Self::Devil => "devil",
            Self::SuperDevil => "super-devil",
        })
    }
}

/// The class of one thread over time. The last 64 intervals are kept as one bit per class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    class: Class,
    seen: [u64; CLASSES],
}

impl History {
    /// The history of a thread seen for the first time: it has the class of its first interval.
    #[must_use]
    pub const fn new(first: Class) -> Self {
        let mut seen = [0; CLASSES];
        seen[first.index()] = 1;
        Self { class: first, seen }
    }

    /// The present class.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// The history with one more interval, whose class is `interval`; `window` is at most 64.
    #[must_use]
    pub fn with(mut self, interval: Class, window: u32, votes: u32) -> Self {
        let kept = if window >= 64 { u64::MAX } else { (1 << window) - 1 };
        for bits in &mut self.seen {
            *bits = *bits << 1 & kept;
        }
        self.seen[interval.index()] |= 1;
        if self.seen[interval.index()].count_ones() >= votes {
            self.class = interval;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(class: Class) -> char {
        match class {
            Class::Turtle => 't',
            Class::Devil => 'd',
            Class::SuperDevil => 'D',
        }
    }

    /// The class after each interval, given the class of the miss rate in each interval.
    fn timeline(intervals: &str, window: u32, votes: u32) -> String {
        let classes = intervals.chars().map(|c| match c {
            't' => Class::Turtle,
            'd' => Class::Devil,
            _ => Class::SuperDevil,
        });
        let mut history: Option<History> = None;
        let step = |class| {
            let next = history.map_or(History::new(class), |known| known.with(class, window, votes));
            history = Some(next);
            letter(next.class())
        };
        classes.map(step).collect()
    }

    #[test]
    fn thresholds_are_the_paper_s() {
        let class = |rate| letter(Class::of(Mpki(rate), Mpki(2.0), Mpki(100.0)));
        assert_eq!([1.99, 2.0, 100.0, 100.1].map(class), ['t', 'd', 'd', 'D']);
    }

    #[test]
    fn seven_of_the_last_ten() {
        assert_eq!(timeline("ttttttttttdddddddddd", 10, 7), "ttttttttttttttttdddd", "the seventh interval decides");
        assert_eq!(timeline("ttttttttttddddddtttt", 10, 7), "tttttttttttttttttttt", "a spike of six does nothing");
        assert_eq!(timeline("ttttttttttdddtddddtt", 10, 7), "tttttttttttttttttddd", "seven need not be in a row");
    }

    #[test]
    fn a_window_of_one_follows_at_once() {
        assert_eq!(timeline("tdDt", 1, 1), "tdDt");
        assert_eq!(timeline("tdddt", 64, 2), "ttddt");
    }
}
