//! The paper's figures, drawn from the results: 2 (consolidation), 3 and 6 (latencies of `npb_is`
//! without and with CAMA), 4 and 5 (fixed splits), 8 and 10 (CAMA), 11 (mcf by epoch), 12d and 14
//! (the mix), 13 (migration rates), 15 (everything).

use super::experiments::{LOCAL, POLICIES, Pair, Seen, Splits};
use super::platform::PLATFORMS;
use super::workloads::HOMOGENEOUS;
use crate::congestion::EpochLatencies;
use crate::reproduce::claim::Figure;
use isobar_plot::{bars, curves};

/// All figures, in the paper's order.
pub(super) fn figures(seen: &Seen) -> Vec<Figure> {
    let mut figures = vec![figure_2(seen)];
    figures.extend(latencies(seen));
    figures.extend(seen.splits.iter().map(splits));
    figures.push(figure_8(seen));
    figures.push(figure_13(seen));
    figures.extend(figure_15(seen));
    figures
}

fn figure_2(seen: &Seen) -> Figure {
    let names: Vec<_> = seen.consolidation.iter().map(|(name, _)| (*name).to_owned()).collect();
    let values = seen.consolidation.iter().map(|(_, slower)| Some(*slower)).collect();
    let title = "36 virtual machines on a socket against 18 (CAMM, figure 2)";
    columns("2", title, &names, &[(String::new(), values)], "slower, per cent")
}

/// Latency from node 0 over time, for the base case and the policy, wherever the paper draws it.
fn latencies(seen: &Seen) -> Vec<Figure> {
    let of = |pairs: &[Pair], name: &str| pairs.iter().find(|pair| pair.name == name).cloned();
    let is = of(&seen.cama[0], "npb-is").into_iter().flat_map(|pair| {
        let base = over_time("3", "npb_is without a policy (CAMM, figure 3)", &pair.base.looks);
        [base, over_time("6", "npb_is under CAMA (CAMM, figure 6)", &pair.under.looks)]
    });
    let epochs =
        [("11a", "2", &seen.cama[0]), ("11b", "0.2", &seen.short)].into_iter().filter_map(|(file, epoch, pairs)| {
            let title = format!("mcf under CAMA, epochs of {epoch} s (CAMM, figure {file})");
            Some(over_time(file, &title, &of(pairs, "mcf")?.under.looks))
        });
    let mix = seen.mix.last().into_iter().flat_map(|pair| {
        let base = over_time("12d", "the mix without a policy (CAMM, figure 12d)", &pair.base.looks);
        [base, over_time("12d-capm", "the mix under CAPM, gap * 60 (as CAMM, figure 12d)", &pair.under.looks)]
    });
    is.chain(epochs).chain(mix).collect()
}

/// Maximum number of points of a curve, so that a figure is legible.
const POINTS: usize = 120;

fn over_time(file: &str, title: &str, looks: &[EpochLatencies]) -> Figure {
    let step = looks.len().div_ceil(POINTS).max(1);
    let points =
        |read: fn(&EpochLatencies) -> f64| looks.iter().step_by(step).map(|look| (look.time, read(look))).collect();
    let series = [("local".to_owned(), points(|look| look.local)), ("remote".to_owned(), points(|look| look.remote))];
    let title = format!("Latency from node 0: {title}");
    figure(file, &title, curves(&title, &series, "seconds", "latency, cycles", false))
}

fn splits(of: &Splits) -> Figure {
    let (number, file) = if of.platform.machine == PLATFORMS[0].machine {
        (4, "4".to_owned())
    } else {
        (5, format!("5-{}-nodes", of.nodes))
    };
    let title = format!("Fixed splits over {} nodes, {} (CAMM, figure {number})", of.nodes, of.platform.name);
    let series: Vec<_> = LOCAL
        .iter()
        .enumerate()
        .map(|(split, local)| {
            (format!("{local}/{}", 100 - local), of.gains.iter().map(|gains| Some(gains[split])).collect())
        })
        .collect();
    let names: Vec<_> = HOMOGENEOUS.iter().take(of.gains.len()).map(|name| (*name).to_owned()).collect();
    columns(&file, &title, &names, &series, "improvement, per cent")
}

fn figure_8(seen: &Seen) -> Figure {
    let names: Vec<_> = seen.cama[0].iter().map(|pair| pair.name.clone()).collect();
    let gains = |pairs: &[Pair]| pairs.iter().map(|pair| Some(pair.gain())).collect();
    let series = [
        ("Haswell, 2 s".to_owned(), gains(&seen.cama[0])),
        ("Haswell, 0.2 s".to_owned(), gains(&seen.short)),
        ("Westmere, 2 s".to_owned(), gains(&seen.cama[1])),
    ];
    let title = "CAMA on programs whose memory grows (CAMM, figures 8 to 10)";
    columns("8", title, &names, &series, "improvement, per cent")
}

fn figure_13(seen: &Seen) -> Figure {
    let names: Vec<_> = seen.mix.iter().map(|pair| pair.name.clone()).collect();
    let gains = |pairs: &[Pair]| pairs.iter().map(|pair| Some(pair.gain())).collect();
    let series = [("the mix".to_owned(), gains(&seen.mix)), ("WL-1 of table VII".to_owned(), gains(&seen.heavy))];
    let title = "CAPM by pages an epoch (CAMM, figure 13)";
    columns("13", title, &names, &series, "improvement, per cent")
}

fn figure_15(seen: &Seen) -> Vec<Figure> {
    let one = |(platform, all): (&super::platform::Platform, &Vec<super::experiments::Overall>)| {
        let names: Vec<_> = all.iter().map(|one| one.name.clone()).collect();
        let series: Vec<_> = POLICIES
            .iter()
            .enumerate()
            .map(|(policy, name)| ((*name).to_owned(), all.iter().map(|one| Some(one.gains[policy])).collect()))
            .collect();
        let title = format!("All workloads on {} (CAMM, figure 15)", platform.name);
        columns(&format!("15-{}", platform.machine), &title, &names, &series, "improvement, per cent")
    };
    PLATFORMS.iter().zip(&seen.overall).map(one).collect()
}

fn columns(file: &str, title: &str, names: &[String], series: &[(String, Vec<Option<f64>>)], unit: &str) -> Figure {
    figure(file, title, bars(title, names, series, unit))
}

fn figure(file: &str, title: &str, svg: String) -> Figure {
    Figure::new(&format!("camm-figure-{file}.svg"), title, svg)
}
