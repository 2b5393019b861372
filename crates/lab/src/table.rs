//! A comparison as plain text for people, at most 110 columns.

use crate::compare::{Comparison, PolicyRow};
use crate::optimum::Mapping;
use crate::spread::Spread;
use crate::text::short;
use isobar_model::LlcId;
use isobar_model::metrics::Summary;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Number of policies side by side, so that a line stays within 110 columns.
const SIDE_BY_SIDE: usize = 4;

/// The comparison as aligned text: one line for each policy, then the slowdown of each application
/// under each policy.
#[must_use]
pub fn table(comparison: &Comparison) -> String {
    let mut text = String::new();
    totals(&mut text, comparison);
    spreads(&mut text, comparison);
    comparison.policies.chunks(SIDE_BY_SIDE).for_each(|policies| slowdowns(&mut text, policies));
    text
}

fn totals(text: &mut String, comparison: &Comparison) {
    let head = ["unfairness", "STP", "ANTT", "CoV", "thr.migr", "mem.migr", "per hour", "pages", "vs linux"];
    let _ = write!(text, "{:<20}", "policy");
    let widths = [11, 9, 8, 8, 10, 10, 10, 12, 11];
    head.iter().zip(widths).for_each(|(name, width)| _ = write!(text, "{name:>width$}"));
    text.push('\n');
    for row in &comparison.policies {
        let all = &row.summary;
        let versus = row.vs_linux_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1} %"));
        let _ = writeln!(
            text,
            "{:<20}{:>11.3}{:>9.3}{:>8.3}{:>8.3}{:>10.1}{:>10.1}{:>10.1}{:>12.0}{versus:>11}",
            short(&row.policy, 20),
            all.unfairness,
            all.stp,
            all.antt,
            all.unfairness_cov,
            row.thread_migrations,
            row.memory_migrations,
            row.memory_migrations_per_hour,
            row.pages_moved
        );
    }
    let _ = writeln!(
        text,
        "\nunfairness: greatest / least slowdown, 1 is fair; STP: sum of 1/slowdown, at most {}; ANTT: mean slowdown;\n\
         CoV: standard deviation / mean of the slowdowns; thr.migr, mem.migr: migrations of threads and of memory;\n\
         per hour: mem.migr per process and hour; pages: pages moved; vs linux: completion time, + is shorter.\n\
         {}",
        comparison.policies.first().map_or(0, |row| row.apps.len()),
        means_over(comparison)
    );
}

fn means_over(comparison: &Comparison) -> String {
    let Comparison { seed, repeat, schedules, .. } = comparison;
    match schedules {
        None => format!("Means over {repeat} run(s), each from a schedule drawn by its seed; seeds from {seed}."),
        Some(1) => {
            format!("All schedules that balance CPU load are the same by symmetry; {repeat} run(s), seeds from {seed}.")
        }
        Some(all) => {
            let times = if *repeat == 1 { String::new() } else { format!(", {repeat} runs of each") };
            format!("Means over the {all} different schedules that balance CPU load{times}; seeds from {seed}.")
        }
    }
}

/// The least and the greatest run, and the confidence intervals of the means. Left out for a single
/// run, which has neither.
fn spreads(text: &mut String, comparison: &Comparison) {
    if comparison.repeat == 1 && comparison.schedules.is_none_or(|all| all == 1) {
        return;
    }
    let _ = writeln!(text, "\n{:<20}{:>29}{:>29}{:>29}", "least to greatest run", "unfairness", "ANTT", "vs linux, %");
    for row in &comparison.policies {
        let spread = &row.spread;
        let versus = spread.vs_linux_percent.as_ref().map_or_else(|| "-".to_owned(), |all| range(all, 1));
        let name = short(&row.policy, 20);
        let _ =
            writeln!(text, "{name:<20}{:>29}{:>29}{versus:>29}", range(&spread.unfairness, 3), range(&spread.antt, 3));
    }
    if comparison.repeat > 1 {
        text.push_str("\n±: half the 95 % confidence interval of the mean over the repeats (Student's t).\n");
    }
}

fn range(spread: &Spread, digits: usize) -> String {
    let half = spread.half_width_95.map_or_else(String::new, |half| format!(" ±{half:.digits$}"));
    format!("{:.digits$} to {:.digits$}{half}", spread.min, spread.max)
}

/// The best and the worst mapping as text, at most 110 columns.
#[must_use]
pub fn optimum_table(ranked: &[Mapping], names: &[&str]) -> String {
    let mut text = format!(
        "\nStatic mappings of threads to last-level caches: {} different ones. By mean slowdown:\n\n\
         {:<18}{:>24}{:>24}\n",
        ranked.len(),
        "",
        "best",
        "worst"
    );
    let (Some(best), Some(worst)) = (ranked.first(), ranked.last()) else { return text };
    let mut line = |name: &str, cells: [String; 2]| {
        let _ = writeln!(text, "{:<18}{:>24}{:>24}", short(name, 18), cells[0], cells[1]);
    };
    let measures = |one: &Mapping| {
        let Summary { unfairness, stp, antt, unfairness_cov } = one.summary;
        [("ANTT", antt), ("unfairness", unfairness), ("STP", stp), ("CoV", unfairness_cov)]
    };
    for ((name, best), (_, worst)) in measures(best).into_iter().zip(measures(worst)) {
        line(name, [best, worst].map(|value| format!("{value:.3}")));
    }
    for (index, name) in names.iter().enumerate() {
        line(name, [best, worst].map(|one| format!("{:.3} on llc {}", one.slowdowns[index], llcs(&one.llcs[index]))));
    }
    text
}

/// Caches with the threads on each: `0`, or `0 x2, 1`.
fn llcs(all: &[LlcId]) -> String {
    let mut counts: BTreeMap<LlcId, usize> = BTreeMap::new();
    all.iter().for_each(|llc| *counts.entry(*llc).or_default() += 1);
    let one = |(llc, count): (LlcId, usize)| if count == 1 { llc.to_string() } else { format!("{llc} x{count}") };
    counts.into_iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Slowdown and, in brackets, improvement over `linux` of every application.
fn slowdowns(text: &mut String, policies: &[PolicyRow]) {
    text.push_str(
        "\nSlowdown: completion time / completion time alone; in brackets how much shorter than under linux.\n\n",
    );
    let _ = write!(text, "{:<18}{:>9}", "application", "alone");
    policies.iter().for_each(|row| _ = write!(text, "{:>20}", short(&row.policy, 19)));
    text.push('\n');
    for (index, app) in policies.first().map_or(&[][..], |row| &row.apps).iter().enumerate() {
        let _ = write!(text, "{:<18}{:>7.1} s", short(&app.name, 18), app.alone_seconds);
        for row in policies {
            let app = &row.apps[index];
            let versus = app.vs_linux_percent.map_or_else(String::new, |percent| format!(" ({percent:+.1} %)"));
            let _ = write!(text, "{:>20}", format!("{:.3}{versus}", app.slowdown));
        }
        text.push('\n');
    }
}
