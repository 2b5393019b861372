//! The contents of the table's cells. What was not measured is a dash.

use crate::canvas::{TextRole, heat};
use crate::columns::Column;
use crate::rows::Row;
use isobar_model::{Bytes, num};
use isobar_view::words::{digits, gain, name};
use isobar_view::{Class, Harm, LastAction, View};

/// Number of columns in which pages are drawn.
const PAGES: usize = 8;
/// Fraction of the CPU time on a node from which on the node is listed.
const RUNS: f64 = 0.02;
/// Slowdowns that count as a warning, and as too much.
const WARM: f64 = 1.05;
const HOT: f64 = 1.3;

/// The text of a cell, and its ink.
pub fn cell(column: Column, row: &Row<'_>, view: &View) -> (String, TextRole) {
    let program = row.program;
    let plain = |text: String| (text, TextRole::Plain);
    match column {
        Column::Pid => plain(row.thread.map_or(program.pid.0, |thread| thread.tid.0).to_string()),
        Column::Name => plain(called(row)),
        Column::Cpu => figure(row.cpus(), |cpus| format!("{:.1}", cpus * 100.0)),
        Column::Threads => plain(if row.thread.is_some() { String::new() } else { program.threads.len().to_string() }),
        Column::Class => class(row.thread.map_or(program.class, |thread| thread.class)),
        Column::Ipc => figure(row.thread.map_or(program.ipc, |thread| thread.ipc), digits),
        Column::Mpki => figure(row.mpki(), digits),
        Column::Bandwidth => figure(row.bandwidth(), |rate| digits(rate / 1e9)),
        Column::Runs => runs(row, view),
        Column::Pages => pages(row, view),
        Column::Far => {
            let ink =
                program.remote.map_or(TextRole::Dim, |far| if far < 0.02 { TextRole::Plain } else { heat(far * 2.0) });
            (program.remote.map_or_else(dash, |far| format!("{:.0}", far * 100.0)), ink)
        }
        Column::Memory => figure(program.pages.as_ref().map(|pages| pages.iter().sum::<u64>()), memory),
        Column::Slowdown => slow(program.slowdown),
        Column::Contention => slow(program.contention),
        Column::Distance => slow(program.distance),
        Column::HarmedBy => harmed(&program.harmed_by, program.slowdown.is_some()),
        Column::Harms => harmed(&program.harms, program.slowdown.is_some()),
        Column::Last => plain(program.last.as_ref().map_or_else(String::new, |last| told(last, view))),
        Column::Predicted => gained(program.last.as_ref().and_then(|last| last.predicted)),
        Column::Measured => gained(program.last.as_ref().and_then(|last| last.measured).and_then(|one| one.gain)),
        Column::Why => plain(program.last.as_ref().map_or_else(String::new, |last| last.reason.clone())),
    }
}

fn dash() -> String {
    "-".to_owned()
}

fn figure<T>(known: Option<T>, text: impl Fn(T) -> String) -> (String, TextRole) {
    known.map_or((dash(), TextRole::Dim), |known| (text(known), TextRole::Plain))
}

fn memory(pages: u64) -> String {
    let bytes = num::float(Bytes(pages.saturating_mul(4096)).0);
    if bytes >= 0.995e9 * 1.073 {
        format!("{}G", digits(bytes / 1_073_741_824.0))
    } else {
        format!("{:.0}M", bytes / 1_048_576.0)
    }
}

/// `redis`, or `redis x8` for eight processes, or `qemu (VM)`.
fn called(row: &Row<'_>) -> String {
    let program = row.program;
    let mut text = name(&program.name);
    if program.processes > 1 && row.thread.is_none() {
        text.push_str(&format!(" x{}", program.processes));
    }
    if program.is_vm {
        text.push_str(" (VM)");
    }
    text
}

fn class(class: Option<Class>) -> (String, TextRole) {
    figure(class, |class| {
        match class {
            Class::Turtle => "turtle",
            Class::Devil => "devil",
            Class::SuperDevil => "s-devil",
            Class::LightSharing => "light",
            Class::Streaming => "streaming",
            Class::Sensitive => "sensitive",
        }
        .to_owned()
    })
}

fn slow(slowdown: Option<f64>) -> (String, TextRole) {
    let Some(slowdown) = slowdown else { return (dash(), TextRole::Dim) };
    let ink = if slowdown >= HOT {
        TextRole::Hot
    } else if slowdown >= WARM {
        TextRole::Warm
    } else {
        TextRole::Plain
    };
    (isobar_view::words::times(slowdown), ink)
}

fn gained(part: Option<f64>) -> (String, TextRole) {
    let Some(part) = part else { return (dash(), TextRole::Dim) };
    let ink = if part < -0.01 { TextRole::Hot } else { TextRole::Good };
    (gain(part).replace(' ', ""), ink)
}

fn harmed(list: &[Harm], known: bool) -> (String, TextRole) {
    if list.is_empty() {
        return if known { (String::new(), TextRole::Plain) } else { (dash(), TextRole::Dim) };
    }
    let one = |harm: &Harm| format!("{} {:.0}%", name(&harm.name), harm.gain * 100.0);
    (list.iter().map(one).collect::<Vec<_>>().join(", "), TextRole::Plain)
}

/// `12s to CPU 4 (node 1)`.
fn told(last: &LastAction, view: &View) -> String {
    let ago = (view.time_seconds - last.time_seconds).max(0.0);
    let dry = if last.done { "" } else { "(not done) " };
    format!("{ago:.0}s {dry}{}", last.words)
}

/// The character of a node: its number, in base 36.
pub fn letter(number: u32) -> char {
    char::from_digit(number % 36, 36).unwrap_or('?')
}

fn runs(row: &Row<'_>, view: &View) -> (String, TextRole) {
    if let Some(thread) = row.thread {
        return figure(thread.node, |node| format!("{node}"));
    }
    figure(row.program.runs_on.as_ref(), |on| {
        let nodes = view.nodes.iter().zip(on).filter(|(_, part)| **part >= RUNS);
        nodes.map(|(node, _)| letter(node.id.0)).collect()
    })
}

/// Where pages are: for each node, one character per eighth of the pages.
fn pages(row: &Row<'_>, view: &View) -> (String, TextRole) {
    let Some(pages) = row.program.pages.as_ref().filter(|pages| pages.iter().any(|count| *count > 0)) else {
        return (dash(), TextRole::Dim);
    };
    let parts = eighths(pages);
    let drawn = view.nodes.iter().zip(parts).map(|(node, count)| letter(node.id.0).to_string().repeat(count));
    let ink = row.program.remote.map_or(TextRole::Plain, |far| {
        if far >= 0.33 {
            TextRole::Hot
        } else if far >= 0.1 {
            TextRole::Warm
        } else {
            TextRole::Good
        }
    });
    (drawn.collect(), ink)
}

/// Counts as eighths, by the largest remainders.
fn eighths(counts: &[u64]) -> Vec<usize> {
    let all: u64 = counts.iter().sum::<u64>().max(1);
    let exact = |count: &u64| num::float(*count) * num::float_len(PAGES) / num::float(all);
    let mut parts: Vec<usize> = counts.iter().map(|count| num::split(exact(count)).0).collect();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by(|a, b| num::split(exact(&counts[*b])).1.total_cmp(&num::split(exact(&counts[*a])).1).then(a.cmp(b)));
    let left = PAGES.saturating_sub(parts.iter().sum());
    order.iter().take(left).for_each(|at| parts[*at] += 1);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::{NodeId, Pid};
    use isobar_view::{NodeView, ProgramView};

    #[test]
    fn pages_are_drawn_by_node() {
        assert_eq!((eighths(&[3, 1]), eighths(&[1, 1, 1]), eighths(&[0, 7])), (vec![6, 2], vec![3, 3, 2], vec![0, 8]));
        let nodes = [0, 12].map(|id| NodeView { id: NodeId(id), ..NodeView::default() }).to_vec();
        let view = View { nodes, ..View::default() };
        let program = ProgramView {
            pages: Some(vec![300, 100]),
            runs_on: Some(vec![0.0, 1.0]),
            remote: Some(0.75),
            ..ProgramView::default()
        };
        let row = Row { program: &program, thread: None };
        assert_eq!(cell(Column::Pages, &row, &view), ("000000cc".to_owned(), TextRole::Hot));
        assert_eq!(cell(Column::Runs, &row, &view).0, "c");
        assert_eq!(cell(Column::Memory, &row, &view).0, "2M");
        assert_eq!(cell(Column::Far, &row, &view).0, "75");
    }

    #[test]
    fn what_is_not_measured_is_a_dash() {
        let program = ProgramView { pid: Pid(1), name: "a".into(), processes: 1, ..ProgramView::default() };
        let (row, view) = (Row { program: &program, thread: None }, View::default());
        for column in
            [Column::Cpu, Column::Ipc, Column::Mpki, Column::Slowdown, Column::Pages, Column::Class, Column::HarmedBy]
        {
            assert_eq!(cell(column, &row, &view), ("-".to_owned(), TextRole::Dim), "{column:?}");
        }
    }

    #[test]
    fn harm_is_named_with_its_part() {
        let harm = |name: &str, gain| Harm { pid: Pid(2), name: name.into(), gain };
        let told = harmed(&[harm("lbm", 0.213), harm("evil\n", 0.04)], true).0;
        assert_eq!(told, "lbm 21%, evil\\n 4%");
    }
}
