//! Compares algorithms over all workloads: means and medians, each also relative to the first
//! algorithm on the same workloads. Only answers with figures count; a note says how many answers
//! have none.

use crate::row::Row;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Collects rows.
#[derive(Debug, Default)]
pub struct Summary {
    /// In order of appearance.
    algorithms: Vec<Column>,
    workloads: usize,
}

#[derive(Debug, Default)]
struct Column {
    name: String,
    /// Unfairness and STP by workload (the first answer of each).
    figures: BTreeMap<usize, (f64, f64)>,
    rows: usize,
    without: usize,
    searches: usize,
    proved: usize,
}

impl Summary {
    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        self.workloads = self.workloads.max(row.workload);
        let at =
            self.algorithms.iter().position(|column| column.name == row.algorithm).unwrap_or(self.algorithms.len());
        if at == self.algorithms.len() {
            self.algorithms.push(Column { name: row.algorithm.clone(), ..Column::default() });
        }
        let column = &mut self.algorithms[at];
        column.rows += 1;
        column.searches += usize::from(row.objective.is_some());
        column.proved += usize::from(row.proved_optimal);
        match (row.measures.unfairness, row.measures.stp) {
            (Some(unfairness), Some(stp)) => _ = column.figures.entry(row.workload).or_insert((unfairness, stp)),
            _ => column.without += 1,
        }
    }

    /// The comparison, in 80 columns; empty if there is nothing to compare.
    #[must_use]
    pub fn table(&self) -> String {
        let Some(first) = self.algorithms.first() else { return String::new() };
        if self.workloads < 2 && self.algorithms.len() < 2 {
            return String::new();
        }
        let over = format!("over {} workload{}", self.workloads, if self.workloads == 1 { "" } else { "s" });
        let versus: String = format!("vs {}", first.name).chars().take(16).collect();
        let mut text = format!("\n{over:<16}{:>16}{:>16}{:>16}{:>16}\n", "unfairness", "STP", "unfairness,", "STP,");
        let _ = writeln!(text, "{:<16}{:>16}{:>16}{versus:>16}{versus:>16}", "", "", "");
        let _ = write!(text, "{:<16}", "algorithm");
        (0..4).for_each(|_| _ = write!(text, "{:>8}{:>8}", "mean", "median"));
        text.push('\n');
        self.algorithms.iter().for_each(|column| column.line(&mut text, first));
        self.algorithms.iter().for_each(|column| column.notes(&mut text));
        text
    }
}

impl Column {
    fn line(&self, text: &mut String, first: &Self) {
        let _ = write!(text, "{:<16}", self.name);
        let mut pair = |mut values: Vec<f64>, percent: bool| {
            values.sort_by(f64::total_cmp);
            for value in [mean(&values), median(&values)] {
                let cell = match value {
                    None => "-".to_owned(),
                    Some(value) if percent => format!("{:+.1}%", 100.0 * (value - 1.0)),
                    Some(value) => format!("{value:.3}"),
                };
                let _ = write!(text, "{cell:>8}");
            }
        };
        pair(self.figures.values().map(|own| own.0).collect(), false);
        pair(self.figures.values().map(|own| own.1).collect(), false);
        let both = || self.figures.iter().filter_map(|(workload, own)| Some((own, first.figures.get(workload)?)));
        pair(both().map(|(own, first)| own.0 / first.0).collect(), true);
        pair(both().map(|(own, first)| own.1 / first.1).collect(), true);
        text.push('\n');
    }

    fn notes(&self, text: &mut String) {
        if self.without > 0 {
            let _ = writeln!(
                text,
                "{}: no figures in {} of {} answers; each of these says why",
                self.name, self.without, self.rows
            );
        }
        if self.proved < self.searches {
            let _ = writeln!(text, "{}: {} of {} answers are proved", self.name, self.proved, self.searches);
        }
    }
}

fn mean(sorted: &[f64]) -> Option<f64> {
    (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / isobar_model::num::float_len(sorted.len()))
}

fn median(sorted: &[f64]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2)?;
    Some(if sorted.len().is_multiple_of(2) { f64::midpoint(sorted[sorted.len() / 2 - 1], *upper) } else { *upper })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_medians_by_hand() {
        let values = [1.0, 2.0, 6.0];
        assert_eq!((mean(&values), median(&values), median(&values[..2])), (Some(3.0), Some(2.0), Some(1.5)));
        assert_eq!((mean(&[]), median(&[])), (None, None));
    }
}
