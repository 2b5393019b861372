//! A study for people: a table of at most 110 columns, and the figures.

use super::rows::{Cell, Versus};
use super::run::Study;
use super::spec::PAPER_K;
use super::strategy::Strategy;
use crate::stats::mean;
use isobar_plot as svg;
use std::fmt::Write;

/// The study as aligned text: SRA by strategy, K and rate; K against whole resident sets; the
/// claims.
#[must_use]
pub fn table(study: &Study) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "SRA: per cent of remote accesses saved in the first {} s after a thread moved away from its pages,\n\
         mean over {} programs; columns: part of the accesses sampled (daemon: one sample in {} ms).",
        study.spec.seconds,
        study.spec.programs.len(),
        study.spec.timing.daemon_seconds * 1000.0
    );
    Strategy::COMPARED.into_iter().for_each(|strategy| rates(&mut text, study, strategy));
    programs(&mut text, study);
    whole(&mut text, study);
    verdicts(&mut text, study);
    text
}

/// One strategy: a row a K, a column a rate.
fn rates(text: &mut String, study: &Study, strategy: Strategy) {
    let _ = write!(text, "\n{:<28}{:>10}", strategy.name(), "daemon");
    study.spec.rates.iter().for_each(|rate| _ = write!(text, "{:>10}", in_percent(*rate)));
    let _ = writeln!(text, "{:>12}{:>10}", "moves", "wasted");
    for k in study.spec.all_ks() {
        let _ = write!(text, "{:<28}", format!("  K = {k}"));
        let row: Vec<&Cell> = study.means.iter().filter(|cell| cell.strategy == strategy && cell.k == k).collect();
        row.iter().for_each(|cell| _ = write!(text, "{:>10.1}", cell.sra_percent));
        let daemon = row.iter().find(|cell| cell.rate.is_none());
        let _ = daemon.map(|cell| writeln!(text, "{:>12.0}{:>10.0}", cell.moves, cell.wasted));
    }
}

/// Every program with the paper's K and the daemon's samples.
fn programs(text: &mut String, study: &Study) {
    let _ = writeln!(text, "\nWith K = {PAPER_K} and the daemon's samples:");
    let _ = write!(text, "{:<16}{:>10}{:>14}{:>12}", "program", "pages", "accesses", "sampled %");
    let heads = ["forward", "fwd-bwd", "random", "pattern"];
    heads.iter().for_each(|head| _ = write!(text, "{head:>10}"));
    text.push('\n');
    for row in study.programs.iter().filter(|row| row.threads == 1) {
        let _ = write!(text, "{:<16}{:>10}{:>14}{:>12.5}", row.name, row.pages, row.accesses, row.sampled_percent);
        let cells = study.cells.iter().filter(|cell| cell.program.as_ref() == Some(&row.name));
        let chosen = cells.filter(|cell| cell.k == PAPER_K && cell.rate.is_none());
        chosen.for_each(|cell| _ = write!(text, "{:>10.1}", cell.sra_percent));
        text.push('\n');
    }
}

/// K against whole resident sets.
fn whole(text: &mut String, study: &Study) {
    let timing = &study.spec.timing;
    let _ = writeln!(
        text,
        "\nAgainst whole resident sets, copied at {} MB/s: net SRA of all threads, pages moved, completion time against\n\
         moving nothing and against the whole resident set (+ is shorter).",
        timing.copy_bytes_per_second / 1e6
    );
    let heads = ["net SRA %", "moves", "wasted", "vs nothing", "vs whole"];
    let _ = write!(text, "{:<16}{:>10}", "program", "K");
    heads.iter().for_each(|head| _ = write!(text, "{head:>14}"));
    text.push('\n');
    for row in study.versus.iter().filter(|row| row.k.is_none_or(|k| k == PAPER_K)) {
        let k = row.k.map_or_else(|| "whole".to_owned(), |k| k.to_string());
        let _ = writeln!(
            text,
            "{:<16}{k:>10}{:>14.1}{:>14}{:>14}{:>12.1} %{:>12.1} %",
            row.program, row.sra_percent, row.moves, row.wasted, row.gain_percent, row.over_whole_percent
        );
    }
}

fn verdicts(text: &mut String, study: &Study) {
    let (four, five) = (&study.dino_4, &study.dino_5);
    let percent = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1} %"));
    let yes = |agrees: bool| if agrees { "yes" } else { "NO" };
    let best = four.best.map_or("-", Strategy::name);
    let sampled = four.sampled_percent.map_or_else(|| "-".to_owned(), |value| format!("{value:.4} %"));
    let _ = writeln!(
        text,
        "\ndino-4  SRA at K = {PAPER_K}: paper {} %, ours {} with {sampled} of accesses sampled; size agrees: {}\n        \
         best strategy: paper sequential-forward-backward, ours {best}; agrees: {}\n        \
         forward-backward above the best other, in points, by seed: {}",
        four.paper_sra_percent,
        percent(four.sra_percent),
        yes(four.size_agrees),
        yes(four.sign_agrees),
        four.margins.iter().map(|margin| format!("{margin:+.1}")).collect::<Vec<_>>().join(", ")
    );
    let shared = five.shared_percent.iter().map(|(name, value)| format!("{name} {value:+.1} %")).collect::<Vec<_>>();
    let _ = writeln!(
        text,
        "dino-5  K = {PAPER_K} against whole resident sets: single-threaded {} (paper: comparable); agrees: {}\n        \
         threads that share: {} (paper: better); agrees: {}",
        percent(five.alone_percent),
        yes(five.comparable),
        shared.join(", "),
        yes(five.better_when_shared)
    );
    let times = study.over_time.iter().map(|at| format!("{:.1} % after {} s", at.sra_percent, milli(at.seconds)));
    let times = times.collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "The SRA of dino-4 depends on the time that is looked at:\n        {times}.");
}

/// A part of 1 in per cent, without the digits that binary fractions add.
fn in_percent(part: f64) -> String {
    format!("{} %", (part * 1e10).round() / 1e8)
}

/// Seconds to the millisecond.
fn milli(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// The study as figures: file name and SVG document.
#[must_use]
pub fn figures(study: &Study) -> Vec<(String, String)> {
    vec![
        ("dino-sra-by-strategy.svg".to_owned(), by_strategy(study)),
        ("dino-sra-by-rate.svg".to_owned(), by_rate(study)),
        ("dino-sra-by-program.svg".to_owned(), by_program(study)),
        ("dino-figure-9.svg".to_owned(), figure_9(study)),
        ("dino-figure-10.svg".to_owned(), figure_10(study)),
    ]
}

type Line = (String, Vec<(f64, f64)>);

fn line(study: &Study, name: String, wanted: impl Fn(&&Cell) -> bool) -> Line {
    (name, study.means.iter().filter(wanted).map(|cell| (f64::from(cell.k), cell.sra_percent)).collect())
}

fn by_strategy(study: &Study) -> String {
    let of = |strategy: Strategy| {
        line(study, strategy.name().to_owned(), |cell| cell.strategy == strategy && cell.rate.is_none())
    };
    let series: Vec<_> = Strategy::COMPARED.into_iter().map(of).collect();
    svg::curves(
        "Saved remote accesses by strategy, one sample in 10 ms",
        &series,
        "K (pages a sample moves)",
        "SRA (%)",
        true,
    )
}

fn by_rate(study: &Study) -> String {
    let rates = std::iter::once(None).chain(study.spec.rates.iter().copied().map(Some));
    let of = |rate: Option<f64>| {
        let name = rate.map_or_else(|| "1 sample in 10 ms".to_owned(), |rate| format!("{} sampled", in_percent(rate)));
        line(study, name, |cell| cell.strategy == Strategy::ForwardBackward && cell.rate == rate)
    };
    let title = "Saved remote accesses of sequential-forward-backward by sampling rate";
    svg::curves(title, &rates.map(of).collect::<Vec<_>>(), "K (pages a sample moves)", "SRA (%)", true)
}

fn by_program(study: &Study) -> String {
    let of = |strategy: Strategy| {
        let sra = |program: &String| {
            let wanted = |cell: &&Cell| cell.program.as_ref() == Some(program) && cell.strategy == strategy;
            let mut cells = study.cells.iter().filter(wanted);
            cells.find(|cell| cell.k == PAPER_K && cell.rate.is_none()).map(|cell| cell.sra_percent)
        };
        (strategy.name().to_owned(), study.spec.programs.iter().map(sra).collect())
    };
    let series: Vec<_> = Strategy::COMPARED.into_iter().map(of).collect();
    svg::bars("Saved remote accesses at K = 4096, one sample in 10 ms", &study.spec.programs, &series, "SRA (%)")
}

/// Improvement over the whole resident set by K, the mean over single-threaded programs.
fn figure_9(study: &Study) -> String {
    let ks = study.spec.all_ks();
    let at = |k: &u32| {
        let rows = study.versus.iter().filter(|row| !row.shared && row.k == Some(*k));
        mean(rows.map(|row| row.over_whole_percent))
    };
    let series = [("mean of single-threaded programs".to_owned(), ks.iter().map(at).collect())];
    let names: Vec<_> = ks.iter().map(ToString::to_string).collect();
    svg::bars("DINO, figure 9: K against whole resident sets", &names, &series, "shorter completion time (%)")
}

fn figure_10(study: &Study) -> String {
    let rows: Vec<&Versus> = study.versus.iter().filter(|row| row.shared && row.k == Some(PAPER_K)).collect();
    let names: Vec<_> = rows.iter().map(|row| row.program.clone()).collect();
    let series = [("K = 4096".to_owned(), rows.iter().map(|row| Some(row.over_whole_percent)).collect())];
    svg::bars("DINO, figure 10: K = 4096 against whole resident sets", &names, &series, "shorter completion time (%)")
}
