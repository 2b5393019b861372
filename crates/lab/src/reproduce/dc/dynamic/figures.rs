//! Figures 10 and 11 and table III.

use super::claims::{antt, cov, first, of_mix, reduction, stp, throughput, unfairness};
use super::runs::{Launch, Row};
use crate::reproduce::claim::Figure;
use isobar_plot::{Boxes, bars, boxes};

/// Strategies by their position, with the names in figures.
const ALL: [(usize, &str); 4] = [(0, "linux"), (1, "dino"), (2, "dino+lfoc+"), (3, "divide-content")];
/// The strategies of figure 11.
const COMPARED: [(usize, &str); 3] = [(0, "linux"), (1, "dino"), (3, "divide-content")];
/// The mix of figures 11.c and 11.d.
const ONE: usize = 4;

/// All figures.
pub(crate) fn figures(rows: &[Row]) -> Vec<Figure> {
    let first = first(rows);
    let one = rows.iter().find(|row| row.number == ONE).or_else(|| rows.first());
    let both = [(0, "c"), (3, "d")].into_iter();
    let programs =
        one.into_iter().flat_map(|row| both.clone().map(move |(strategy, part)| of_programs(row, strategy, part)));
    let mut figures = vec![
        normalised(rows, "unfairness", unfairness),
        normalised(rows, "stp", stp),
        varied(first, "a", "Unfairness", unfairness),
        varied(first, "b", "STP", stp),
    ];
    figures.extend(programs);
    figures.push(table_3(rows));
    figures
}

/// Figure 10: relative to stock Linux.
fn normalised(rows: &[Row], measure: &str, read: fn(&Launch) -> f64) -> Figure {
    let categories: Vec<_> = rows.iter().map(|row| format!("M{}", row.number)).collect();
    let value = |row: &Row, strategy| of_mix(row, strategy, read) / of_mix(row, 0, read);
    let series: Vec<_> = ALL[1..]
        .iter()
        .map(|(strategy, name)| ((*name).to_owned(), rows.iter().map(|row| Some(value(row, *strategy))).collect()))
        .collect();
    let title = format!("Normalized {measure} (Divide&Content, figure 10)");
    let svg = bars(&title, &categories, &series, "over stock Linux");
    Figure { file: format!("dc-figure-10-{measure}.svg"), title, svg }
}

/// Figures 11.a and 11.b: every launch.
fn varied(rows: &[Row], part: &str, measure: &str, read: fn(&Launch) -> f64) -> Figure {
    let categories: Vec<_> = rows.iter().map(|row| format!("M{}", row.number)).collect();
    let values = |strategy: usize| rows.iter().map(|row| row.launches[strategy].iter().map(read).collect()).collect();
    let series: Vec<Boxes> = COMPARED.iter().map(|(strategy, name)| ((*name).to_owned(), values(*strategy))).collect();
    let title = format!("{measure} from run to run (Divide&Content, figure 11.{part})");
    let svg = boxes(&title, &categories, &series, measure);
    Figure { file: format!("dc-figure-11{part}.svg"), title, svg }
}

/// Figures 11.c and 11.d: the slowdown of every program.
fn of_programs(row: &Row, strategy: usize, part: &str) -> Figure {
    let values = |app: usize| row.launches[strategy].iter().map(|launch| launch.slowdowns[app]).collect();
    let series = [(ALL[strategy].1.to_owned(), (0..row.apps.len()).map(values).collect())];
    let title = format!("Slowdowns of M{} from run to run (Divide&Content, figure 11.{part})", row.number);
    let svg = boxes(&title, &row.apps, &series, "slowdown");
    Figure { file: format!("dc-figure-11{part}.svg"), title, svg }
}

/// Table III: means.
fn table_3(rows: &[Row]) -> Figure {
    let categories = ["unfairness", "throughput", "ANTT", "UnfairnessCoV"].map(str::to_owned);
    let of = |strategy: usize| {
        let reductions = |read: fn(&Launch) -> f64| Some(reduction(rows, strategy, read).mean);
        vec![reductions(unfairness), Some(throughput(rows, strategy).mean), reductions(antt), reductions(cov)]
    };
    let series: Vec<_> = ALL[1..].iter().map(|(strategy, name)| ((*name).to_owned(), of(*strategy))).collect();
    let title = "Mean gains over stock Linux (Divide&Content, table III)";
    let svg = bars(title, &categories, &series, "per cent: reduction; of throughput, gain");
    Figure::new("dc-table-3.svg", title, svg)
}
