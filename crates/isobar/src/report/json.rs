//! What a run tells a program: one JSON document an epoch, one summary. An epoch carries the observation exactly as the
//! policy saw it, in the contract's form, so that `isobar decide` repeats the decision from the log.

use crate::adapt::policy::beside_balancing;
use crate::harness::{Epoch, Reporter, Start, Tally, percent_of_one_cpu};
use crate::text::json_line;
use crate::truth::Truth;
use isobar_model::seams::Sensor;
use isobar_model::wire::{observation_to_json, plan_to_json};
use isobar_model::{ActionOutcome, Capabilities, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

/// The reporter behind `--json`.
pub struct Json<'a> {
    out: &'a mut dyn Write,
    policy: String,
    dry_run: bool,
    recovered: Option<String>,
    /// Tell only epochs from this one on.
    from_epoch: u64,
    summary: bool,
}

impl<'a> Json<'a> {
    /// One document an epoch, and a summary.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, policy: String::new(), dry_run: false, recovered: None, from_epoch: 1, summary: true }
    }

    /// Only the document of the epoch that is explained.
    pub fn only_epoch(out: &'a mut dyn Write, epoch: u64) -> Self {
        Self { from_epoch: epoch, summary: false, ..Self::new(out) }
    }

    fn write(&mut self, document: &Value) -> anyhow::Result<()> {
        writeln!(self.out, "{}", json_line(document))?;
        Ok(self.out.flush()?)
    }
}

impl Reporter for Json<'_> {
    fn begin(&mut self, start: &Start<'_>) -> anyhow::Result<()> {
        start.policy.clone_into(&mut self.policy);
        self.dry_run = start.limits.dry_run;
        self.recovered = start.recovered.map(str::to_owned);
        Ok(())
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> anyhow::Result<()> {
        if epoch.number < self.from_epoch {
            return Ok(());
        }
        let capabilities = &epoch.sample.capabilities;
        let beside = beside_balancing(&self.policy, capabilities);
        let remarks: Vec<&String> = capabilities.remarks.iter().chain(&beside).collect();
        let unmatched = epoch.unmatched.as_ref().map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>());
        self.write(&json!({
            "epoch": epoch.number,
            "time": epoch.seen.time.0,
            "interval": epoch.seen.interval.0,
            "seen": { "processes": epoch.seen.processes.len(), "threads": epoch.seen.threads().count() },
            "managed": { "processes": epoch.managed.processes.len(), "threads": epoch.managed.threads().count() },
            "missing": missing(capabilities),
            "lacking": epoch.lacking.iter().map(|(sensor, _)| sensor).collect::<Vec<_>>(),
            "remarks": remarks,
            "unmatched_only": unmatched,
            "own_cpu_seconds": epoch.own_cpu.map(|used| used.0),
            "own_cpu_percent": percent_of_one_cpu(epoch.own_cpu, epoch.seen.interval),
            "observation": observation_to_json(epoch.managed),
            "plan": plan_to_json(epoch.plan),
            "outcome": epoch.outcome.map(outcome_to_json),
        }))
    }

    fn end(&mut self, tally: &Tally, truth: Option<&Truth>) -> anyhow::Result<()> {
        if !self.summary {
            return Ok(());
        }
        let refused: Vec<Value> = tally
            .refused
            .iter()
            .map(|(errno, (times, why))| json!({"errno": errno, "times": times, "why": why}))
            .collect();
        self.write(&json!({ "summary": {
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
            "simulated": truth,
        }}))
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
