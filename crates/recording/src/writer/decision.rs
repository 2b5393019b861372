//! The rows of an epoch's decision and of its outcome.

use crate::moment::{Decision, TakenBack};
use isobar_model::wire::plan_to_json;
use isobar_model::{Action, ActionOutcome, Outcome, Plan, num};
use rusqlite::{Transaction, params};
use serde_json::Value;

/// A plan as text, in the format of the contract.
pub fn plan(plan: &Plan) -> String {
    plan_to_json(plan).to_string()
}

/// An outcome as text: a list with one document per action.
pub fn outcome(outcome: &Outcome) -> String {
    outcome.actions.iter().map(|one| serde_json::to_value(one).unwrap_or_default()).collect::<Value>().to_string()
}

/// The rows of a decision.
pub fn insert(transaction: &Transaction<'_>, epoch: u64, decision: &Decision) -> rusqlite::Result<()> {
    let Decision { plan, outcome, .. } = decision;
    for (position, action) in plan.actions.iter().enumerate() {
        let change = plan.predictions.iter().find(|one| one.actions.contains(&position)).map(|one| one.change);
        let result = outcome.as_ref().and_then(|outcome| outcome.actions.get(position));
        let id = decision.first_id.map(|first| first.0 + num_of(position));
        insert_action(transaction, (epoch, position), action, result, (change, id))?;
    }
    insert_undone(transaction, epoch, &decision.undone)?;
    let mut note = transaction.prepare_cached("INSERT INTO note VALUES (?, ?, ?)")?;
    for (position, text) in plan.notes.iter().enumerate() {
        note.execute(params![epoch, num::narrow(position), text])?;
    }
    insert_changes(transaction, epoch, plan)
}

fn num_of(position: usize) -> u64 {
    u64::try_from(position).unwrap_or(u64::MAX)
}

fn insert_undone(transaction: &Transaction<'_>, epoch: u64, undone: &[TakenBack]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO undo VALUES (?, ?, ?, ?)")?;
    let json = |value: serde_json::Result<String>| value.unwrap_or_default();
    for TakenBack { id, action, outcome } in undone {
        insert.execute(params![
            epoch,
            id.0,
            json(serde_json::to_string(action)),
            json(serde_json::to_string(outcome))
        ])?;
    }
    Ok(())
}

fn insert_action(
    transaction: &Transaction<'_>,
    (epoch, position): (u64, usize),
    action: &Action,
    result: Option<&ActionOutcome>,
    (change, id): (Option<u64>, Option<u64>),
) -> rusqlite::Result<()> {
    let document = serde_json::to_value(action).unwrap_or_default();
    let number = |key: &str| document.get(key).and_then(Value::as_i64);
    let result = result.map(|result| serde_json::to_value(result).unwrap_or_default());
    transaction.prepare_cached("INSERT INTO action VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?.execute(params![
        epoch,
        num::narrow(position),
        document.get("kind").and_then(Value::as_str).unwrap_or_default(),
        number("pid"),
        number("tid"),
        document.to_string(),
        action.reason(),
        result.as_ref().and_then(|result| result.get("result")).and_then(Value::as_str),
        result.as_ref().map(Value::to_string),
        change,
        id,
    ])?;
    Ok(())
}

fn insert_changes(transaction: &Transaction<'_>, epoch: u64, plan: &Plan) -> rusqlite::Result<()> {
    let json = |programs: &[isobar_model::Gain]| serde_json::to_string(programs).unwrap_or_default();
    let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO prediction VALUES (?, ?, ?, ?)")?;
    for one in &plan.predictions {
        insert.execute(params![one.change, epoch, one.gain, json(&one.programs)])?;
    }
    let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO effect VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?;
    for one in &plan.effects {
        let (figures, programs) = ((one.predicted, one.measured, one.error), json(&one.programs));
        let (predicted, measured, error) = figures;
        insert.execute(params![one.change, epoch, predicted, measured, error, one.disturbed, one.kept, programs])?;
    }
    Ok(())
}
