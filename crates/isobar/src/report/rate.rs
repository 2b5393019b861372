//! Limits how many lines of one kind a log takes: some in ten seconds, then one line that says how
//! many more there were. Time is the machine's, so that a simulated run prints the same each time.

use isobar_model::Seconds;
use std::collections::BTreeMap;

/// Maximum number of lines of a kind in one window.
const MOST: u64 = 20;

/// The length of a window, which starts with its first line.
const WINDOW: Seconds = Seconds(10.0);

/// What a line is about. Lines of one kind share one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// the heading of an epoch's decisions
    Decision,
    /// one or several moved threads
    Move,
    /// pages migrated
    Pages,
    /// ways given to a cluster
    Ways,
    /// where a process allocates
    Allocation,
    /// a drawing of the ways of LLCs
    Map,
    /// what was predicted or measured of a change
    Change,
    /// a policy's note
    Note,
    /// the state of the run
    Status,
}

impl Kind {
    /// The plural noun for lines of this kind.
    const fn noun(self) -> &'static str {
        match self {
            Self::Decision => "decisions",
            Self::Move => "moved threads",
            Self::Pages => "migrated pages",
            Self::Ways => "cache ways",
            Self::Allocation => "places of new pages",
            Self::Map => "the ways of LLCs",
            Self::Change => "changes on trial",
            Self::Note => "notes of the policy",
            Self::Status => "the state of the run",
        }
    }
}

#[derive(Debug)]
struct Window {
    since: Seconds,
    lines: u64,
    swallowed: u64,
}

/// The limits of a run.
#[derive(Debug, Default)]
pub struct Rate(BTreeMap<Kind, Window>);

impl Rate {
    /// Whether a line of a kind may be written now. A line that may not is counted. Call
    /// [`Rate::ended`] first.
    pub fn admits(&mut self, kind: Kind, now: Seconds) -> bool {
        let window = self.0.entry(kind).or_insert(Window { since: now, lines: 0, swallowed: 0 });
        if window.lines < MOST {
            window.lines += 1;
            return true;
        }
        window.swallowed += 1;
        false
    }

    /// Counts a line that is not written for another reason, such as that its heading was not
    /// written.
    pub fn swallow(&mut self, kind: Kind, now: Seconds) {
        self.0.entry(kind).or_insert(Window { since: now, lines: 0, swallowed: 0 }).swallowed += 1;
    }

    /// What was suppressed in the windows that have ended, one line each.
    pub fn ended(&mut self, now: Seconds) -> Vec<String> {
        let ended: Vec<Kind> =
            self.0.iter().filter(|(_, window)| now.0 - window.since.0 >= WINDOW.0).map(|(kind, _)| *kind).collect();
        ended.into_iter().filter_map(|kind| line(kind, &self.0.remove(&kind)?, now)).collect()
    }

    /// The same for all windows, at the end of a run.
    pub fn rest(&mut self, now: Seconds) -> Vec<String> {
        std::mem::take(&mut self.0).iter().filter_map(|(kind, window)| line(*kind, window, now)).collect()
    }
}

fn line(kind: Kind, window: &Window, now: Seconds) -> Option<String> {
    let (more, seconds) = (window.swallowed, now.0 - window.since.0);
    let lines = if more == 1 { "line" } else { "lines" };
    (more > 0).then(|| format!("... {more} more {lines} like these about {} in the last {seconds:.1} s", kind.noun()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_swallowed_is_counted_and_said_once() {
        let mut rate = Rate::default();
        let written: Vec<bool> = (0..77).map(|_| rate.admits(Kind::Move, Seconds(1.0))).collect();
        assert_eq!(written.iter().filter(|admitted| **admitted).count(), 20);
        assert!(rate.admits(Kind::Note, Seconds(1.0)), "each kind has its own limit");
        assert_eq!(rate.ended(Seconds(10.5)), [""; 0], "the window has not ended");
        assert_eq!(
            rate.ended(Seconds(11.0)),
            ["... 57 more lines like these about moved threads in the last 10.0 s".to_owned()]
        );
        assert!(rate.admits(Kind::Move, Seconds(11.0)));
        assert_eq!(rate.rest(Seconds(12.0)), [""; 0]);
    }

    #[test]
    fn the_end_of_a_run_says_the_rest() {
        let mut rate = Rate::default();
        let admitted = (0..21).filter(|_| rate.admits(Kind::Status, Seconds(5.0))).count();
        assert_eq!(admitted, 20);
        let rest = rate.rest(Seconds(6.25));
        assert_eq!(rest, ["... 1 more line like these about the state of the run in the last 1.2 s".to_owned()]);
    }
}
