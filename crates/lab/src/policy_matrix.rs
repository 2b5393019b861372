//! Compares policies over several workloads: the gain of each over the stock scheduler on each
//! workload, as one matrix. It works on comparisons and makes no runs.
//!
//! A mean over programs can hide a program that pays for the others, so every cell has two figures:
//! the mean gain of the workload's programs, and the gain of the program that fares worst.

use crate::compare::{Comparison, PolicyRow};
use crate::stats::mean_or_zero;
use crate::text::short;
use serde::Serialize;
use std::fmt::Write;

/// The policy that all others are compared with.
pub const BASE: &str = "linux";

/// The matrix of policies and workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyMatrix {
    /// One row for each workload, in the order given.
    pub workloads: Vec<PolicyMatrixRow>,
    /// Totals over all workloads, one for each policy except [`BASE`], in the order of the cells.
    pub all: Vec<PolicyMatrixTotal>,
}

/// The gains of the policies on one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyMatrixRow {
    /// The workload's name.
    pub workload: String,
    /// Mean slowdown of its programs under [`BASE`] relative to each of them alone: the possible
    /// gain.
    pub linux_antt: f64,
    /// One for each policy except [`BASE`].
    pub cells: Vec<PolicyMatrixCell>,
}

/// The gain of a policy on a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyMatrixCell {
    /// The policy.
    pub policy: String,
    /// Mean over the programs of how much shorter their runs are than under [`BASE`], in per cent.
    pub mean_percent: f64,
    /// The gain of the program that fares worst, in per cent.
    pub worst_percent: f64,
    /// The program that fares worst.
    pub worst_app: String,
}

/// The gain of a policy over all workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyMatrixTotal {
    /// The policy.
    pub policy: String,
    /// Mean of the workloads' means: each workload has equal weight.
    pub mean_percent: f64,
    /// The gain of the program that fares worst over all workloads, in per cent.
    pub worst_percent: f64,
    /// The workload of that program.
    pub worst_workload: String,
}

/// The matrix for several comparisons, each of the same policies, with the names of their
/// workloads; `None` if a comparison lacks [`BASE`].
#[must_use]
pub fn across(compared: &[(String, Comparison)]) -> Option<PolicyMatrix> {
    let workloads = compared.iter().map(|(name, one)| row(name, one)).collect::<Option<Vec<_>>>()?;
    let policies = workloads.first().map_or(0, |row| row.cells.len());
    let all = (0..policies).filter_map(|column| total(&workloads, column)).collect();
    Some(PolicyMatrix { workloads, all })
}

fn row(name: &str, compared: &Comparison) -> Option<PolicyMatrixRow> {
    let linux = compared.row(BASE)?;
    let others = compared.policies.iter().filter(|row| row.policy != BASE);
    let cells = others.map(cell).collect::<Option<_>>()?;
    Some(PolicyMatrixRow { workload: name.to_owned(), linux_antt: linux.summary.antt, cells })
}

fn cell(row: &PolicyRow) -> Option<PolicyMatrixCell> {
    let gains = row.apps.iter().filter_map(|app| Some((app.vs_linux_percent?, &app.name)));
    let (worst_percent, worst_app) = gains.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let mean_percent = row.vs_linux_percent?;
    Some(PolicyMatrixCell { policy: row.policy.clone(), mean_percent, worst_percent, worst_app: worst_app.clone() })
}

fn total(rows: &[PolicyMatrixRow], column: usize) -> Option<PolicyMatrixTotal> {
    let cells: Vec<_> = rows.iter().filter_map(|row| Some((&row.workload, row.cells.get(column)?))).collect();
    let (workload, worst) = cells.iter().min_by(|a, b| a.1.worst_percent.total_cmp(&b.1.worst_percent))?;
    Some(PolicyMatrixTotal {
        policy: worst.policy.clone(),
        mean_percent: mean_or_zero(cells.iter().map(|(_, cell)| cell.mean_percent)),
        worst_percent: worst.worst_percent,
        worst_workload: (*workload).clone(),
    })
}

/// Maximum width at which a workload's name is shown.
const NAME: usize = 24;
/// Width of a cell: `+12.3 (-45.6)`, and two spaces before it.
const CELL: usize = 15;
/// Width of the column of [`BASE`].
const BASE_CELL: usize = 7;

/// What the figures mean.
const MEANING: [&str; 2] = [
    "Mean gain of the programs over linux in per cent, + is shorter; in brackets the program that fares worst.",
    "linux: mean slowdown of the programs against each of them alone.",
];
/// Heading of the names.
const WORKLOAD: &str = "workload";

/// The matrix as text: a row for each workload and a column for each policy, with as many columns
/// side by side as fit into `columns` characters, at least one.
#[must_use]
pub fn across_table(across: &PolicyMatrix, columns: usize) -> String {
    let names = across.workloads.iter().map(|row| row.workload.chars().count());
    let most = NAME.min(columns.saturating_sub(BASE_CELL + CELL)).max(WORKLOAD.len());
    let width = names.max().unwrap_or(0).clamp(WORKLOAD.len(), most);
    let side_by_side = (columns.saturating_sub(width + BASE_CELL) / CELL).max(1);
    let mut text: String = MEANING.map(|sentence| wrapped(sentence, columns)).concat();
    // If there is only the base, it still gets a block.
    for first in (0..across.all.len().max(1)).step_by(side_by_side) {
        let last = (first + side_by_side).min(across.all.len());
        block(&mut text, across, width, first..last);
    }
    text
}

/// Writes some of the columns.
fn block(text: &mut String, across: &PolicyMatrix, width: usize, columns: std::ops::Range<usize>) {
    let _ = write!(text, "\n{WORKLOAD:<width$}{BASE:>BASE_CELL$}");
    for total in &across.all[columns.clone()] {
        let _ = write!(text, "{:>CELL$}", short(&total.policy, CELL - 1));
    }
    text.push('\n');
    for row in &across.workloads {
        let _ = write!(text, "{:<width$}{:>BASE_CELL$.2}", short(&row.workload, width), row.linux_antt);
        row.cells[columns.clone()].iter().for_each(|one| text.push_str(&gains(one.mean_percent, one.worst_percent)));
        text.push('\n');
    }
    let linux = mean_or_zero(across.workloads.iter().map(|row| row.linux_antt));
    let _ = write!(text, "{:<width$}{linux:>BASE_CELL$.2}", "mean");
    across.all[columns].iter().for_each(|one| text.push_str(&gains(one.mean_percent, one.worst_percent)));
    text.push('\n');
}

fn gains(mean: f64, worst: f64) -> String {
    format!("{:>CELL$}", format!("{} ({})", percent(mean), percent(worst)))
}

/// Leaves out the decimal if it would not fit and is not needed.
fn percent(value: f64) -> String {
    if value.abs() < 99.95 { format!("{value:+.1}") } else { format!("{value:+.0}") }
}

/// A sentence broken at spaces.
fn wrapped(sentence: &str, columns: usize) -> String {
    isobar_model::text::hanging("", &sentence.split(' ').collect::<Vec<_>>(), "", columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareSpec, NamedPolicy, compare};
    use isobar_policy::baseline::linux::Linux;
    use isobar_sim::Workload;

    /// A comparison in which only the gains of two programs matter.
    fn compared(gains: &[(&str, [f64; 2])]) -> Comparison {
        let text = "machine = \"node:2 core:2\"\n[run]\nruns = 1\ninstructions_factor = 0.01\n\
                    [[app]]\nprogram = \"milc\"\n[[app]]\nprogram = \"namd\"";
        let workload = Workload::from_toml("w.toml", text).unwrap();
        let linux = || -> Vec<NamedPolicy<'static>> { vec![(BASE.to_owned(), Box::new(|| Box::new(Linux)))] };
        let mut compared = compare(&CompareSpec::new(workload), &linux()).unwrap();
        for (policy, gains) in gains {
            let mut row = compared.policies[0].clone();
            (*policy).clone_into(&mut row.policy);
            row.vs_linux_percent = Some(f64::midpoint(gains[0], gains[1]));
            row.apps.iter_mut().zip(gains).for_each(|(app, gain)| app.vs_linux_percent = Some(*gain));
            compared.policies.push(row);
        }
        compared
    }

    fn two() -> PolicyMatrix {
        let first = compared(&[("a", [4.0, -2.0]), ("b", [0.0, 10.0])]);
        let second = compared(&[("a", [-9.0, 1.0]), ("b", [1.0, 3.0])]);
        across(&[("one".into(), first), ("two".into(), second)]).unwrap()
    }

    #[test]
    fn means_count_each_workload_once_and_the_worst_program_is_named() {
        let got = two();
        let totals: Vec<_> = got
            .all
            .iter()
            .map(|all| (&*all.policy, all.mean_percent, all.worst_percent, &*all.worst_workload))
            .collect();
        assert_eq!(totals, [("a", -1.5, -9.0, "two"), ("b", 3.5, 0.0, "one")]);
        assert_eq!(got.workloads[0].cells[0].worst_app, "namd");
        assert!(got.workloads[0].linux_antt > 0.9);
    }

    #[test]
    fn without_linux_there_is_nothing_to_measure_against() {
        let mut lacking = compared(&[("a", [1.0, 1.0])]);
        lacking.policies.remove(0);
        assert_eq!(across(&[("one".into(), lacking)]), None);
    }

    #[test]
    fn great_losses_keep_their_distance() {
        assert_eq!(gains(-132.44, -203.28), "    -132 (-203)");
        assert_eq!(gains(-99.94, -1000.0), "  -99.9 (-1000)");
    }

    #[test]
    fn what_does_not_fit_beside_stands_below() {
        let wide = across_table(&two(), 80);
        assert!(wide.contains("    +1.0 (-2.0)    +5.0 (+0.0)\n"), "{wide}");
        assert!(wide.contains("    -1.5 (-9.0)    +3.5 (+0.0)\n"), "{wide}");
        let narrow = across_table(&two(), 40);
        assert_eq!(narrow.matches("workload").count(), 2, "{narrow}");
        assert!(
            [(&wide, 80), (&narrow, 40)]
                .iter()
                .all(|(text, most)| text.lines().all(|line| line.chars().count() <= *most))
        );
    }
}
