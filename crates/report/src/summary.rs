//! The summary of a run in words.

use crate::data::{Change, Program, Report};
use isobar_view::View;

/// The main results for a reader, the most important first.
pub fn of(report: &Report, last: Option<&View>, acts: bool, actions: u64) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(hottest(report));
    lines.extend(suffering(&report.programs));
    lines.extend(remote(&report.programs));
    lines.push(done(report, acts, actions));
    lines.extend(accuracy(&report.changes));
    lines.extend(
        last.map(|view| view.verdict.line()).filter(|line| !line.is_empty()).map(|line| format!("At the end: {line}")),
    );
    lines
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

fn hottest(report: &Report) -> Option<String> {
    let node =
        report.nodes.iter().filter_map(|node| Some((node.load.mean()?, node))).max_by(|a, b| a.0.total_cmp(&b.0));
    let (mean, node) = node?;
    let most = node.load.greatest().unwrap_or(mean);
    Some(format!(
        "Node {}'s memory controller was the busiest: {} of its bandwidth on average, {} at most.",
        node.id,
        percent(mean),
        percent(most)
    ))
}

fn suffering(programs: &[Program]) -> Option<String> {
    let slowed = programs.iter().filter_map(|one| Some((one.slowdown.mean()?, one)));
    let (mean, one) = slowed.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let many = programs.iter().filter(|one| one.slowdown.mean().is_some_and(|mean| mean >= WORTH)).count();
    let others = match many {
        0 => " No program ran clearly slower than alone.".to_owned(),
        1 => String::new(),
        many => format!(" {many} programs took 1.05 times as long as alone, or more."),
    };
    Some(format!(
        "{} (process {}) suffered most: it took an estimated {mean:.2} times as long as alone.{others}",
        one.name, one.pid
    ))
}

/// The least slowdown that is mentioned.
const WORTH: f64 = 1.05;

fn remote(programs: &[Program]) -> Option<String> {
    let far = programs.iter().filter_map(|one| Some((one.remote.mean()?, one))).filter(|(mean, _)| *mean >= 0.2);
    let (mean, one) = far.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "{} (process {}) had {} of its pages on nodes where it did not run.",
        one.name,
        one.pid,
        percent(mean)
    ))
}

fn done(report: &Report, acts: bool, actions: u64) -> String {
    let judged = report.changes.iter().filter(|change| change.kept.is_some()).count();
    let kept = report.changes.iter().filter(|change| change.kept == Some(true)).count();
    let what = match (actions, acts) {
        (0, _) => return "Nothing was changed, and no change was planned.".to_owned(),
        (1, true) => "One action was carried out".to_owned(),
        (n, true) => format!("{n} actions were carried out"),
        (n, false) => format!("{n} actions were planned, and none was carried out: it was a dry run"),
    };
    match judged {
        0 => format!("{what}."),
        _ => format!("{what}. Of {judged} changes whose gain was measured, {kept} were kept."),
    }
}

fn accuracy(changes: &[Change]) -> Option<String> {
    let both = changes
        .iter()
        .filter(|one| one.disturbed == Some(false))
        .filter_map(|one| Some((one.predicted?, one.measured?)));
    let both: Vec<(f64, f64)> = both.collect();
    let mut misses: Vec<f64> = both.iter().map(|(predicted, measured)| (predicted - measured).abs()).collect();
    misses.sort_by(f64::total_cmp);
    let median = *misses.get(misses.len() / 2)?;
    let sum = |of: fn(&(f64, f64)) -> f64| both.iter().map(of).sum::<f64>();
    Some(format!(
        "Undisturbed changes: predicted {} of one program's speed in total, measured {}; the median difference is {}.",
        signed(sum(|one| one.0)),
        signed(sum(|one| one.1)),
        percent(median)
    ))
}

fn signed(part: f64) -> String {
    format!("{:+.0} %", part * 100.0)
}
