//! A comparison for people: plain text, at most 110 columns.

use crate::compare::{Comparison, PolicyRow};
use std::fmt::Write;

/// Policies side by side this many at a time, so that a line stays within 110 columns.
const SIDE_BY_SIDE: usize = 4;

/// The comparison as aligned text: one line for each policy, then the slowdown of each application under each policy.
#[must_use]
pub fn table(comparison: &Comparison) -> String {
    let mut text = String::new();
    totals(&mut text, comparison);
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
         per hour: mem.migr by process and hour; pages: pages moved; vs linux: completion time, + is shorter.\n\
         Means over {} run(s), seeds from {}.",
        comparison.policies.first().map_or(0, |row| row.apps.len()),
        comparison.repeat,
        comparison.seed
    );
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

/// The first characters of a name; control characters, which a program's name may hold, are shown as `?`.
fn short(name: &str, most: usize) -> String {
    name.chars().take(most).map(|c| if c.is_control() { '?' } else { c }).collect()
}
