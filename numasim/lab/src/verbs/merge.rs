//! `numasim merge` and `numasim report`: combine results of several folders and machines, as
//! tables, CSV, JSON or a page.

use super::print;
use crate::args::{MergeArgs, ReportArgs};
use numasim_lab::sets::{self, Set};
use numasim_lab::summary::Summary;
use numasim_lab::{LabError, page, records, report, stored};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Prints the combined results. Returns 1 if a run did not count, or if boots of the same hashes
/// and seed differ.
pub fn run(args: &MergeArgs) -> Result<u8, LabError> {
    let (sets, notes) = read(&args.results)?;
    known(&sets, args.compare_with.as_deref())?;
    let differences = sets::differences(&sets);
    let summaries: Vec<Summary> = sets.iter().map(|set| set.summary(args.compare_with.as_deref())).collect();
    if args.csv {
        print(&records::write(&sets));
        notes.iter().chain(&differences).for_each(|line| eprintln!("numasim: {line}"));
    } else if args.json {
        let lines = sets.iter().zip(&summaries).map(|(set, summary)| json(set, summary));
        print(&lines.collect::<String>());
        notes.iter().chain(&differences).for_each(|line| eprintln!("numasim: {line}"));
    } else {
        let tables = sets.iter().zip(&summaries).map(|(set, one)| format!("{}{}\n", report::text(one), set.origin()));
        let lines = notes.iter().chain(&differences).map(|line| format!("{line}\n"));
        print(&lines.chain(tables).collect::<Vec<_>>().join("\n"));
    }
    Ok(u8::from(!notes.is_empty() || summaries.iter().any(|summary| !summary.problems.is_empty())))
}

/// Writes the page and its figures.
pub fn report(args: &ReportArgs) -> Result<u8, LabError> {
    let (sets, notes) = read(&args.results)?;
    known(&sets, args.compare_with.as_deref())?;
    notes.iter().for_each(|line| eprintln!("numasim: {line}"));
    let here = std::env::current_dir().map_err(|error| LabError::io(Path::new("."), error))?;
    let figures = args.figures.as_deref().map(|folder| from(&here, folder, args.output.as_deref()));
    let page = page::page(&args.title, &sets, args.compare_with.as_deref(), figures.as_deref());
    match &args.output {
        Some(path) => std::fs::write(path, &page.text).map_err(|error| LabError::io(path, error))?,
        None => print(&page.text),
    }
    let figures = args.figures.as_ref().map(|folder| super::figures(folder, &page.figures));
    figures.unwrap_or(Ok(())).map(|()| u8::from(!notes.is_empty()))
}

/// The folder of figures as the page links it: the path from the folder of the page, or from `here`
/// if the page is printed. Symbolic links count as folders.
fn from(here: &Path, figures: &Path, page: Option<&Path>) -> String {
    let folder = page.and_then(Path::parent).unwrap_or(Path::new(""));
    let (from, to) = (plain(&here.join(folder)), plain(&here.join(figures)));
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let way = std::iter::repeat_n(OsString::from(".."), from.len() - common).chain(to[common..].iter().cloned());
    way.collect::<PathBuf>().display().to_string()
}

/// The parts of a path without `.` and `..`.
fn plain(path: &Path) -> Vec<OsString> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = parts.pop(),
            part => parts.push(part.as_os_str().to_owned()),
        }
    }
    parts
}

/// Reads folders of results and CSV files, in order. A boot that occurs twice counts once.
fn read(paths: &[PathBuf]) -> Result<(Vec<Set>, Vec<String>), LabError> {
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    for path in paths {
        if path.is_dir() {
            let (sets, twice) = sets::of(stored::all(path)?);
            all.extend(sets);
            notes.extend(twice);
        } else {
            let shown = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| LabError::input(&shown, error.to_string()))?;
            all.extend(records::read(&text, &shown)?);
        }
    }
    let (sets, twice) = sets::merge(all);
    notes.extend(twice);
    Ok((sets, notes))
}

/// Checks that some set has the contender that others are to be compared with.
fn known(sets: &[Set], name: Option<&str>) -> Result<(), LabError> {
    let all: BTreeSet<&str> = sets.iter().flat_map(|set| &set.head.contenders).map(String::as_str).collect();
    match name.filter(|name| !all.contains(name)) {
        Some(name) => {
            let problem = format!(
                "no contender is called `{name}`; there are {}",
                all.into_iter().collect::<Vec<_>>().join("; ")
            );
            Err(LabError::input("--compare-with", problem))
        }
        None => Ok(()),
    }
}

/// A table as JSON, with the origin of its boots.
#[derive(Serialize)]
struct Merged<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    seeds: Vec<u64>,
    commits: BTreeSet<&'a str>,
    sha256: &'a numasim_lab::identity::Identity,
}

fn json(set: &Set, summary: &Summary) -> String {
    let merged = Merged {
        summary,
        seeds: set.boots.iter().map(|boot| boot.seed).collect(),
        commits: set.boots.iter().map(|boot| boot.commit.as_str()).collect(),
        sha256: &set.identity,
    };
    serde_json::to_string(&merged).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_links_the_folder_of_figures_from_its_own() {
        let way = |figures: &str, page: Option<&str>| from(Path::new("/w/x"), Path::new(figures), page.map(Path::new));
        assert_eq!(way("docs/images", Some("docs/page.md")), "images");
        assert_eq!(way("./docs//images/", Some("docs/./page.md")), "images");
        assert_eq!(way("images", Some("docs/page.md")), "../images");
        assert_eq!(way("docs/a b", Some("docs/deep/page.md")), "../a b");
        assert_eq!(way("/w/x/docs/images", Some("docs/page.md")), "images");
        assert_eq!(way("images", Some("/w/docs/page.md")), "../x/images");
        assert_eq!(way("../images", Some("page.md")), "../images");
        assert_eq!((way("docs", Some("docs/page.md")), way("images", None)), (String::new(), "images".to_owned()));
    }
}
