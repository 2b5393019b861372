//! Makes pages from the JSON output of `sim`, `study` and `reproduce`.

use super::timeline::Timed;
use super::title;
use crate::failure::bad_input;
use crate::text::plural;
use isobar_report::{Head, Reproduction, Simulation, Study};
use serde_json::Value;
use std::path::Path;

/// A page, and a description of its contents.
type Page = (String, String);

fn head(file: &Path) -> Head {
    Head { title: title(file), ..Head::default() }
}

fn unsuited(file: &Path, verb: &str) -> impl Fn(serde_json::Error) -> anyhow::Error {
    move |why| bad_input(format!("{}: {why}: expected what `isobar {verb} --json` prints", file.display()))
}

/// A comparison of policies, with facts about it and, if given, one run over time.
///
/// # Errors
/// Bad input: an inconsistent document.
pub fn simulation(
    document: Value,
    file: &Path,
    facts: Vec<(String, String)>,
    timed: Option<Timed>,
) -> anyhow::Result<Page> {
    let head = Head { facts, ..head(file) };
    let mut simulation = Simulation::read(document, head).map_err(unsuited(file, "sim"))?;
    if let Some(Timed { timeline, run }) = timed {
        simulation = simulation.over_time(timeline, run);
    }
    let policies = simulation.workloads.first().map_or(0, |one| one.policies.len());
    let policies = if policies == 1 { "1 policy".to_owned() } else { format!("{policies} policies") };
    let what = format!("{policies} on {}", plural(simulation.workloads.len(), "workload"));
    Ok((simulation.html(), what))
}

/// The answers of a study.
///
/// # Errors
/// As [`simulation`].
pub fn study(lines: Vec<Value>, file: &Path) -> anyhow::Result<Page> {
    let rows: Result<Vec<_>, _> = lines.into_iter().map(serde_json::from_value).collect();
    let study = Study::of(rows.map_err(unsuited(file, "study"))?, head(file));
    Ok((study.html(), plural(study.rows.len(), "answer")))
}

/// The claims of papers. `picture` finds a figure by its file name.
///
/// # Errors
/// As [`simulation`].
pub fn reproduction(document: Value, file: &Path, picture: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Page> {
    let found = Reproduction::read(document, head(file), picture).map_err(unsuited(file, "reproduce"))?;
    let claims: usize = found.papers.iter().map(|paper| paper.claims.len()).sum();
    let figures = found.papers.iter().flat_map(|paper| &paper.figures).filter(|figure| figure.svg.is_some()).count();
    Ok((found.html(), format!("{}, {}", plural(claims, "claim"), plural(figures, "figure"))))
}

/// Reads a figure from a folder; `None` if the name leads out of the folder.
pub fn picture(folder: &Path, file: &str) -> Option<String> {
    let name = Path::new(file).file_name().filter(|name| *name == file)?;
    crate::input::text(&folder.join(name), crate::input::LIST).ok()
}
