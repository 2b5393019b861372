//! Writes results as a page in Markdown: a table over all experiments, then the tables of each
//! experiment, and figures. The page is made of sets alone, so a committed CSV gives the same page
//! again. Verdicts follow from the intervals, and no conclusions are drawn.

use crate::overview::overview;
use crate::report::{extreme, figures, latency_columns, names, number, shown_ratio};
use crate::sets::{Set, differences};
use crate::stored::slug;
use crate::summary::{Row, Summary};
use isobar_plot as svg;
use std::collections::BTreeSet;
use std::fmt::Write;

/// File name of the figure of all experiments.
const OVERVIEW: &str = "overview.svg";

/// A page and its figures, by file name.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The page, in Markdown.
    pub text: String,
    /// Figures in SVG, with their file names.
    pub figures: Vec<(String, String)>,
}

/// The page of some sets, under a heading. `compare_with` is the baseline of the sets that have
/// this contender; the others keep their experiment's baseline. `folder` is where the page finds
/// its figures, if it has any.
#[must_use]
pub fn page(heading: &str, sets: &[Set], compare_with: Option<&str>, folder: Option<&str>) -> Page {
    let heading = format!("# {}\n\n", cell(heading));
    let all: Vec<(String, Summary)> = sets.iter().map(|set| (title(set, sets), set.summary(compare_with))).collect();
    let mut page = Page { text: heading, figures: Vec::new() };
    overall(&mut page, &all, folder);
    let differences = differences(sets);
    if !differences.is_empty() {
        page.text.push_str("\nBoots that depend on other files are kept apart:\n\n");
        differences.iter().for_each(|line| _ = writeln!(page.text, "- {line}"));
    }
    for (set, (title, summary)) in sets.iter().zip(&all) {
        one(&mut page, set, title, summary, folder);
    }
    while page.text.contains("\n\n\n") {
        page.text = page.text.replace("\n\n\n", "\n\n");
    }
    page.text.truncate(page.text.trim_end().len());
    page.text.push('\n');
    page
}

/// The experiment's name, and what distinguishes the set from others of that name.
fn title(set: &Set, sets: &[Set]) -> String {
    let same: Vec<&Set> = sets.iter().filter(|other| other.head.experiment == set.head.experiment).collect();
    let own = set.identity.parts();
    let differs = |at: &usize| same.iter().any(|other| other.identity.parts()[*at] != own[*at]);
    let short = |hash: &str| hash.chars().take(8).collect::<String>();
    let mut apart: Vec<String> =
        (0..own.len()).filter(differs).map(|at| format!("{} {}", own[at].0, short(own[at].1))).collect();
    if same.iter().any(|other| other.head.baseline != set.head.baseline) {
        apart.push(format!("against {}", set.head.baseline));
    }
    if apart.is_empty() {
        set.head.experiment.clone()
    } else {
        format!("{} ({})", set.head.experiment, apart.join(", "))
    }
}

/// The end of the names of contenders that run beside the kernel's NUMA balancing.
const BESIDE: &str = "beside balancing";

/// Writes the table over all experiments.
fn overall(page: &mut Page, all: &[(String, Summary)], folder: Option<&str>) {
    let baselines: BTreeSet<&str> = all.iter().map(|(_, summary)| summary.baseline.as_str()).collect();
    let (overview, text) = (overview(all), &mut page.text);
    text.push_str("## All experiments\n\n");
    let (baselines, count) = (baselines.into_iter().collect::<Vec<_>>().join("; "), all.len());
    let over = if count == 1 {
        "of one experiment".to_owned()
    } else {
        format!("over {count} experiments, each of which counts once")
    };
    wrapped(
        text,
        &format!(
            "Real programs under a real kernel in an emulated machine, with one contender at a time. Completion time \
             and ANTT of each contender over those of the baseline of the same boot ({baselines}), geometric mean \
             {over}; *of* says over how many, since a contender may not have run in all of them. Below 1 is sooner. \
             Sooner and later: the whole 95 % interval of the experiment lies on that side of 1. One boot in which a \
             short program had luck can move these means: look at *best* and *worst*, and at the experiment."
        ),
    );
    if overview.iter().any(|one| one.contender.ends_with(BESIDE)) {
        text.push('\n');
        wrapped(text, &format!("Daemons run with NUMA balancing off, and those called `{BESIDE}` with it on."));
    }
    row(text, &["contender", "of", "time", "ANTT", "best", "worst", "sooner", "later", "not shown"].map(str::to_owned));
    rule(text, 9);
    for one in &overview {
        let end = |(title, ratio): &(String, f64)| format!("{ratio:.3} {title}");
        row(
            text,
            &[
                one.contender.clone(),
                one.experiments.to_string(),
                format!("{:.3}", one.time),
                number(one.antt, 3),
                end(&one.best),
                end(&one.worst),
                one.sooner.to_string(),
                one.later.to_string(),
                one.not_shown.to_string(),
            ],
        );
    }
    if let Some(folder) = folder {
        let title = "time against the baseline, one value for each experiment";
        figure(page, folder, OVERVIEW, title, |title| {
            let names: Vec<String> = overview.iter().map(|one| one.contender.clone()).collect();
            let lists = names.iter().map(|name| ratios(all, name)).collect();
            svg::boxes(title, &names, &[(String::new(), lists)], "ratio, below 1 is sooner")
        });
    }
}

fn ratios(all: &[(String, Summary)], contender: &str) -> Vec<f64> {
    let of = |summary: &Summary| summary.rows.iter().find(|row| row.contender == contender)?.vs_baseline;
    all.iter().filter_map(|(_, summary)| Some(of(summary)?.mean)).collect()
}

/// Writes the part of one experiment.
fn one(page: &mut Page, set: &Set, title: &str, summary: &Summary, folder: Option<&str>) {
    let text = &mut page.text;
    let _ = writeln!(text, "\n## {title}\n");
    wrapped(text, &summary.about);
    let Summary { machine, time_scale, cache_scale, repeats, baseline, .. } = summary;
    let boots = if *repeats == 1 { "1 boot".to_owned() } else { format!("{repeats} boots") };
    wrapped(
        text,
        &format!("Machine `{machine}`, time x{time_scale}, caches /{cache_scale}; {boots}; ratios to {baseline}."),
    );
    times(text, summary);
    text.push('\n');
    measures(text, summary);
    latencies(text, summary);
    if !summary.problems.is_empty() {
        text.push_str("\nDid not count:\n\n");
        summary.problems.iter().for_each(|problem| _ = writeln!(text, "- {}", cell(problem)));
    }
    again(text, set);
    if let Some(folder) = folder {
        // Figures are named after the set, because several sets may belong to one experiment.
        let renamed = Summary { experiment: title.to_owned(), ..summary.clone() };
        for (name, drawn) in figures(&renamed).into_iter().filter(|(name, _)| name.ends_with("-ratios.svg")) {
            figure(page, folder, &name, &format!("{title}: ratios by boot"), |_| drawn);
        }
    }
}

/// Writes median seconds, and ratios.
fn times(text: &mut String, summary: &Summary) {
    let programs: Vec<&str> = names(&summary.rows).into_iter().collect();
    let head = ["contender", "time ratio, 95 %", "ANTT ratio, 95 %"].into_iter();
    row(
        text,
        &head.map(str::to_owned).chain(programs.iter().map(|program| format!("{program}, s"))).collect::<Vec<_>>(),
    );
    rule(text, 3 + programs.len());
    if !summary.alone_seconds.is_empty() {
        let alone = programs.iter().map(|program| number(summary.alone_seconds.get(*program).copied(), 2));
        row(
            text,
            &["alone, local".to_owned(), String::new(), String::new()].into_iter().chain(alone).collect::<Vec<_>>(),
        );
    }
    for one in &summary.rows {
        let ratio = |ratio| if one.contender == summary.baseline { "1".to_owned() } else { shown_ratio(ratio) };
        let seconds = programs.iter().map(|program| number(one.seconds.get(*program).copied(), 2));
        let first = [one.contender.clone(), ratio(one.vs_baseline), ratio(one.antt_vs_baseline)];
        row(text, &first.into_iter().chain(seconds).collect::<Vec<_>>());
    }
}

/// Writes everything else that is measured.
fn measures(text: &mut String, summary: &Summary) {
    let head = [
        "contender",
        "runs",
        "ANTT",
        "unfairness",
        "STP",
        "remote",
        "pages moved",
        "thread moves",
        "daemon CPU, s",
        "best program",
        "worst program",
    ];
    row(text, &head.map(str::to_owned));
    rule(text, head.len());
    for one in &summary.rows {
        let Row { contender, runs, antt, unfairness, stp, .. } = one;
        row(
            text,
            &[
                contender.clone(),
                runs.to_string(),
                number(*antt, 3),
                number(*unfairness, 3),
                number(*stp, 3),
                one.remote_share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
                number(one.pages_migrated, 0),
                number(one.thread_migrations, 0),
                number(one.daemon_cpu_seconds, 2),
                extreme(one.best_program.as_ref()),
                extreme(one.worst_program.as_ref()),
            ],
        );
    }
}

/// Writes latencies, if programs print any.
fn latencies(text: &mut String, summary: &Summary) {
    let columns = latency_columns(summary);
    if columns.is_empty() {
        return;
    }
    text.push_str("\nLatencies in microseconds of guest time:\n\n");
    let name =
        |(program, member): &(&str, &str)| format!("{program} {}", member.trim_end_matches("_us").replace('_', " "));
    row(text, &std::iter::once("contender".to_owned()).chain(columns.iter().map(name)).collect::<Vec<_>>());
    rule(text, 1 + columns.len());
    for one in &summary.rows {
        let value = |(program, member): &(&str, &str)| one.latencies_us.get(*program)?.get(*member).copied();
        let values = columns.iter().map(|column| number(value(column), 0));
        row(text, &std::iter::once(one.contender.clone()).chain(values).collect::<Vec<_>>());
    }
}

/// Writes where the boots come from: the commands that repeat them, and hashes.
fn again(text: &mut String, set: &Set) {
    let commands: BTreeSet<&str> = set.boots.iter().map(|boot| boot.command.as_str()).collect();
    text.push_str("\nMade by these commands:\n\n```sh\n");
    commands.iter().for_each(|command| _ = writeln!(text, "{command}"));
    text.push_str("```\n\n");
    wrapped(text, &format!("SHA-256, first digits: {}.", set.origin()));
}

fn figure(page: &mut Page, folder: &str, name: &str, title: &str, draw: impl FnOnce(&str) -> String) {
    let stem = slug(name.trim_end_matches(".svg"));
    let slash = if folder.is_empty() { "" } else { "/" };
    let _ = writeln!(page.text, "\n![{}]({})", cell(title), target(&format!("{folder}{slash}{stem}.svg")));
    page.figures.push((format!("{stem}.svg"), draw(title)));
}

/// The target of a link, between angle brackets if it would otherwise end too early.
fn target(path: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "()<>".contains(c);
    let escaped = || path.replace('<', "\\<").replace('>', "\\>");
    if path.contains(ends) { format!("<{}>", escaped()) } else { path.to_owned() }
}

fn row(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.iter().map(|one| cell(one)).collect::<Vec<_>>().join(" | "));
}

fn rule(text: &mut String, columns: usize) {
    let _ = writeln!(text, "|{}", "---|".repeat(columns));
}

/// A text that cannot break out of its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Appends a paragraph in lines of at most 100 columns.
fn wrapped(text: &mut String, paragraph: &str) {
    let mut width = 0;
    for word in paragraph.split_whitespace() {
        let long = word.chars().count();
        if width > 0 && width + 1 + long > 100 {
            text.push('\n');
            width = 0;
        }
        if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += long;
    }
    if width > 0 {
        text.push_str("\n\n");
    }
}
