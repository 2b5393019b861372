//! Prints a replay: a header, the epochs that differ, and how much was the same.

use super::compare::{compare, is_identical};
use crate::report::{action_in_words, machine_in_words};
use crate::text::{json_line, plain, plural};
use isobar_model::wire::plan_to_json;
use isobar_model::{Action, Plan};
use isobar_recording::{Moment, about};
use isobar_runtime::Epoch;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Prints a replay as it proceeds.
pub struct ReplayReporter<'a> {
    out: &'a mut dyn Write,
    facts: BTreeMap<String, String>,
    policy: String,
    verbose: bool,
    json: bool,
    counts: Counts,
}

/// How much was the same.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    epochs: u64,
    /// Number of epochs whose plans are the same to the byte.
    identical: u64,
    both: u64,
    recorded: u64,
    replayed: u64,
}

impl<'a> ReplayReporter<'a> {
    /// A printer to `out`.
    pub fn new(
        out: &'a mut dyn Write,
        facts: &BTreeMap<String, String>,
        policy: &str,
        verbose: bool,
        json: bool,
    ) -> Self {
        let (facts, policy) = (facts.clone(), policy.to_owned());
        Self { out, facts, policy, verbose, json, counts: Counts::default() }
    }

    fn fact(&self, name: &str) -> String {
        plain(self.facts.get(name).map_or("?", String::as_str)).into_owned()
    }

    /// Prints what was recorded, and what it is replayed with.
    pub fn head(&mut self, first: &Moment, first_epoch: u64) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        let (machine, recorded) = (self.fact(about::MACHINE), self.fact(about::POLICY));
        let host = self.facts.get(about::HOST).map(|host| format!(" ({})", plain(host))).unwrap_or_default();
        writeln!(self.out, "recorded: {machine}{host}: {}", machine_in_words(&first.sample.topology))?;
        let dry = if self.fact(about::DRY_RUN) == "true" { " in a dry run" } else { "" };
        writeln!(self.out, "decided then: {recorded}{dry}; now: {}", self.policy)?;
        // A recording that begins in the middle of a run begins with a reading, not with a
        // decision.
        if first.decision.is_some() {
            writeln!(
                self.out,
                "the beginning was dropped: epoch {first_epoch} is the oldest in the file, and what the policy had \
                 learned before it is missing"
            )?;
        }
        Ok(())
    }

    /// Prints one epoch.
    pub fn epoch(&mut self, now: &Moment, epoch: &Epoch<'_>) -> io::Result<()> {
        let nothing = Plan::default();
        let recorded = now.decision.as_ref().map_or(&nothing, |decision| &decision.plan);
        let compared = compare(recorded, epoch.plan);
        let identical = is_identical(recorded, epoch.plan);
        self.counts.epochs += 1;
        self.counts.identical += u64::from(identical);
        self.counts.both += count(&compared.both);
        self.counts.recorded += count(&compared.recorded);
        self.counts.replayed += count(&compared.replayed);
        if self.json {
            let document = json!({
                "epoch": now.number, "time": epoch.seen.time.0, "same": identical,
                "recorded": plan_to_json(recorded), "replayed": plan_to_json(epoch.plan),
            });
            return writeln!(self.out, "{}", json_line(&document));
        }
        let differs = !compared.recorded.is_empty() || !compared.replayed.is_empty();
        let is_worth_it = differs || (self.verbose && !compared.both.is_empty());
        if !is_worth_it {
            return Ok(());
        }
        writeln!(self.out, "epoch {} at {:.1} s", now.number, epoch.seen.time.0)?;
        let own = self.policy.clone();
        for (who, actions) in [("both", compared.both), ("recorded", compared.recorded), (&own, compared.replayed)] {
            self.actions(who, &actions, epoch)?;
        }
        Ok(())
    }

    fn actions(&mut self, who: &str, actions: &[&Action], epoch: &Epoch<'_>) -> io::Result<()> {
        let shown = if self.verbose { actions.len() } else { MOST };
        for action in actions.iter().take(shown) {
            let words = action_in_words(action, epoch.seen);
            writeln!(self.out, "  {who}: {words}: {}", plain(action.reason()))?;
        }
        if actions.len() > shown {
            writeln!(self.out, "  {who}: {} more (-v prints all)", actions.len() - shown)?;
        }
        Ok(())
    }

    /// Prints how much was the same.
    pub fn summary(&mut self, missing: u64) -> anyhow::Result<()> {
        let Counts { epochs, identical, both, recorded, replayed } = self.counts;
        if self.json {
            let summary = json!({
                "policy": self.policy, "recorded_policy": self.facts.get(about::POLICY), "epochs": epochs,
                "same_epochs": identical, "missing_epochs": missing,
                "actions_both": both, "actions_recorded_only": recorded, "actions_replayed_only": replayed,
            });
            return Ok(writeln!(self.out, "{}", json_line(&json!({ "summary": summary })))?);
        }
        if missing > 0 {
            writeln!(self.out, "{} missing in the recording: plans after a gap may differ", plural(missing, "epoch"))?;
        }
        let all = plural(epochs, "epoch");
        if identical == epochs {
            return Ok(writeln!(self.out, "the same plans in all of {all} ({})", plural(both, "action"))?);
        }
        writeln!(self.out, "the same plans in {identical} of {all}")?;
        let (recorded, replayed) = (plural(recorded, "action"), plural(replayed, "action"));
        Ok(writeln!(
            self.out,
            "{} in both; {recorded} only recorded; {replayed} only by {}",
            plural(both, "action"),
            self.policy
        )?)
    }
}

/// Maximum number of actions printed of each plan, unless all are asked for.
const MOST: usize = 8;

fn count(actions: &[&Action]) -> u64 {
    u64::try_from(actions.len()).unwrap_or(u64::MAX)
}
