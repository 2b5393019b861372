//! Detects memory that goes back and forth between two nodes (DINO, section 3.3.2: "DINO detects
//! when the memory is being ping-ponged between nodes and discontinues memory migration in that
//! case").
//!
//! The paper gives no rule; this one is ours. A *reversal* is a migration of a process's pages from
//! A to B when, at most `window` intervals ago, pages of it went from B to A. After `reversals` of
//! them within the window, the memory of the process rests for `rest` intervals. Going on in one
//! direction is not a reversal.

use isobar_model::{NodeId, Pid};
use std::collections::BTreeMap;

/// When memory counts as ping-ponged. Lengths are in intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a migration is remembered.
    pub window: u32,
    /// Reversals within the window that are too many.
    pub reversals: u32,
    /// How long the memory of such a process is left where it is.
    pub rest: u32,
}

/// What is remembered of each process.
#[derive(Clone, Debug)]
pub struct PingPong {
    limits: Limits,
    /// By process and pair of nodes, the lower first.
    pairs: BTreeMap<(Pid, NodeId, NodeId), Pair>,
    /// Until when the memory of a process rests.
    resting: BTreeMap<Pid, u64>,
}

#[derive(Clone, Debug, Default)]
struct Pair {
    /// When pages last moved, and whether to the higher node.
    last: Option<(u64, bool)>,
    /// When moves were reversals; ascending.
    reversals: Vec<u64>,
}

/// Whether a process's memory may move now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Go,
    /// It goes back and forth, which was found now: it stays for this number of intervals.
    Found(u32),
    /// It was found to go back and forth and rests.
    Rests,
}

impl PingPong {
    /// Nothing remembered yet.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self { limits, pairs: BTreeMap::new(), resting: BTreeMap::new() }
    }

    /// Whether pages of a process may go from one node to another in interval `now`. If so, the
    /// move is remembered.
    pub fn ask(&mut self, pid: Pid, from: NodeId, to: NodeId, now: u64) -> Verdict {
        if self.resting.get(&pid).is_some_and(|until| now < *until) {
            return Verdict::Rests;
        }
        let horizon = now.saturating_sub(u64::from(self.limits.window));
        let pair = self.pairs.entry((pid, from.min(to), from.max(to))).or_default();
        pair.reversals.retain(|when| *when >= horizon);
        let upward = from < to;
        if pair.last.is_some_and(|(when, was_upward)| when >= horizon && was_upward != upward) {
            pair.reversals.push(now);
        }
        pair.last = Some((now, upward));
        if pair.reversals.len() as u64 >= u64::from(self.limits.reversals) {
            *pair = Pair::default();
            self.resting.insert(pid, now + u64::from(self.limits.rest));
            return Verdict::Found(self.limits.rest);
        }
        Verdict::Go
    }

    /// Forgets processes that are gone.
    pub fn keep_only(&mut self, alive: impl Fn(Pid) -> bool) {
        self.pairs.retain(|(pid, ..), _| alive(*pid));
        self.resting.retain(|pid, _| alive(*pid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.` goes, `!` is found, `z` rests. Each step is one interval; `>` asks for 0 to 1, `<` for 1
    /// to 0, ` ` for nothing.
    fn timeline(steps: &str) -> String {
        let mut detector = PingPong::new(Limits { window: 10, reversals: 2, rest: 5 });
        let mut ask = |now: u64, from, to| match detector.ask(Pid(1), NodeId(from), NodeId(to), now) {
            Verdict::Go => '.',
            Verdict::Found(_) => '!',
            Verdict::Rests => 'z',
        };
        let step = |(now, step)| match step {
            '>' => ask(now, 0, 1),
            '<' => ask(now, 1, 0),
            _ => ' ',
        };
        (0..).zip(steps.chars()).map(step).collect()
    }

    #[test]
    fn in_time() {
        assert_eq!(timeline(">>>>>>"), "......", "one direction may go on");
        assert_eq!(timeline("><><><><>"), "..!zzzz..", "the second reversal is too many, and rests");
        assert_eq!(timeline("> < >"), ". . !");
        assert_eq!(timeline(">          <          >"), ".          .          .", "slow changes are not ping-pong");
    }
}
