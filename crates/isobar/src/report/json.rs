//! A run in JSON: one document for each epoch, and one summary. The document of an epoch contains
//! the observation exactly as the policy saw it, in the form of the contract, so that
//! `isobar decide` can repeat the decision from the log.
//!
//! Values that hardly ever change (`missing`, `lacking`, `remarks`) are in the first document, and
//! later only in documents in which they differ from the document before: an absent key means "as
//! before". After a document was dropped, the next one contains all of them again.

use super::clock::WallClock;
use super::{AfterRun, Reporter};
use crate::output::Sink;
use crate::text::json_line;
use isobar_model::wire::{observation_to_json, plan_to_json};
use isobar_model::{GroupPolicy, Outcome};
use isobar_runtime::policies::beside_balancing;
use isobar_runtime::{BoxError, Epoch, Limits, Observer, Start, Tally, Undone, percent_of_one_cpu};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io;

/// The reporter behind `--json`.
pub struct Json<'a> {
    out: &'a mut dyn Sink,
    clock: WallClock,
    /// The last written values of the keys that hardly ever change.
    printed: BTreeMap<&'static str, Value>,
    policy: String,
    /// The policies of groups, besides the main one.
    groups: Vec<Value>,
    dry_run: bool,
    recovered: Option<String>,
    /// The limits of the run, if only its last document is printed.
    only_last: Option<Limits>,
    /// The latest document that may be the last one.
    latest: Option<Value>,
}

impl<'a> Json<'a> {
    /// Writes one document for each epoch, and a summary.
    pub fn new(out: &'a mut dyn Sink, clock: WallClock) -> Self {
        let (printed, policy, groups) = (BTreeMap::new(), String::new(), Vec::new());
        Self { out, clock, printed, policy, groups, dry_run: false, recovered: None, only_last: None, latest: None }
    }

    /// Writes only the document of the last epoch of a run within these limits.
    pub fn only_last(out: &'a mut dyn Sink, clock: WallClock, limits: Limits) -> Self {
        Self { only_last: Some(limits), ..Self::new(out, clock) }
    }

    fn write(&mut self, document: &Value) -> io::Result<()> {
        let before = self.out.dropped_lines();
        writeln!(self.out, "{}", json_line(document))?;
        self.out.flush()?;
        if self.out.dropped_lines() > before {
            self.printed.clear();
        }
        Ok(())
    }

    /// Removes the values that hardly ever change, if they are as last written.
    fn without_the_known(&mut self, document: &mut Map<String, Value>) {
        for key in ["missing", "lacking", "remarks", "groups"] {
            let Some(value) = document.get(key).cloned() else { continue };
            if self.printed.get(key) == Some(&value) {
                document.shift_remove(key);
            } else {
                self.printed.insert(key, value);
            }
        }
    }

    /// The groups with policies of their own, if there are any.
    fn named_groups(&self) -> Option<&[Value]> {
        (!self.groups.is_empty()).then_some(&self.groups)
    }

    fn document(&mut self, epoch: &Epoch<'_>) -> Value {
        let capabilities = &epoch.sample.capabilities;
        let beside = beside_balancing(&self.policy, capabilities);
        let mut document = document(json!({
            "epoch": epoch.number,
            "wall_time": self.clock.utc(),
            "time": epoch.seen.time.0,
            "interval": epoch.seen.interval.0,
            "seen": { "processes": epoch.seen.processes.len(), "threads": epoch.seen.threads().count() },
            "managed": { "processes": epoch.managed.processes.len(), "threads": epoch.managed.threads().count() },
            "missing": capabilities.missing,
            "groups": self.named_groups(),
            "lacking": epoch.lacking.iter().map(|(sensor, _)| sensor).collect::<Vec<_>>(),
            "remarks": capabilities.remarks.iter().chain(&beside).collect::<Vec<_>>(),
            "unmatched_only": epoch.unmatched.as_ref().map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>()),
            "own_cpu_seconds": epoch.own_cpu.map(|used| used.0),
            "own_cpu_percent": percent_of_one_cpu(epoch.own_cpu, epoch.seen.interval),
            "observation": observation_to_json(epoch.managed),
            "plan": plan_to_json(epoch.plan),
            "outcome": epoch.outcome.map(outcome_to_json),
            "first_action_id": epoch.first_id,
            "undone": (!epoch.undone.is_empty()).then(|| epoch.undone.iter().map(undone_to_json).collect::<Vec<_>>()),
        }));
        self.without_the_known(&mut document);
        document.into()
    }
}

/// A document without the keys that are present only if they have a value: the time of day if there
/// is a clock, the patterns without a match in the first epoch.
fn document(value: Value) -> Map<String, Value> {
    let Value::Object(mut document) = value else { return Map::new() };
    document.retain(|key, value| {
        !(value.is_null()
            && ["wall_time", "unmatched_only", "first_action_id", "undone", "groups"].contains(&key.as_str()))
    });
    document
}

impl Observer for Json<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        start.policy.clone_into(&mut self.policy);
        let one = |GroupPolicy { group, policy, .. }: &GroupPolicy| json!({ "group": group, "policy": policy });
        self.groups = start.groups.iter().map(one).collect();
        self.dry_run = start.limits.dry_run;
        self.recovered = start.recovered.map(str::to_owned);
        Ok(())
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        let Some(limits) = self.only_last else {
            let document = self.document(epoch);
            return Ok(self.write(&document)?);
        };
        if limits.may_end_after(epoch.number) {
            self.printed.clear(); // the one document has everything
            self.latest = Some(self.document(epoch));
        }
        Ok(())
    }
}

impl Reporter for Json<'_> {
    fn end(&mut self, tally: &Tally, after: &AfterRun) -> anyhow::Result<()> {
        if self.only_last.is_some() {
            return Ok(self.latest.take().map_or(Ok(()), |last| self.write(&last))?);
        }
        self.out.keep_the_rest();
        let refused: Vec<Value> = tally
            .refused
            .iter()
            .map(|(errno, (times, why))| json!({"errno": errno, "times": times, "why": why}))
            .collect();
        let summary = document(json!({
            "wall_time": self.clock.utc(),
            "policy": self.policy,
            "groups": self.named_groups(),
            "dry_run": self.dry_run,
            "epochs": tally.epochs,
            "seconds": tally.time.0,
            "own_cpu_seconds": tally.own_cpu.map(|used| used.0),
            "own_cpu_percent": tally.own_cpu_percent(),
            "actions": tally.planned,
            "threads_moved": tally.moves,
            "pages_moved": tally.pages.0,
            "pages_stayed": tally.stayed,
            "other_actions_done": tally.others,
            "vanished": tally.vanished,
            "left_alone": tally.left_alone,
            "refused": refused,
            "interrupted": tally.interrupted,
            "workload_ended": tally.ended,
            "recovered": self.recovered,
            "restored": tally.restored.as_ref().map(outcome_to_json),
            "remarks": after.remarks,
            "dropped_lines": self.out.dropped_lines(),
            "simulated": after.truth,
        }));
        Ok(self.write(&json!({ "summary": summary }))?)
    }
}

/// An action that was taken back on request.
fn undone_to_json(undone: &Undone) -> Value {
    json!({ "id": undone.id, "action": undone.action, "outcome": undone.outcome })
}

/// One document for each action, in order.
pub fn outcome_to_json(outcome: &Outcome) -> Value {
    outcome.actions.iter().map(|outcome| serde_json::to_value(outcome).unwrap_or_default()).collect()
}
