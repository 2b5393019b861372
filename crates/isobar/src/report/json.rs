//! What a run tells a program: one JSON document an epoch, one summary. An epoch carries the
//! observation exactly as the policy saw it, in the contract's form, so that `isobar decide`
//! repeats the decision from the log.
//!
//! What hardly ever changes (`missing`, `lacking`, `remarks`) stands in the first document, and
//! later in those where it is another than in the document before: an absent key means "as before".
//! A document that was dropped has said nothing, so the next one says all again.

use super::clock::WallClock;
use super::{Aftermath, Reporter};
use crate::output::Sink;
use crate::text::json_line;
use isobar_model::Sensor;
use isobar_model::wire::{observation_to_json, plan_to_json};
use isobar_model::{ActionOutcome, Capabilities, Outcome};
use isobar_runtime::policies::beside_balancing;
use isobar_runtime::{BoxError, Epoch, Observer, Start, Tally, percent_of_one_cpu};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io;

/// The reporter behind `--json`.
pub struct Json<'a> {
    out: &'a mut dyn Sink,
    clock: WallClock,
    /// What was last written of the keys that hardly ever change.
    told: BTreeMap<&'static str, Value>,
    policy: String,
    dry_run: bool,
    recovered: Option<String>,
    /// Tell only epochs from this one on.
    from_epoch: u64,
    summary: bool,
}

impl<'a> Json<'a> {
    /// One document an epoch, and a summary.
    pub fn new(out: &'a mut dyn Sink, clock: WallClock) -> Self {
        let (told, policy) = (BTreeMap::new(), String::new());
        Self { out, clock, told, policy, dry_run: false, recovered: None, from_epoch: 1, summary: true }
    }

    /// Only the document of the epoch that is explained.
    pub fn only_epoch(out: &'a mut dyn Sink, clock: WallClock, epoch: u64) -> Self {
        Self { from_epoch: epoch, summary: false, ..Self::new(out, clock) }
    }

    fn write(&mut self, document: &Value) -> io::Result<()> {
        let before = self.out.dropped_lines();
        writeln!(self.out, "{}", json_line(document))?;
        self.out.flush()?;
        if self.out.dropped_lines() > before {
            self.told.clear();
        }
        Ok(())
    }

    /// Adds the time of day, where there is a clock.
    fn stamp(&self, document: &mut Map<String, Value>) {
        document.extend(self.clock.utc().map(|utc| ("wall_time".to_owned(), utc.into())));
    }

    /// Adds those of some keys whose values are not as last written.
    fn changes(&mut self, document: &mut Map<String, Value>, keys: [(&'static str, Value); 3]) {
        for (key, value) in keys {
            if self.told.get(key) != Some(&value) {
                document.insert(key.to_owned(), value.clone());
                self.told.insert(key, value);
            }
        }
    }

    fn document(&mut self, epoch: &Epoch<'_>) -> Value {
        let mut document = Map::new();
        document.insert("epoch".to_owned(), epoch.number.into());
        self.stamp(&mut document);
        document.extend(object(json!({
            "time": epoch.seen.time.0,
            "interval": epoch.seen.interval.0,
            "seen": { "processes": epoch.seen.processes.len(), "threads": epoch.seen.threads().count() },
            "managed": { "processes": epoch.managed.processes.len(), "threads": epoch.managed.threads().count() },
        })));
        let lasting = self.lasting(epoch);
        self.changes(&mut document, lasting);
        let unmatched = epoch.unmatched.as_ref().map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>());
        document.extend(unmatched.map(|patterns| ("unmatched_only".to_owned(), patterns.into())));
        document.extend(object(json!({
            "own_cpu_seconds": epoch.own_cpu.map(|used| used.0),
            "own_cpu_percent": percent_of_one_cpu(epoch.own_cpu, epoch.seen.interval),
            "observation": observation_to_json(epoch.managed),
            "plan": plan_to_json(epoch.plan),
            "outcome": epoch.outcome.map(outcome_to_json),
        })));
        Value::Object(document)
    }

    /// What hardly ever changes.
    fn lasting(&self, epoch: &Epoch<'_>) -> [(&'static str, Value); 3] {
        let capabilities = &epoch.sample.capabilities;
        let beside = beside_balancing(&self.policy, capabilities);
        let remarks: Vec<&String> = capabilities.remarks.iter().chain(&beside).collect();
        let lacking: Vec<&Sensor> = epoch.lacking.iter().map(|(sensor, _)| sensor).collect();
        [("missing", json!(missing(capabilities))), ("lacking", json!(lacking)), ("remarks", json!(remarks))]
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

impl Observer for Json<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        start.policy.clone_into(&mut self.policy);
        self.dry_run = start.limits.dry_run;
        self.recovered = start.recovered.map(str::to_owned);
        Ok(())
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        if epoch.number < self.from_epoch {
            return Ok(());
        }
        let document = self.document(epoch);
        Ok(self.write(&document)?)
    }
}

impl Reporter for Json<'_> {
    fn end(&mut self, tally: &Tally, after: &Aftermath) -> anyhow::Result<()> {
        if !self.summary {
            return Ok(());
        }
        self.out.keep_the_rest();
        let refused: Vec<Value> = tally
            .refused
            .iter()
            .map(|(errno, (times, why))| json!({"errno": errno, "times": times, "why": why}))
            .collect();
        let mut summary = Map::new();
        self.stamp(&mut summary);
        summary.extend(object(json!({
            "policy": self.policy,
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
        })));
        Ok(self.write(&json!({ "summary": summary }))?)
    }
}

fn missing(capabilities: &Capabilities) -> BTreeMap<&Sensor, &String> {
    capabilities.missing.iter().collect()
}

/// One document for each action, in order.
pub fn outcome_to_json(outcome: &Outcome) -> Value {
    outcome.actions.iter().map(action_outcome_to_json).collect()
}

fn action_outcome_to_json(outcome: &ActionOutcome) -> Value {
    match outcome {
        ActionOutcome::Done => json!({"result": "done"}),
        ActionOutcome::Vanished => json!({"result": "vanished"}),
        ActionOutcome::LeftAlone { why } => json!({"result": "left_alone", "why": why}),
        ActionOutcome::Refused { errno, why } => json!({"result": "refused", "errno": errno, "why": why}),
        ActionOutcome::Pages { moved, stayed } => {
            let stayed: BTreeMap<&str, u64> = stayed.iter().map(|(why, pages)| (why.as_str(), pages.0)).collect();
            json!({"result": "pages", "pages_moved": moved.0, "pages_stayed": stayed})
        }
    }
}
