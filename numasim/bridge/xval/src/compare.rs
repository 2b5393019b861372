//! Compares both machines: the whole comparison.

use crate::derive::Profile;
use crate::file::Xval;
use crate::known::Bench;
use crate::managed;
use crate::managed::compare::{Agreement, Under};
use crate::ranks::rank_correlation;
use crate::rows::{Row, misses_apart};
use crate::twin;
use isobar_model::num;
use numasim_guest::wire::Ran;
use numasim_lab::LabError;
use numasim_model::Spec;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The cross-validation's name.
    pub name: String,
    /// The machine.
    pub machine: String,
    /// Guest nanoseconds for each nanosecond of the real machine.
    pub time_scale: f64,
    /// Bytes of a real cache for each byte of a modelled one.
    pub cache_scale: f64,
    /// The profiles derived from runs alone, by program.
    pub profiles: BTreeMap<String, Profile>,
    /// Every program of every mix.
    pub rows: Vec<Row>,
    /// The mean absolute difference; `None` without rows.
    pub mean_difference: Option<f64>,
    /// The mean relative difference of misses per instruction from numasim's: of the simulator, and
    /// of sharing by last use (lru.rs).
    pub misses_apart: Option<[f64; 2]>,
    /// Spearman's rank correlation of the slowdowns; `None` if all are equal.
    pub rank_correlation: Option<f64>,
    /// Every managed mix under stock Linux and under every policy.
    pub managed: Vec<Under>,
    /// How well the managed mixes agree; `None` without managed mixes.
    pub managed_agreement: Option<Agreement>,
    /// Runs that did not count.
    pub problems: Vec<String>,
}

/// Compares the results of the boots with the simulator.
///
/// # Errors
/// The machine has no twin in the simulator.
pub fn compare(xval: &Xval, spec: &Spec, ran: &[Ran]) -> Result<Comparison, LabError> {
    let ran = ran.iter().map(|ran| (ran.id.as_str(), ran)).collect();
    let bench = Bench { spec, machine: Arc::new(twin::twin(spec)?), ran };
    let mut problems = Vec::new();
    let mut known = BTreeMap::new();
    for program in &xval.program {
        match bench.known(xval, &program.name, &mut problems) {
            Ok(found) => _ = known.insert(program.name.clone(), found),
            Err(problem) => problems.push(problem),
        }
    }
    let mut rows = Vec::new();
    for mix in &xval.mix {
        match bench.rows(mix, &known) {
            Ok(found) => rows.extend(found),
            Err(problem) => problems.push(problem),
        }
    }
    let managed = managed::compare::all(&bench, xval, &known, &mut problems);
    let sizes: Vec<f64> = rows.iter().map(|row: &Row| row.difference.abs()).collect();
    Ok(Comparison {
        name: xval.name.clone(),
        machine: spec.name.clone(),
        time_scale: spec.time_scale,
        cache_scale: spec.cache_scale,
        profiles: known.into_iter().map(|(name, known)| (name, known.profile)).collect(),
        mean_difference: (!sizes.is_empty()).then(|| sizes.iter().sum::<f64>() / num::float_len(sizes.len())),
        misses_apart: misses_apart(&rows),
        rank_correlation: rank_correlation(rows.iter().map(|row| (row.steps.numasim, row.steps.simulator))),
        rows,
        managed_agreement: managed::compare::agreement(&managed),
        managed,
        problems,
    })
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
