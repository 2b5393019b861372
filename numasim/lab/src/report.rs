//! Prints an experiment for people: plain text of at most 110 columns, and figures. It states
//! plainly where a contender loses.

use crate::stats::{Ratio, Verdict};
use crate::summary::{Extreme, Row, Summary, overall};
use isobar_plot as svg;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Number of programs side by side, so that a line stays within 110 columns.
const SIDE_BY_SIDE: usize = 6;

/// The whole report.
#[must_use]
pub fn text(summary: &Summary) -> String {
    let mut text = String::new();
    head(&mut text, summary);
    totals(&mut text, summary);
    compared(&mut text, summary);
    let all: Vec<&str> = names(&summary.rows).into_iter().collect();
    all.chunks(SIDE_BY_SIDE).for_each(|few| programs(&mut text, summary, few));
    latencies(&mut text, summary);
    verdicts(&mut text, summary);
    if !summary.stopped.is_empty() {
        let _ = writeln!(text, "\n{}", summary.stopped);
    }
    if !summary.problems.is_empty() {
        text.push_str("\nDid not count:\n");
        summary.problems.iter().for_each(|problem| _ = writeln!(text, "  {problem}"));
    }
    text
}

fn head(text: &mut String, summary: &Summary) {
    let Summary { experiment, machine, time_scale, cache_scale, repeats, seed, .. } = summary;
    let _ = writeln!(
        text,
        "{experiment} on {machine}, time x{time_scale}, caches /{cache_scale}; {repeats} boot(s), seed {seed}"
    );
    if !summary.about.is_empty() {
        let _ = writeln!(text, "{}", summary.about.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}

fn totals(text: &mut String, summary: &Summary) {
    let head = ["runs", "unfair", "STP", "ANTT", "remote", "pages", "thr.migr", "time vs baseline, 95 %"];
    let widths = [6, 8, 8, 8, 9, 9, 10, 28];
    let _ = write!(text, "\n{:<22}", "contender");
    head.iter().zip(widths).for_each(|(name, width)| _ = write!(text, "{name:>width$}"));
    text.push('\n');
    for row in &summary.rows {
        let versus =
            if row.contender == summary.baseline { "baseline".to_owned() } else { shown_ratio(row.vs_baseline) };
        let cells = [
            row.runs.to_string(),
            number(row.unfairness, 3),
            number(row.stp, 3),
            number(row.antt, 3),
            row.remote_share.map_or_else(dash, |share| format!("{:.1} %", share * 100.0)),
            number(row.pages_migrated, 0),
            number(row.thread_migrations, 0),
            versus,
        ];
        let _ = write!(text, "{:<22}", short(&row.contender, 21));
        cells.iter().zip(widths).for_each(|(cell, width)| _ = write!(text, "{cell:>width$}"));
        text.push('\n');
    }
    text.push_str(
        "\nMedians over the runs that counted. unfair: greatest / least slowdown; STP: sum of 1/slowdown; \
         ANTT: mean slowdown;\n\
         remote: misses on another node's memory, as the plugin counted; pages: pages moved, also before the \
         measured part;\n\
         thr.migr: changes of CPU of the measured threads, both as the kernel counted; time: geometric mean \
         over jobs\n\
         and boots, below 1 is sooner.\n",
    );
}

/// What the first table has no room for: ANTT and the extremes of the ratios, against the baseline.
fn compared(text: &mut String, summary: &Summary) {
    let line = |text: &mut String, name: &str, [antt, best, worst, cpu]: [&str; 4]| {
        let _ = writeln!(text, "{:<22}{antt:>26}{best:>24}{worst:>24}{cpu:>14}", short(name, 21));
    };
    text.push('\n');
    line(text, "against the baseline", ["ANTT, 95 %", "best program", "worst program", "daemon CPU s"]);
    for row in &summary.rows {
        let antt =
            if row.contender == summary.baseline { "baseline".to_owned() } else { shown_ratio(row.antt_vs_baseline) };
        let (best, worst) = (extreme(row.best_program.as_ref()), extreme(row.worst_program.as_ref()));
        line(text, &row.contender, [&antt, &best, &worst, &number(row.daemon_cpu_seconds, 2)]);
    }
}

/// A program and its ratio.
pub(crate) fn extreme(extreme: Option<&Extreme>) -> String {
    extreme.map_or_else(dash, |Extreme { program, ratio }| format!("{} {ratio:.3}", short(program, 15)))
}

/// Latencies that programs printed: one row per contender, one column per latency.
fn latencies(text: &mut String, summary: &Summary) {
    let columns = latency_columns(summary);
    if columns.is_empty() {
        return;
    }
    text.push_str("\nMicroseconds of guest time that programs print, medians over boots.\n\n");
    for few in columns.chunks(4) {
        let mut line = |name: &str, cell: &dyn Fn(&str, &str) -> String| {
            let _ = write!(text, "{:<22}", short(name, 21));
            few.iter().for_each(|(program, member)| _ = write!(text, "{:>24}", cell(program, member)));
            text.push('\n');
        };
        line("", &|program, member| short(&format!("{program} {}", member.trim_end_matches("_us")), 23));
        for row in &summary.rows {
            line(&row.contender, &|program, member| {
                number(row.latencies_us.get(program).and_then(|all| all.get(member)).copied(), 0)
            });
        }
    }
}

/// Program and member of each latency that any contender's programs printed.
pub(crate) fn latency_columns(summary: &Summary) -> Vec<(&str, &str)> {
    let all = summary.rows.iter().flat_map(|row| &row.latencies_us);
    let columns = all.flat_map(|(program, all)| all.keys().map(move |member| (program.as_str(), member.as_str())));
    columns.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Completion times and slowdowns: one row per contender, one column per program.
fn programs(text: &mut String, summary: &Summary, programs: &[&str]) {
    let alone = !summary.alone_seconds.is_empty();
    let brackets = ", and in brackets the slowdown against the program alone on local memory";
    let _ = write!(text, "\nSeconds of guest time{}.\n\n", if alone { brackets } else { "" });
    let mut line = |name: &str, cell: &dyn Fn(&str) -> String| {
        let _ = write!(text, "{:<22}", short(name, 21));
        programs.iter().for_each(|program| _ = write!(text, "{:>14}", cell(program)));
        text.push('\n');
    };
    line("", &|program| short(program, 13));
    if alone {
        line("alone", &|program| number(summary.alone_seconds.get(program).copied(), 2));
    }
    for row in &summary.rows {
        let slowdown =
            |program: &str| row.slowdowns.get(program).map_or_else(String::new, |value| format!(" ({value:.2})"));
        line(&row.contender, &|program| {
            format!("{}{}", number(row.seconds.get(program).copied(), 2), slowdown(program))
        });
    }
}

/// One plain sentence per contender.
fn verdicts(text: &mut String, summary: &Summary) {
    text.push('\n');
    let others = summary.rows.iter().filter(|row| row.contender != summary.baseline);
    others.for_each(|row| _ = writeln!(text, "{}", sentence(row, &summary.baseline)));
}

/// What a contender did to completion times, and which programs it made slower.
#[must_use]
pub fn sentence(row: &Row, baseline: &str) -> String {
    let name = &row.contender;
    let Some((ratio, verdict)) = row.vs_baseline.zip(row.verdict) else {
        return format!("{name}: nothing to compare with {baseline}");
    };
    let percent = (ratio.mean - 1.0).abs() * 100.0;
    let overall = match verdict {
        Verdict::Sooner => format!("{name} wins: {percent:.1} % sooner than {baseline}"),
        Verdict::Later => format!("{name} LOSES: {percent:.1} % later than {baseline}"),
        Verdict::NotShown if ratio.interval_95.is_none() => {
            format!("{name}: {percent:.1} % {} than {baseline} in one boot, which proves nothing", direction(ratio))
        }
        Verdict::NotShown => {
            format!("{name}: no difference from {baseline} is shown (ratio {})", shown_ratio(Some(ratio)))
        }
    };
    let losers = row.vs_baseline_by_program.iter().filter(|(_, ratio)| ratio.verdict() == Verdict::Later);
    let losers: Vec<String> = losers.map(|(program, ratio)| format!("{program} (x{:.2})", ratio.mean)).collect();
    if losers.is_empty() || row.vs_baseline_by_program.len() == 1 {
        return overall;
    }
    format!("{overall}; it costs {}", losers.join(", "))
}

fn direction(ratio: Ratio) -> &'static str {
    if ratio.mean < 1.0 { "sooner" } else { "later" }
}

pub(crate) fn names(rows: &[Row]) -> BTreeSet<&str> {
    rows.iter().flat_map(|row| row.seconds.keys()).map(String::as_str).collect()
}

pub(crate) fn shown_ratio(ratio: Option<Ratio>) -> String {
    match ratio {
        Some(Ratio { mean, interval_95: Some((low, high)), .. }) => format!("{mean:.3} [{low:.3}, {high:.3}]"),
        Some(Ratio { mean, interval_95: None, .. }) => format!("{mean:.3} [one boot]"),
        None => dash(),
    }
}

pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(dash, |value| format!("{value:.digits$}"))
}

fn dash() -> String {
    "-".to_owned()
}

fn short(name: &str, most: usize) -> String {
    name.chars().take(most).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Figures, with their file names.
#[must_use]
pub fn figures(summary: &Summary) -> Vec<(String, String)> {
    let programs: Vec<String> = names(&summary.rows).into_iter().map(str::to_owned).collect();
    let contenders: Vec<String> = summary.rows.iter().map(|row| row.contender.clone()).collect();
    let by_program = |of: &dyn Fn(&Row) -> &BTreeMap<String, f64>| {
        let series = |row: &Row| (row.contender.clone(), programs.iter().map(|p| of(row).get(p).copied()).collect());
        summary.rows.iter().map(series).collect::<Vec<_>>()
    };
    let one = |name: &str, of: &dyn Fn(&Row) -> Option<f64>| {
        vec![(name.to_owned(), summary.rows.iter().map(of).collect::<Vec<_>>())]
    };
    let title = |what: &str| format!("{}: {what}", summary.experiment);
    let remote = one("", &|row| row.remote_share.map(|share| share * 100.0));
    let file = |name: &str| format!("{}-{name}.svg", summary.experiment);
    vec![
        (file("slowdowns"), svg::bars(&title("slowdown"), &programs, &by_program(&|row| &row.slowdowns), "slowdown")),
        (
            file("seconds"),
            svg::bars(&title("completion time"), &programs, &by_program(&|row| &row.seconds), "guest seconds"),
        ),
        (file("remote"), svg::bars(&title("remote share"), &contenders, &remote, "per cent of misses")),
        (file("ratios"), ratios(summary, &title("time against the baseline of the same boot"))),
    ]
}

/// The spread of each contender's ratios over the boots.
fn ratios(summary: &Summary, title: &str) -> String {
    let base = summary.rows.iter().find(|row| row.contender == summary.baseline);
    let others: Vec<&Row> = summary.rows.iter().filter(|row| row.contender != summary.baseline).collect();
    let boots = |row: &Row| -> Vec<f64> {
        let pairs = row.each.iter().filter_map(|(repeat, run)| overall(run, base?.each.get(repeat)?));
        pairs.map(|(run, base)| run / base).collect()
    };
    let names: Vec<String> = others.iter().map(|row| row.contender.clone()).collect();
    let lists = others.iter().map(|row| boots(row)).collect();
    svg::boxes(title, &names, &[(String::new(), lists)], "ratio, below 1 is sooner")
}
