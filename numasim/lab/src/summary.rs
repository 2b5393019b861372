//! Combines an experiment's boots: medians over repeats, ratios to the baseline of the same boot,
//! and what did not count. Pure.

mod row;

use crate::experiment::{Contender, Experiment};
use crate::metrics::{self, Measures};
use crate::plan::{alone_id, contender_of, contenders, under_id};
use crate::stats::median;
use numasim_guest::wire::{Line, Order, Ran};
pub use row::{Extreme, Row, overall};
use serde::Serialize;
use std::collections::BTreeMap;

/// A boot: its order, and what came back.
#[derive(Clone, Debug)]
pub struct Boot {
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// The order of the boot.
    pub order: Order,
    /// The lines that came back.
    pub lines: Vec<Line>,
    /// Why the boot did not come to its end, if it did not.
    pub problem: Option<String>,
}

/// The part of a boot that counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// Its name in problems, such as `boot 3`.
    pub label: String,
    /// Seconds of each program alone.
    pub alone: BTreeMap<String, f64>,
    /// The runs that count, by contender.
    pub runs: BTreeMap<String, Measures>,
    /// What does not count, and why.
    pub problems: Vec<String>,
}

/// What a summary says about its experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Its name.
    pub experiment: String,
    /// The question that it answers.
    pub about: String,
    /// The machine.
    pub machine: String,
    /// Guest nanoseconds for each nanosecond of the real machine.
    pub time_scale: f64,
    /// Bytes of a real cache for each byte of a modelled one.
    pub cache_scale: f64,
    /// The seed that rotated the order.
    pub seed: u64,
    /// The contender that the others are compared with.
    pub baseline: String,
    /// The contenders, in order.
    pub contenders: Vec<String>,
}

/// The results of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Its name.
    pub experiment: String,
    /// The question that it answers.
    pub about: String,
    /// The machine.
    pub machine: String,
    /// Guest nanoseconds for each nanosecond of the real machine.
    pub time_scale: f64,
    /// Bytes of a real cache for each byte of a modelled one.
    pub cache_scale: f64,
    /// Number of boots.
    pub repeats: u32,
    /// The seed that rotated the order.
    pub seed: u64,
    /// The contender that the others are compared with.
    pub baseline: String,
    /// Median seconds of each program alone.
    pub alone_seconds: BTreeMap<String, f64>,
    /// The contenders, as listed in the experiment.
    pub rows: Vec<Row>,
    /// Boots and runs that did not count, and why.
    pub problems: Vec<String>,
    /// Why no further boot was begun; empty if there was neither a limit of width nor a budget.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stopped: String,
}

/// Combines an experiment's boots.
#[must_use]
pub fn summary(experiment: &Experiment, only: &[String], scales: (f64, f64), boots: &[Boot]) -> Summary {
    let counted: Vec<Counted> = boots.iter().map(|boot| counted(experiment, boot)).collect();
    together(&Head::of(experiment, only, scales), &counted)
}

impl Head {
    /// The head of an experiment's summary.
    #[must_use]
    pub fn of(experiment: &Experiment, only: &[String], (time_scale, cache_scale): (f64, f64)) -> Self {
        Self {
            experiment: experiment.name.clone(),
            about: experiment.about.clone(),
            machine: experiment.machine.clone(),
            time_scale,
            cache_scale,
            seed: experiment.seed,
            baseline: experiment.baseline(),
            contenders: contenders(experiment, only).into_iter().map(Contender::name).collect(),
        }
    }
}

/// The part of a boot that counts.
#[must_use]
pub fn counted(experiment: &Experiment, boot: &Boot) -> Counted {
    let alone = alone_seconds(experiment, boot);
    let ran = || boot.lines.iter().filter_map(Line::ran);
    let problems = ran().filter_map(|ran| Some(format!("{}: {}", ran.id, metrics::problem(ran)?)));
    let one = |ran: &Ran| {
        let asked = boot.order.runs.iter().find(|run| run.id == ran.id && run.id == under_id(contender_of(&run.id)))?;
        let measures = || metrics::measures(ran, &alone, &asked.jobs);
        metrics::problem(ran).is_none().then(|| (contender_of(&ran.id).to_owned(), measures()))
    };
    Counted {
        repeat: boot.repeat,
        label: format!("boot {}", boot.repeat + 1),
        runs: ran().filter_map(one).collect(),
        problems: boot.problem.clone().into_iter().chain(problems).collect(),
        alone,
    }
}

/// Combines the parts of boots that count.
#[must_use]
pub fn together(head: &Head, boots: &[Counted]) -> Summary {
    let mut alone: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let all = boots.iter().flat_map(|boot| &boot.alone);
    all.for_each(|(program, seconds)| alone.entry(program.clone()).or_default().push(*seconds));
    let each = |name: &str| -> BTreeMap<u32, Measures> {
        boots.iter().filter_map(|boot| Some((boot.repeat, boot.runs.get(name)?.clone()))).collect()
    };
    let base = each(&head.baseline);
    let row = |name: &String| row::row(name.clone(), each(name), (*name != head.baseline).then_some(&base));
    let problems = |boot: &Counted| {
        let words = |why: &String| format!("{}: {why}", boot.label);
        boot.problems.iter().map(words).collect::<Vec<_>>()
    };
    Summary {
        experiment: head.experiment.clone(),
        about: head.about.clone(),
        machine: head.machine.clone(),
        time_scale: head.time_scale,
        cache_scale: head.cache_scale,
        repeats: u32::try_from(boots.len()).unwrap_or(u32::MAX),
        seed: head.seed,
        baseline: head.baseline.clone(),
        alone_seconds: alone.iter().filter_map(|(program, all)| Some((program.clone(), median(all)?))).collect(),
        rows: head.contenders.iter().map(row).collect(),
        problems: boots.iter().flat_map(problems).collect(),
        stopped: String::new(),
    }
}

fn alone_seconds(experiment: &Experiment, boot: &Boot) -> BTreeMap<String, f64> {
    let of = |name: &String| {
        let ran = boot.lines.iter().filter_map(Line::ran).find(|ran| ran.id == alone_id(name))?;
        Some((name.clone(), metrics::seconds(ran.jobs.first()?)?))
    };
    experiment.program.iter().map(|program| &program.name).filter_map(of).collect()
}

/// For tests: a summary of boots of `linux`, the baseline, and `x`, on some machine.
#[cfg(test)]
pub fn of_boots(title: &str, boots: &[Counted]) -> Summary {
    let head = Head {
        experiment: title.to_owned(),
        about: String::new(),
        machine: "m".to_owned(),
        time_scale: 20.0,
        cache_scale: 16.0,
        seed: 1,
        baseline: "linux".to_owned(),
        contenders: vec!["linux".to_owned(), "x".to_owned()],
    };
    together(&head, boots)
}
