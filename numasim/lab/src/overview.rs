//! Combines all experiments: the results of each contender over all of them. Every experiment
//! counts once, however many boots and programs it has. Pure.

use crate::stats::{Verdict, ratio};
use crate::summary::{Row, Summary};
use std::collections::BTreeSet;

/// The results of a contender over all experiments in which it can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Overall {
    /// Its name.
    pub contender: String,
    /// Experiments in which it can be compared with the baseline.
    pub experiments: usize,
    /// Geometric mean of its ratios of completion time.
    pub time: f64,
    /// The same for ANTT, over the experiments that have it.
    pub antt: Option<f64>,
    /// The experiment of its lowest ratio, and that ratio.
    pub best: (String, f64),
    /// The experiment of its highest ratio, and that ratio.
    pub worst: (String, f64),
    /// Number of experiments in which its whole interval is below 1.
    pub sooner: usize,
    /// Number of experiments in which its whole interval is above 1.
    pub later: usize,
    /// Number of experiments in which it is neither.
    pub not_shown: usize,
}

/// The results by contender, in the order in which contenders first occur, without the baselines.
#[must_use]
pub fn overview(summaries: &[(String, Summary)]) -> Vec<Overall> {
    let rows = || summaries.iter().flat_map(|(_, summary)| &summary.rows);
    let mut seen = BTreeSet::new();
    let names = rows().map(|row| row.contender.as_str()).filter(|name| seen.insert(*name)).collect::<Vec<_>>();
    names.into_iter().filter_map(|name| overall(name, summaries)).collect()
}

fn overall(name: &str, summaries: &[(String, Summary)]) -> Option<Overall> {
    let row = |(title, summary): &'_ (String, Summary)| {
        let row = summary.rows.iter().find(|row| row.contender == name)?;
        Some((title.clone(), row.vs_baseline?.mean, row.clone()))
    };
    let all: Vec<(String, f64, Row)> = summaries.iter().filter_map(row).collect();
    let mean =
        |values: &[f64]| ratio(&values.iter().map(|value| (*value, 1.0)).collect::<Vec<_>>()).map(|ratio| ratio.mean);
    let antt = all.iter().filter_map(|(_, _, row)| Some(row.antt_vs_baseline?.mean)).collect::<Vec<_>>();
    let count = |verdict| all.iter().filter(|(_, _, row)| row.verdict == Some(verdict)).count();
    let end = |one: &(String, f64, Row)| (one.0.clone(), one.1);
    Some(Overall {
        contender: name.to_owned(),
        experiments: all.len(),
        time: mean(&all.iter().map(|one| one.1).collect::<Vec<_>>())?,
        antt: mean(&antt),
        best: all.iter().min_by(|one, other| one.1.total_cmp(&other.1)).map(end)?,
        worst: all.iter().max_by(|one, other| one.1.total_cmp(&other.1)).map(end)?,
        sooner: count(Verdict::Sooner),
        later: count(Verdict::Later),
        not_shown: count(Verdict::NotShown),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Measures;
    use crate::summary::{Counted, of_boots};

    /// An experiment of one program and two boots with the given ratios.
    fn experiment(title: &str, ratios: [f64; 2]) -> (String, Summary) {
        let run = |seconds: f64| Measures { seconds: [("p".to_owned(), seconds)].into(), ..Measures::default() };
        let boot = |(repeat, ratio): (u32, f64)| Counted {
            repeat,
            runs: [("linux".to_owned(), run(2.0)), ("x".to_owned(), run(2.0 * ratio))].into(),
            ..Counted::default()
        };
        let boots: Vec<Counted> = (0..).zip(ratios).map(boot).collect();
        (title.to_owned(), of_boots(title, &boots))
    }

    /// Means of 0.5, 2 and 1: the geometric mean over experiments is 1. The third experiment's two
    /// boots, 0.5 and 2, show nothing.
    #[test]
    fn experiments_count_once_each() {
        let all = [experiment("a", [0.5, 0.5]), experiment("b", [2.0, 2.0]), experiment("c", [0.5, 2.0])];
        let got = overview(&all);
        assert_eq!(got.len(), 1, "the baseline has no row");
        let x = &got[0];
        assert!((x.time - 1.0).abs() < 1e-12 && x.antt.is_none(), "{x:?}");
        assert_eq!((x.experiments, x.sooner, x.later, x.not_shown), (3, 1, 1, 1));
        assert_eq!((x.best.0.as_str(), x.worst.0.as_str()), ("a", "b"));
    }
}
