//! Figures 6, 7, 11 and 12 and table 1 as bars.

use super::schedulers::{POLICIES, Runs, by_job, by_program, migrations, worst_case};
use super::workloads::Named;
use crate::compare::Comparison;
use crate::reproduce::claim::Figure;
use crate::stats::mean_or_zero;
use isobar_plot::bars;
use isobar_policy::baseline::linux;
use isobar_policy::dino::{di_migrate, dino};

/// All figures.
pub(super) fn figures(runs: &Runs) -> Vec<Figure> {
    let steady = runs.steady.iter().map(|(named, of)| figure_6(named, of));
    steady.chain([figure_7(runs), figure_12(runs), table_1(runs)]).collect()
}

fn figure_6(named: &Named, of: &Comparison) -> Figure {
    let value = |policy: &str| by_program(of, policy).into_iter().map(Some).collect();
    let title = format!("Completion time against the stock scheduler, {} (DINO, figures 6 and 11.a)", named.name);
    gains(&format!("{}.svg", named.file), &title, &programs(of), value)
}

fn figure_7(runs: &Runs) -> Figure {
    let value = |policy: &str| runs.changing.iter().map(|(_, of)| Some(by_job(of, policy))).collect();
    let title = "Completion time against the stock scheduler, SPEC MPI2007 (DINO, figures 7 and 12.a)";
    gains("dino-figure-7.svg", title, &jobs(runs), value)
}

fn figure_12(runs: &Runs) -> Figure {
    let value = |policy: &str| runs.changing.iter().map(|(_, of)| Some(worst_case(of, policy))).collect();
    let title = "Slowest run against the stock scheduler's, SPEC MPI2007 (DINO, figure 12.b)";
    gains("dino-figure-12-worst.svg", title, &jobs(runs), value)
}

/// Table 1, for the first steady workload and the jobs.
fn table_1(runs: &Runs) -> Figure {
    let first = || runs.steady.iter().take(1);
    let categories: Vec<_> = first().flat_map(|(_, of)| programs(of)).chain(jobs(runs)).collect();
    let series = [di_migrate::NAME, dino::NAME].map(|policy| {
        let steady = first().flat_map(|(_, of)| migrations(of, policy));
        let jobs = runs.changing.iter().map(|(_, of)| mean_or_zero(migrations(of, policy)));
        (policy.to_owned(), steady.chain(jobs).map(Some).collect())
    });
    let title = "Memory migrations by the hour and process (DINO, table 1)";
    Figure::new("dino-table-1.svg", title, bars(title, &categories, &series, "migrations an hour"))
}

fn programs(of: &Comparison) -> Vec<String> {
    of.row(linux::NAME).into_iter().flat_map(|row| &row.apps).map(|app| app.name.clone()).collect()
}

fn jobs(runs: &Runs) -> Vec<String> {
    runs.changing.iter().map(|(named, _)| named.name.to_owned()).collect()
}

/// Improvements under the three policies.
fn gains(file: &str, title: &str, categories: &[String], value: impl Fn(&'static str) -> Vec<Option<f64>>) -> Figure {
    let series = POLICIES.map(|policy| (policy.to_owned(), value(policy)));
    Figure::new(file, title, bars(title, categories, &series, "improvement, per cent"))
}
