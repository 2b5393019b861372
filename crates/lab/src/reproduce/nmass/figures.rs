//! The paper's figures, drawn from the results: 3.c (two programs), 4 and 5 (clones), 7
//! (penalties), 9 (misses of the workloads), 10 (maps), 11 and 12 (programs). Figures 1, 2, 6 and 8
//! are drawings.

use super::clones::Split;
use super::profiles::POLICIES;
use super::runs::Run;
use super::seen::Seen;
use super::workloads::{BOTH_ENDS, MAPS};
use crate::reproduce::claim::Figure;
use isobar_plot::{bars, curves};
use isobar_policy::baseline::linux;
use isobar_policy::nmass::{maximum_local, n_mass};

/// All figures, in the paper's order.
pub(super) fn figures(seen: &Seen) -> Vec<Figure> {
    let clones = [figure_3(seen), figure_4(seen), figure_5(seen)];
    let programs = [figure_7(seen), figure_9(seen)];
    let maps = [figure_10_default(seen), figure_10_gain(seen), figure_10_refinement(seen)];
    let each = [by_program(seen, "11", "4-process", 4), by_program(seen, "12", "8-process", 8)];
    clones.into_iter().chain(programs).chain(maps).chain(each).collect()
}

/// The printed bars next to ours.
fn figure_3(seen: &Seen) -> Figure {
    let names: Vec<_> = seen.pair.iter().map(|one| one.mapping.to_owned()).collect();
    let program = |index: usize, name: &str| {
        let printed = seen.pair.iter().map(|one| one.printed[index]).collect();
        let ours = seen.pair.iter().map(|one| Some(one.ours[index])).collect();
        [(format!("{name}, paper"), printed), (format!("{name}, here"), ours)]
    };
    let series = [program(0, "mcf"), program(1, "lbm")].concat();
    columns("3", "Slowdown of mcf and lbm by mapping (N-MASS, figure 3.c)", &names, &series, "slowdown, per cent")
}

fn figure_4(seen: &Seen) -> Figure {
    let points = seen.clones.mappings.iter().map(|one| (one.locality, one.mpki_increase)).collect();
    let title = "Increase in MPKI over locality, four clones of soplex (N-MASS, figure 4)";
    lines("4", title, &[(String::new(), points)], "local accesses, per cent", "MPKI over that alone, per cent")
}

fn figure_5(seen: &Seen) -> Figure {
    let points = |read: fn(&Split) -> Option<f64>| {
        seen.clones.mappings.iter().filter_map(|one| Some((one.locality, 100.0 * (read(one)? - 1.0)))).collect()
    };
    let series = [
        ("local clones".to_owned(), points(|one| one.local_mean)),
        ("remote clones".to_owned(), points(|one| one.remote_mean)),
        ("all".to_owned(), points(|one| Some(one.mean))),
    ];
    let title = "Slowdown over locality, four clones of soplex (N-MASS, figure 5)";
    lines("5", title, &series, "local accesses, per cent", "slowdown, per cent")
}

/// The points and the regression line of section 4.5.
fn figure_7(seen: &Seen) -> Figure {
    let solos = seen.profiles.0.values().filter_map(|solo| Some((solo.mpki, solo.numa_penalty?)));
    let mut points: Vec<_> = solos.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = points.last().map_or(1.0, |last| last.0);
    let line = vec![(0.0, 1.05), (most, 0.015_f64.mul_add(most, 1.05))];
    let series = [("programs of table 2".to_owned(), points), ("1.05 + 0.015 MPKI, as printed".to_owned(), line)];
    let title = "NUMA penalty over MPKI, each program alone (N-MASS, figure 7)";
    lines("7", title, &series, "MPKI", "NUMA penalty")
}

fn figure_9(seen: &Seen) -> Figure {
    let alone = |name: &str| seen.profiles.0.get(name).map_or(0.0, |solo| solo.mpki);
    let total = |run: &Run| run.case.workload.apps.iter().map(|app| alone(&app.program.name)).sum::<f64>();
    let names: Vec<_> = seen.runs.on_one_node().map(|run| run.case.name.to_owned()).collect();
    let values = seen.runs.on_one_node().map(|run| Some(total(run))).collect();
    let title = "Total MPKI of the workloads, programs alone (N-MASS, figure 9)";
    columns("9", title, &names, &[(String::new(), values)], "MPKI")
}

fn figure_10_default(seen: &Seen) -> Figure {
    let value = |run: &Run| run.degradations(linux::NAME).fold(0.0, f64::max);
    let title = "Degradation of the worst program under default (N-MASS, figures 10.a and 10.b)";
    by_map(seen, "10-default", title, value, "slowdown, per cent")
}

fn figure_10_gain(seen: &Seen) -> Figure {
    let title = "Mean improvement of n-mass over default (N-MASS, figures 10.c and 10.d)";
    by_map(seen, "10-gain", title, |run| run.gain(n_mass::NAME), "improvement, per cent")
}

fn figure_10_refinement(seen: &Seen) -> Figure {
    let value = |run: &Run| run.gain(n_mass::NAME) - run.gain(maximum_local::NAME);
    let title = "Mean improvement of n-mass less that of maximum-local (N-MASS, figures 10.e and 10.f)";
    by_map(seen, "10-refinement", title, value, "points")
}

fn by_map(seen: &Seen, file: &str, title: &str, value: impl Fn(&Run) -> f64, unit: &str) -> Figure {
    let series = BOTH_ENDS.map(|name| (name.to_owned(), MAPS.map(|map| seen.runs.one(name, map).map(&value)).to_vec()));
    columns(file, title, &MAPS.map(str::to_owned), &series, unit)
}

/// Figures 11 and 12: improvement of every program of every workload with `processes` processes.
fn by_program(seen: &Seen, number: &str, kind: &str, processes: usize) -> Figure {
    let runs: Vec<_> = seen.runs.on_one_node().filter(|run| run.case.workload.apps.len() == processes).collect();
    let name = |run: &&Run| {
        let of = run.case.name;
        run.apps(linux::NAME).iter().map(|app| format!("{of} {}", app.name)).collect::<Vec<_>>()
    };
    let names: Vec<_> = runs.iter().flat_map(name).collect();
    let values = |policy| runs.iter().flat_map(|run| run.gains(policy)).map(Some).collect();
    let series: Vec<_> = POLICIES.iter().skip(1).map(|policy| ((*policy).to_owned(), values(policy))).collect();
    let title = format!("Improvement over default, {kind} workloads, all memory on node 0 (N-MASS, figure {number})");
    columns(number, &title, &names, &series, "improvement, per cent")
}

fn lines(file: &str, title: &str, series: &[(String, Vec<(f64, f64)>)], x: &str, y: &str) -> Figure {
    figure(file, title, curves(title, series, x, y, false))
}

fn columns(file: &str, title: &str, names: &[String], series: &[(String, Vec<Option<f64>>)], unit: &str) -> Figure {
    figure(file, title, bars(title, names, series, unit))
}

fn figure(file: &str, title: &str, svg: String) -> Figure {
    Figure::new(&format!("nmass-figure-{file}.svg"), title, svg)
}
