//! The files of a static study: profiles, a list of workloads and given solutions, in one input
//! with a line `---` between them. The profiles are read in every existing form. A refusal is one
//! line. An accepted input is answered by every heuristic and by the given solutions, as rows that
//! survive JSON and text.

use crate::check::{accepted, one_line};
use isobar_partition::heuristics::{self, Entry, Scope};
use isobar_profiles::Profiles;
use isobar_study::{Ask, ModelKind, Row, SearchState, Source, Study, StudyError, Text, Watch};
use std::time::Duration;

/// Larger questions are answered correctly or not for the same reasons as small ones.
const MOST_ANSWERS: usize = 60;
/// Maximum number of commas per line, which separate a workload's programs or the entries of a
/// solution.
const MOST_COMMAS: usize = 20;
const MOST_WAYS: usize = 24;

/// Checks one input.
pub fn run(text: &str) {
    let mut files = text.split("\n---\n");
    let (profiles, workloads, solutions) = (files.next().unwrap_or_default(), files.next(), files.next());
    for file in ["p.csv", "p.toml", "p.json", "p.jsonl"] {
        let read = accepted(isobar_profiles::read(file, profiles));
        read.iter().for_each(|profiles| check(profiles, workloads, solutions));
    }
}

fn check(profiles: &Profiles, workloads: Option<&str>, solutions: Option<&str>) {
    // An empty part stands for a file that is not given.
    let (workloads, solutions) = (workloads.filter(|text| !text.is_empty()), solutions.filter(|text| !text.is_empty()));
    let names: Vec<&str> = profiles.names().collect();
    profiles.remarks(&names, profiles.ways()).iter().for_each(|remark| one_line(remark));
    let most = |text: &str| text.lines().map(|line| line.matches(',').count()).max().unwrap_or(0);
    if profiles.ways() > MOST_WAYS || [workloads, solutions].into_iter().flatten().any(|text| most(text) > MOST_COMMAS)
    {
        return;
    }
    for model in ModelKind::ALL.map(ModelKind::name) {
        for groups in [None, Some(2)] {
            let workloads = workloads.map(|text| Source { file: "w.txt", text });
            let solutions = solutions.map(|text| Source { file: "s.json", text });
            let ask = ask(model, groups, solutions.is_some());
            accepted(Study::new(&ask, profiles.clone(), workloads, solutions)).iter().for_each(answer);
        }
    }
}

/// Every heuristic that works with this number of groups. The searches are left out, because they
/// take long by nature.
fn ask(model: &str, groups: Option<usize>, fixed: bool) -> Ask {
    let fits = |entry: &&Entry| groups.is_some() || entry.scope() != Scope::Groups;
    let heuristics = heuristics::registry().iter().filter(fits).map(|entry| entry.name);
    Ask {
        algorithms: heuristics.chain(fixed.then_some("fixed")).map(str::to_owned).collect(),
        model: model.to_owned(),
        max_bandwidth: (model != "queueing").then_some(20_000.0),
        groups,
        uma: groups.is_some(),
        cores: None,
        ways: None,
        objective: "unfairness".to_owned(),
        machine: None,
        time_limit: None,
    }
}

fn answer(study: &Study) {
    study.remarks().iter().for_each(|remark| one_line(remark));
    one_line(&study.heading());
    if study.answers() > MOST_ANSWERS {
        return;
    }
    let mut text = Text::new(80);
    let sink = |row: Row| {
        check_row(&row);
        assert!(!text.row(&row).contains(|letter: char| letter.is_control() && letter != '\n'), "{row:?}");
        Ok::<_, StudyError>(())
    };
    study.run(1, &Alone, sink).unwrap_or_else(|error| panic!("{error}"));
}

fn check_row(row: &Row) {
    let measures = [row.measures.stp, row.measures.unfairness, row.measures.antt, row.measures.unfairness_cov];
    assert!(measures.iter().flatten().all(|measure| measure.is_finite()), "{row:?}");
    assert!(row.problem.is_some() || measures.iter().all(Option::is_some), "neither figures nor a problem: {row:?}");
    row.problem.iter().chain(&row.remarks).for_each(|listed| one_line(listed));
    serde_json::to_string(row).unwrap_or_else(|error| panic!("{error}: {row:?}"));
}

/// Without an observer; no time passes.
struct Alone;

impl Watch for Alone {
    fn stopped(&self) -> bool {
        false
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn done(&self, _: usize, _: usize) {}

    fn search(&self, _: &SearchState<'_>) {}
}
