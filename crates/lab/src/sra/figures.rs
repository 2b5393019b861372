//! The figures of a study.

use super::rows::{Cell, Versus};
use super::run::Study;
use super::spec::{PAPER_K, Spec};
use super::strategy::Strategy;
use crate::stats::mean;
use isobar_plot as svg;

/// The study as figures: file name and SVG document.
#[must_use]
pub fn figures(spec: &Spec, study: &Study) -> Vec<(String, String)> {
    let all = [
        ("dino-sra-by-strategy.svg", by_strategy(study)),
        ("dino-sra-by-rate.svg", by_rate(spec, study)),
        ("dino-sra-by-program.svg", by_program(spec, study)),
        ("dino-figure-9.svg", figure_9(spec, study)),
        ("dino-figure-10.svg", figure_10(study)),
    ];
    all.map(|(file, svg)| (file.to_owned(), svg)).to_vec()
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
    let title = "Saved remote accesses by strategy, one sample in 10 ms";
    svg::curves(title, &series, "K (pages a sample moves)", "SRA (%)", true)
}

fn by_rate(spec: &Spec, study: &Study) -> String {
    let rates = std::iter::once(None).chain(spec.rates.iter().copied().map(Some));
    let of = |rate: Option<f64>| {
        let name = rate.map_or_else(|| "1 sample in 10 ms".to_owned(), |rate| format!("{} sampled", in_percent(rate)));
        line(study, name, |cell| cell.strategy == Strategy::ForwardBackward && cell.rate == rate)
    };
    let title = "Saved remote accesses of sequential-forward-backward by sampling rate";
    svg::curves(title, &rates.map(of).collect::<Vec<_>>(), "K (pages a sample moves)", "SRA (%)", true)
}

fn by_program(spec: &Spec, study: &Study) -> String {
    let of = |strategy: Strategy| {
        let sra = |program: &String| {
            let wanted = |cell: &&Cell| cell.program.as_ref() == Some(program) && cell.strategy == strategy;
            let mut cells = study.cells.iter().filter(wanted);
            cells.find(|cell| cell.k == PAPER_K && cell.rate.is_none()).map(|cell| cell.sra_percent)
        };
        (strategy.name().to_owned(), spec.programs.iter().map(sra).collect())
    };
    let series: Vec<_> = Strategy::COMPARED.into_iter().map(of).collect();
    svg::bars("Saved remote accesses at K = 4096, one sample in 10 ms", &spec.programs, &series, "SRA (%)")
}

/// Improvement over moving the whole resident set, by K, as the mean over single-threaded programs.
fn figure_9(spec: &Spec, study: &Study) -> String {
    let ks = spec.all_ks();
    let at = |k: &u32| {
        let rows = study.versus.iter().filter(|row| !row.shared && row.k == *k);
        mean(rows.map(|row| row.over_whole_percent))
    };
    let series = [("mean of single-threaded programs".to_owned(), ks.iter().map(at).collect())];
    let names: Vec<_> = ks.iter().map(ToString::to_string).collect();
    svg::bars("DINO, figure 9: K against whole resident sets", &names, &series, "shorter completion time (%)")
}

fn figure_10(study: &Study) -> String {
    let rows: Vec<&Versus> = study.versus.iter().filter(|row| row.shared && row.k == PAPER_K).collect();
    let names: Vec<_> = rows.iter().map(|row| row.program.clone()).collect();
    let series = [("K = 4096".to_owned(), rows.iter().map(|row| Some(row.over_whole_percent)).collect())];
    svg::bars("DINO, figure 10: K = 4096 against whole resident sets", &names, &series, "shorter completion time (%)")
}

/// A fraction in per cent, without the digits that binary fractions add.
fn in_percent(part: f64) -> String {
    format!("{} %", (part * 1e10).round() / 1e8)
}
