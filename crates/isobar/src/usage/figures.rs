//! Draws the figures of a report as SVG, each under the name of its file.

use super::ReportDocument;
use isobar_model::num;
use isobar_pages::report::{BARS, Course, PolicyReport, Report};
use isobar_plot::{Grid, Panel, bars, heat, panels, parts};

/// With more nodes than this, a legend would not help.
const NAMED_NODES: usize = 16;

/// Number of labels at the address axis of the heat map.
const ADDRESSES: usize = 9;

/// Every figure for which the report has numbers.
pub fn draw(shown: &ReportDocument<'_>) -> Vec<(&'static str, String)> {
    let (report, name) = (shown.report, shown.name);
    let mut figures = vec![("exclusivity.svg", exclusivity(report, name))];
    if report.nodes > 1 {
        let pages = |policy: &PolicyReport| policy.metrics.node_pages.clone();
        let accesses = |policy: &PolicyReport| policy.metrics.node_accesses.clone();
        figures.extend([
            ("pages-by-node.svg", by_node(report, &title(name, "pages on each node"), "pages, %", pages)),
            (
                "accesses-by-node.svg",
                by_node(report, &title(name, "accesses that each node serves"), "accesses, %", accesses),
            ),
            ("balance.svg", balance(report, name)),
            ("locality.svg", locality(report, name)),
            ("against-first-touch.svg", against_first_touch(report, name)),
        ]);
    }
    if let Some(course) = &report.course {
        figures.extend([("time.svg", time(course, name)), ("heat.svg", heat_map(course, name))]);
    }
    figures
}

fn title(name: &str, what: &str) -> String {
    format!("{}: {what}", crate::text::short(name, 40))
}

fn float(count: u128) -> f64 {
    num::float(u64::try_from(count).unwrap_or(u64::MAX))
}

fn exclusivity(report: &Report, name: &str) -> String {
    let step = 100 / BARS;
    let label = |bar: usize| format!("{}-{}", bar * step, (bar + 1) * step);
    let labels: Vec<String> = (0..report.histogram.len()).map(label).collect();
    let all = float(report.accesses).max(1.0);
    let values = report.histogram.iter().map(|bar| Some(float(*bar) / all * 100.0)).collect();
    let title = title(name, &format!("accesses by the exclusivity of their page (%), {} nodes", report.nodes));
    bars(&title, &labels, &[(String::new(), values)], "accesses, %")
}

fn names(report: &Report) -> Vec<String> {
    report.policies.iter().map(|policy| policy.mapping.name().to_owned()).collect()
}

fn by_node(report: &Report, title: &str, label: &str, of: impl Fn(&PolicyReport) -> Vec<u128>) -> String {
    let columns: Vec<Vec<u128>> = report.policies.iter().map(of).collect();
    let part = |column: &Vec<u128>, node: usize| {
        let all = float(column.iter().sum::<u128>()).max(1.0);
        column.get(node).map_or(0.0, |count| float(*count) / all * 100.0)
    };
    let named = report.nodes <= NAMED_NODES;
    let series: Vec<(String, Vec<f64>)> = (0..report.nodes)
        .map(|node| {
            let name = if named { format!("node {node}") } else { String::new() };
            (name, columns.iter().map(|column| part(column, node)).collect())
        })
        .collect();
    let title = if named { title.to_owned() } else { format!("{title}, node 0 at the bottom") };
    parts(&title, &names(report), &series, label)
}

type Series = (String, Vec<Option<f64>>);

fn series(report: &Report, name: &str, of: impl Fn(&PolicyReport) -> Option<f64>) -> Series {
    (name.to_owned(), report.policies.iter().map(of).collect())
}

fn balance(report: &Report, name: &str) -> String {
    let both = [
        series(report, "of pages (equation 3)", |policy| policy.metrics.b_pages),
        series(report, "of accesses (equation 5)", |policy| policy.metrics.b_acc),
    ];
    let most = report.nodes.saturating_sub(1) * 100;
    let title = title(name, &format!("imbalance of nodes, 0 is even, {most} is all on one"));
    bars(&title, &names(report), &both, "imbalance, %")
}

fn locality(report: &Report, name: &str) -> String {
    let all = [
        series(report, "pages on their best node (equation 8)", |policy| policy.metrics.loc_pages),
        series(report, "accesses to such pages (equation 9)", |policy| policy.metrics.loc_app),
        series(report, "accesses that stay on their node", |policy| policy.remote.map(|remote| 100.0 - remote)),
    ];
    bars(&title(name, "locality of the mappings"), &names(report), &all, "%")
}

fn against_first_touch(report: &Report, name: &str) -> String {
    let both = [
        series(report, "imbalance of accesses (equation 11), less is better", |policy| policy.delta_b_acc),
        series(report, "locality (equation 12), more is better", |policy| policy.delta_loc_app),
    ];
    bars(&title(name, "change against first-touch"), &names(report), &both, "percentage points")
}

fn time(course: &Course, name: &str) -> String {
    let point = |value: &dyn Fn(&isobar_pages::report::Point) -> f64| {
        course.points.iter().map(|point| (point.begin, value(point))).collect()
    };
    let exclusivity = Panel {
        y_label: "exclusivity, %".to_owned(),
        y_range: Some(0.0..104.0),
        points: point(&|point| point.exclusivity.map_or(f64::NAN, |part| part * 100.0)),
        columns: false,
    };
    let migrations = Panel {
        y_label: "pages migrating".to_owned(),
        y_range: None,
        points: point(&|point| num::float(point.migrations)),
        columns: true,
    };
    let each = course.point_seconds * 1000.0;
    let title = title(name, &format!("exclusivity and migrations, one point for each {each} ms"));
    panels(&title, &[exclusivity, migrations], "time of the traced run, s")
}

fn heat_map(course: &Course, name: &str) -> String {
    let heat = &course.heat;
    let labels = heat.rows.len().min(ADDRESSES);
    let row = |label: usize| {
        let row = label * heat.rows.len() / labels.max(1);
        (row, format!("{:#x}", heat.rows[row]))
    };
    let grid = Grid {
        columns: heat.columns.clone(),
        x_end: heat.column_seconds * num::float_len(heat.columns.len()),
        x_label: "time of the traced run, s".to_owned(),
        y_label: "accessed pages by address".to_owned(),
        rows: (0..labels).map(row).collect(),
        key: "accesses".to_owned(),
    };
    heat_titled(name, &grid)
}

fn heat_titled(name: &str, grid: &Grid) -> String {
    heat(&title(name, "which pages are accessed when"), grid)
}
