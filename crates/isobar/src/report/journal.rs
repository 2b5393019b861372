//! The entries of a daemon's log about a run, with a priority and fields: one entry for each action
//! while there are few. Where the entries go is up to the caller.

use super::missing::Missing;
use super::rate::{Kind, Rate};
use super::remarks::Printed;
use super::words::{action_in_words, concerns, facts, outcome_in_words, summary, undone, unmatched};
use super::{AfterRun, Reporter, changes, sums};
use isobar_model::{Action, ActionOutcome};
use isobar_runtime::{BoxError, Epoch, Observer, Start, Tally};
use serde_json::Value;

/// Maximum number of actions in an epoch that get entries of their own.
const HANDFUL: usize = 8;

/// How important an entry is, as in syslog(3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// the daemon ends, or something is left changed
    Error,
    /// something does not work
    Warning,
    /// something that a person asked for or should know
    Notice,
    /// what the daemon does
    Info,
}

impl Priority {
    /// The number of syslog(3).
    pub const fn number(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Warning => 4,
            Self::Notice => 5,
            Self::Info => 6,
        }
    }

    /// The word in front of a line for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error: ",
            Self::Warning => "warning: ",
            Self::Notice | Self::Info => "",
        }
    }
}

/// The fields of an entry, by name.
pub type Fields = Vec<(&'static str, String)>;

/// Takes an entry.
pub type LogEntry<'a> = &'a dyn Fn(Priority, String, Fields);

/// The reporter of `isobar daemon`.
pub struct Journal<'a> {
    say: LogEntry<'a>,
    /// Called once the run has begun.
    ready: &'a dyn Fn(),
    rate: Rate,
    remarks: Printed,
    missing: Missing,
    notes: Vec<String>,
    dry_run: bool,
}

impl<'a> Journal<'a> {
    /// A reporter that calls `ready` once the run has begun.
    pub fn new(say: LogEntry<'a>, ready: &'a dyn Fn()) -> Self {
        let (rate, remarks, missing) = (Rate::default(), Printed::default(), Missing::default());
        Self { say, ready, rate, remarks, missing, notes: Vec::new(), dry_run: false }
    }

    fn all(&self, priority: Priority, lines: impl IntoIterator<Item = String>) {
        lines.into_iter().for_each(|line| (self.say)(priority, line.trim().to_owned(), Fields::new()));
    }

    fn actions(&mut self, epoch: &Epoch<'_>) {
        if epoch.plan.actions.len() > HANDFUL {
            let lines = sums::lines(epoch, false);
            let admitted: Vec<String> = lines
                .into_iter()
                .filter(|(kind, _)| self.rate.admits(*kind, epoch.seen.time))
                .map(|(_, line)| line)
                .collect();
            return self.all(Priority::Info, admitted);
        }
        for (index, action) in epoch.plan.actions.iter().enumerate() {
            let outcome = epoch.outcome.and_then(|outcome| outcome.actions.get(index));
            if self.rate.admits(sums::about(action), epoch.seen.time) {
                let refused = matches!(outcome, Some(ActionOutcome::Refused { .. }));
                let priority = if refused { Priority::Warning } else { Priority::Info };
                let fields = fields(epoch, index, action, outcome);
                let what = action_in_words(action, epoch.managed);
                let became = match outcome {
                    Some(ActionOutcome::Refused { why, .. }) => format!("refused: {why}"),
                    other => outcome_in_words(other),
                };
                let id = epoch.first_id.map(|first| format!("#{} ", first.0 + number(index))).unwrap_or_default();
                (self.say)(priority, format!("{id}{what}: {} [{became}]", action.reason()), fields);
            }
        }
    }

    fn fresh_notes(&mut self, epoch: &Epoch<'_>) {
        let before = std::mem::replace(&mut self.notes, epoch.plan.notes.clone());
        let fresh: Vec<String> = epoch.plan.notes.iter().filter(|note| !before.contains(note)).cloned().collect();
        let admitted: Vec<String> =
            fresh.into_iter().filter(|_| self.rate.admits(Kind::Note, epoch.seen.time)).collect();
        self.all(Priority::Info, admitted);
    }
}

fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}

/// The fields that a query of the journal may select by: `journalctl ISOBAR_ACTION_ID=12`.
fn fields(epoch: &Epoch<'_>, index: usize, action: &Action, outcome: Option<&ActionOutcome>) -> Fields {
    let document = |value: serde_json::Result<Value>| value.unwrap_or_default();
    let (action, outcome) =
        (document(serde_json::to_value(action)), outcome.map(|one| document(serde_json::to_value(one))));
    let mut fields = vec![
        ("ISOBAR_EPOCH", epoch.number.to_string()),
        ("ISOBAR_POLICY", epoch.plan.decided_by(index).to_owned()),
        ("ISOBAR_ACTION", action.to_string()),
    ];
    fields.extend(epoch.first_id.map(|first| ("ISOBAR_ACTION_ID", (first.0 + number(index)).to_string())));
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => Some(text.clone()),
        Some(value @ Value::Number(_)) => Some(value.to_string()),
        _ => None,
    };
    let named = [("ISOBAR_KIND", "kind"), ("ISOBAR_PID", "pid"), ("ISOBAR_TID", "tid"), ("ISOBAR_REASON", "reason")];
    fields.extend(named.into_iter().filter_map(|(field, key)| Some((field, text(action.get(key))?))));
    let became = [("ISOBAR_RESULT", "result"), ("ISOBAR_ERRNO", "errno")];
    let outcome = outcome.unwrap_or_default();
    fields.extend(became.into_iter().filter_map(|(field, key)| Some((field, text(outcome.get(key))?))));
    fields
}

impl Observer for Journal<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        self.dry_run = start.limits.dry_run;
        drop(self.remarks.fresh(&start.sample.capabilities.remarks));
        drop(self.missing.news(&start.sample.capabilities));
        self.all(Priority::Notice, facts(start));
        self.all(Priority::Notice, concerns(start));
        (self.ready)();
        Ok(())
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        if epoch.number == 1 {
            self.all(Priority::Warning, unmatched(epoch));
        }
        let swallowed = self.rate.ended(epoch.seen.time);
        self.all(Priority::Info, swallowed);
        let remarks = self.remarks.fresh(&epoch.sample.capabilities.remarks);
        self.all(Priority::Notice, remarks.into_iter().map(|remark| format!("remark: {remark}")));
        let missing = self.missing.news(&epoch.sample.capabilities);
        self.all(Priority::Notice, missing);
        self.all(Priority::Notice, epoch.undone.iter().map(|one| undone(one, epoch.managed)));
        self.actions(epoch);
        let changes = changes::lines(epoch.plan, epoch.managed);
        self.all(Priority::Info, changes);
        self.fresh_notes(epoch);
        Ok(())
    }
}

impl Reporter for Journal<'_> {
    fn end(&mut self, tally: &Tally, after: &AfterRun) -> anyhow::Result<()> {
        self.all(Priority::Notice, summary(tally, self.dry_run));
        self.all(Priority::Warning, after.remarks.iter().map(|remark| format!("remark: {remark}")));
        Ok(())
    }
}
