//! Reads a recording for people to look at: epoch by epoch, as the loop would show them, with the
//! facts about it in words.

use crate::text::{plain, plural};
use isobar_model::{Observation, Plan, Sample};
use isobar_recording::{Recording, RecordingError, about};
use isobar_runtime::selection;
use isobar_view::Moment;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// A recording, read from its beginning.
pub struct Past {
    recording: Recording,
    before: Option<Sample>,
    /// Time of its first reading, in seconds since 1970.
    pub begun: Option<f64>,
    /// The oldest epoch, if earlier ones were dropped. A recording that begins in the middle of a
    /// run begins with a reading, not with a decision.
    pub cut: Option<u64>,
    /// Number of epochs that are missing between those that were read.
    pub missing: u64,
    last: Option<u64>,
}

impl Past {
    /// Starts at the beginning of a recording.
    pub const fn of(recording: Recording) -> Self {
        Self { recording, before: None, begun: None, cut: None, missing: 0, last: None }
    }

    /// Shows the next epoch. Returns false at the end, when nothing was shown.
    ///
    /// # Errors
    /// If the recording is damaged.
    pub fn next(&mut self, see: &mut dyn FnMut(&Moment<'_>)) -> Result<bool, RecordingError> {
        loop {
            let Some(now) = self.recording.next_moment()? else { return Ok(false) };
            self.begun = self.begun.or(now.wall_time);
            if self.last.is_none() {
                self.cut = now.decision.as_ref().map(|_| now.number);
            }
            self.missing += self.last.map_or(0, |last| now.number.saturating_sub(last + 1));
            self.last = Some(now.number);
            let Some(before) = self.before.replace(now.sample.clone()) else { continue };
            let seen = Observation::between(&before, &now.sample);
            let nothing = Plan::default();
            let plan = now.decision.as_ref().map_or(&nothing, |decision| &decision.plan);
            let decision = now.decision.as_ref();
            let undone: Vec<_> = decision.iter().flat_map(|decision| &decision.undone).map(|one| one.id).collect();
            see(&Moment {
                number: now.number,
                capabilities: &now.sample.capabilities,
                seen: &seen,
                managed: &selection::part(&seen, &now.managed),
                plan,
                outcome: decision.and_then(|decision| decision.outcome.as_ref()),
                first_id: decision.and_then(|decision| decision.first_id),
                undone: &undone,
            });
            return Ok(true);
        }
    }
}

/// The facts about a recording, each under a name for people.
pub fn facts(facts: &BTreeMap<String, String>, begun: Option<f64>) -> Vec<(String, String)> {
    let dry = facts.get(about::DRY_RUN).is_some_and(|dry| dry == "true");
    let mut named = Vec::new();
    for (key, name) in [(about::HOST, "host"), (about::KERNEL, "kernel"), (about::MACHINE, "machine")] {
        named.extend(facts.get(key).map(|value| (name.to_owned(), plain(value).into_owned())));
    }
    let policy = facts.get(about::POLICY).map(|policy| plain(policy).into_owned());
    let dry = if dry { " (dry run: nothing was changed)" } else { "" };
    named.extend(policy.map(|policy| ("policy".to_owned(), policy + dry)));
    named.extend(begun.and_then(utc).map(|time| ("begun".to_owned(), time)));
    named.extend(facts.get(about::ISOBAR).map(|version| ("isobar".to_owned(), plain(version).into_owned())));
    named
}

/// A time as RFC 3339, in UTC.
fn utc(seconds: f64) -> Option<String> {
    let time = Timestamp::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds).ok()?).ok()?;
    Some(format!("{time:.0}"))
}

/// What a reader should know before looking at the figures. `cut` is the oldest epoch in the file
/// if earlier ones were dropped.
pub fn remarks(facts: &BTreeMap<String, String>, cut: Option<u64>, missing: u64) -> Vec<String> {
    let mut lines = Vec::new();
    if !facts.contains_key(about::COMPLETE) {
        lines.push("The recorder did not end in order, or is still running.".to_owned());
    }
    if let Some(first) = cut {
        lines.push(format!("The beginning was dropped: the oldest epoch in the file is {first}."));
    }
    if missing > 0 {
        lines.push(format!("{} missing: the disk was too slow.", plural(missing, "epoch")));
    }
    lines
}
