//! A study in words.

use super::figures::{Row, Study};
use isobar_model::num;
use isobar_model::text::plain;
use std::collections::{BTreeMap, BTreeSet};

/// How the study was made.
pub fn facts(of: &Study) -> Vec<(String, String)> {
    let Some(row) = of.rows.first() else { return Vec::new() };
    let caches = if row.groups == 1 { "1 cache".to_owned() } else { format!("{} caches", row.groups) };
    let mut facts = vec![
        ("model".to_owned(), plain(&row.model).into_owned()),
        ("machine".to_owned(), format!("{caches} of {} ways", row.ways)),
        ("workloads".to_owned(), workloads(of).len().to_string()),
    ];
    let objective = of.rows.iter().find_map(|row| row.objective.as_deref());
    facts.extend(objective.map(|what| ("searches optimise".to_owned(), plain(what).into_owned())));
    facts
}

/// What is odd about the tables, each remark once.
pub fn remarks(of: &Study) -> Vec<String> {
    let all: BTreeSet<String> =
        of.rows.iter().flat_map(|row| &row.remarks).map(|text| plain(text).into_owned()).collect();
    all.into_iter().collect()
}

fn workloads(of: &Study) -> BTreeSet<usize> {
    of.rows.iter().map(|row| row.workload).collect()
}

/// The main results for a reader.
pub fn of(of: &Study) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(fairest(of));
    lines.extend(proofs(of));
    lines.extend(behind(of));
    let without = of.rows.iter().filter(|row| row.problem.is_some()).count();
    if without > 0 {
        lines.push(format!("{without} of {} answers have no figures; the table says why.", of.rows.len()));
    }
    lines
}

/// Rows by algorithm, in the order in which the algorithms first appear.
fn by_algorithm(of: &Study) -> Vec<(&str, Vec<&Row>)> {
    let mut all: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in &of.rows {
        match all.iter_mut().find(|(name, _)| *name == row.algorithm) {
            Some((_, rows)) => rows.push(row),
            None => all.push((&row.algorithm, vec![row])),
        }
    }
    all
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = values.collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / num::float_len(all.len()))
}

fn fairest(of: &Study) -> Option<String> {
    let all = by_algorithm(of);
    let means =
        all.iter().filter_map(|(name, rows)| Some((mean(rows.iter().filter_map(|row| row.unfairness))?, *name)));
    let mut means: Vec<(f64, &str)> = means.collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (best, name) = means.first()?;
    let rest: Vec<String> = means[1..].iter().take(5).map(|(mean, name)| format!("{name} {mean:.3}")).collect();
    let rest = if rest.is_empty() { String::new() } else { format!("; {}", rest.join(", ")) };
    let over = if workloads(of).len() > 1 { "on average over the workloads " } else { "" };
    Some(format!("{name} is {over}fairest: unfairness {best:.3}{rest} (1 is fair)."))
}

fn proofs(of: &Study) -> Option<String> {
    let searched: Vec<&Row> = of.rows.iter().filter(|row| row.objective.is_some() && row.problem.is_none()).collect();
    let proved = searched.iter().filter(|row| row.proved_optimal).count();
    match (searched.len(), proved) {
        (0, _) => None,
        (all, proved) if all == proved => Some(format!(
            "Every search finished: all {all} answers are proved; nothing better exists under this model and objective."
        )),
        (all, proved) => Some(format!(
            "{proved} of {all} answers of searches are proved; the others ended early, and the table says how far from the best they may be."
        )),
    }
}

/// How far the other algorithms are behind the proved optimum, if both minimise unfairness.
fn behind(of: &Study) -> Option<String> {
    let proved = of.rows.iter().filter(|row| row.proved_optimal && row.objective.as_deref() == Some("unfairness"));
    let mut best: BTreeMap<usize, f64> = BTreeMap::new();
    for row in proved {
        let value = row.unfairness?;
        best.entry(row.workload).and_modify(|best| *best = best.min(value)).or_insert(value);
    }
    let all = by_algorithm(of);
    let heuristics = all.iter().filter(|(_, rows)| rows.iter().all(|row| row.objective.is_none()));
    let line = |(name, rows): &(&str, Vec<&Row>)| {
        let over = rows.iter().filter_map(|row| Some((row.unfairness? / best.get(&row.workload)? - 1.0) * 100.0));
        Some(format!("{name} {:.1} %", mean(over)?))
    };
    let lines: Vec<String> = heuristics.filter_map(line).collect();
    (!lines.is_empty()).then(|| format!("Unfairness above the lowest possible, on average: {}.", lines.join(", ")))
}

#[cfg(test)]
mod tests {
    use crate::{Head, Study};
    use serde_json::{Value, json};

    fn row(algorithm: &str, unfairness: f64, proved: bool) -> Value {
        let app = |mask| json!({"name": "a", "llc": 0, "cluster": 0, "ways": 2, "way_mask": mask, "slowdown": 1.2, "slowdown_without_bandwidth": 1.1});
        json!({"workload": 1, "line": 3, "algorithm": algorithm, "model": "queueing", "max_bandwidth_mbps": null, "groups": 2, "uma": false,
            "cores": 4, "ways": 11, "objective": proved.then_some("unfairness"), "apps": [app("0x18"), app("0x7")],
            "unfairness": unfairness, "stp": 1.5, "antt": 1.25, "unfairness_cov": 0.1, "seconds": 0.5, "nodes_explored": 12,
            "proved_optimal": proved, "bound": null, "gap_percent": null, "problem": null, "remarks": ["odd"]})
    }

    #[test]
    fn what_is_proved_and_how_far_the_others_are() {
        let rows = [row("lfoc+", 1.5, false), row("opt-cluster", 1.2, true)];
        assert!(Study::is(&rows[0]));
        let study = Study::of(serde_json::from_value(Value::from(rows.to_vec())).unwrap(), Head::default());
        let words = study.summary.join("\n");
        assert!(words.starts_with("opt-cluster is fairest: unfairness 1.200; lfoc+ 1.500 (1 is fair)."), "{words}");
        assert!(words.contains("all 1 answers are proved") && words.contains("lfoc+ 25.0 %"), "{words}");
        let first: Vec<_> = study.rows[0].apps.iter().map(|app| app.first_way).collect();
        assert_eq!((first, study.head.remarks.len()), (vec![Some(3), Some(0)], 1));
    }
}
