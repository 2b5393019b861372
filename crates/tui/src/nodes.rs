//! Draws the nodes, one row each, with the matrix of latencies beside them if there is room.

use crate::canvas::{Canvas, TextRole, bar, heat, sparkline};
use crate::text::{left, right};
use isobar_model::{NodeId, num};
use isobar_view::words::digits;
use isobar_view::{NodeView, View};

/// Width of the table with the shortest bars, and width of a cell of the matrix, in columns.
const TABLE: u16 = 80;
const CELL: u16 = 6;
/// The ratio of a latency to the idle latency from which on it is a warning, and from which on it
/// is congestion.
const WARM: f64 = 1.15;
const HOT: f64 = 1.3;

/// Draws at most `most` rows from `y` on; returns the row after them.
pub fn draw(view: &View, canvas: &mut Canvas<'_>, y: u16, most: u16) -> u16 {
    if view.nodes.is_empty() || most < 2 {
        return y;
    }
    let count = u16::try_from(view.nodes.len()).unwrap_or(u16::MAX);
    let matrix = 8 + CELL * count;
    let has_matrix = !view.latency.is_empty() && count > 1 && canvas.area.width >= TABLE + 12 + matrix;
    let table = canvas.area.width - if has_matrix { matrix + 2 } else { 0 };
    let wide = usize::from(table.saturating_sub(TABLE).min(60) / 6);
    heading(canvas, y, wide);
    let shown = shown(view, usize::from(most - 1));
    for (row, node) in (y + 1..).zip(&shown) {
        one(node, canvas, row, wide);
    }
    if has_matrix {
        draw_matrix(view, &shown, canvas, y, table + 2);
    }
    let rows = u16::try_from(shown.len()).unwrap_or(0);
    y + 1 + rows
}

/// The nodes that there is room for: those with the most to show, in their usual order.
fn shown(view: &View, most: usize) -> Vec<&NodeView> {
    let mut order: Vec<&NodeView> = view.nodes.iter().collect();
    let said = |node: &NodeView| node.load().unwrap_or(0.0).max(node.busy.unwrap_or(0.0));
    order.sort_by(|a, b| said(b).total_cmp(&said(a)).then(a.id.cmp(&b.id)));
    order.truncate(most);
    order.sort_by_key(|node| node.id);
    order
}

fn heading(canvas: &mut Canvas<'_>, y: u16, wide: usize) {
    let heads =
        [("NODE", 4), ("CPU", 12 + wide), ("MEMORY USED", 17 + wide), ("CONTROLLER GB/s", 22 + wide), ("LATENCY", 18)];
    let line: Vec<String> = heads.iter().map(|(head, width)| left(head, *width)).collect();
    canvas.put(0, y, &line.join(" "), TextRole::Head);
}

fn one(node: &NodeView, canvas: &mut Canvas<'_>, y: u16, wide: usize) {
    let mut x = canvas.put(0, y, &right(&node.id.to_string(), 4), TextRole::Plain) + 1;
    let busy = if node.cpus == 0 { left("no CPU", 12 + wide) } else { gauge(7 + wide, node.busy, &percent(node.busy)) };
    x = canvas.put(x, y, &busy, node.busy.map_or(TextRole::Dim, |_| TextRole::Plain)) + 1;
    let used = used(node);
    x = canvas.put(
        x,
        y,
        &gauge(5 + wide, used, &memory(node)),
        used.map_or(TextRole::Dim, |part| if part > 0.95 { TextRole::Warm } else { TextRole::Plain }),
    ) + 1;
    let load = node.load();
    x = canvas.put(x, y, &gauge(6 + wide, load, &traffic(node)), load.map_or(TextRole::Dim, heat)) + 1;
    latency(node, canvas, x, y, 8 + wide);
}

/// A bar followed by a text.
fn gauge(columns: usize, part: Option<f64>, text: &str) -> String {
    format!("{}{text}", bar(columns, part))
}

fn percent(part: Option<f64>) -> String {
    part.map_or_else(|| "    -".to_owned(), |part| format!("{:4.0}%", part * 100.0))
}

fn used(node: &NodeView) -> Option<f64> {
    let all = node.memory_bytes.filter(|all| *all > 0)?;
    Some(num::float(all.saturating_sub(node.free_bytes?)) / num::float(all))
}

/// `12.1/32.0G`.
fn memory(node: &NodeView) -> String {
    let gib = |bytes: u64| digits(num::float(bytes) / 1_073_741_824.0);
    let used = node.memory_bytes.zip(node.free_bytes).map(|(all, free)| gib(all.saturating_sub(free)));
    let text = format!("{}/{}G", used.unwrap_or_else(|| "-".into()), node.memory_bytes.map_or_else(|| "-".into(), gib));
    right(&text, 12)
}

/// `5.10/10.8 47%`; an estimated capacity is marked.
fn traffic(node: &NodeView) -> String {
    let gb = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| digits(rate / 1e9));
    let about = if node.max_bandwidth.is_some() && !node.max_is_told { "~" } else { "" };
    right(&format!("{}/{about}{}", gb(node.bandwidth), gb(node.max_bandwidth)), 11) + &percent(node.load())
}

fn latency(node: &NodeView, canvas: &mut Canvas<'_>, x: u16, y: u16, spark: usize) {
    let Some(now) = node.latency_ns else {
        canvas.put(x, y, "     - ", TextRole::Dim);
        return;
    };
    let idle = node.idle_latency_ns.filter(|idle| *idle > 0.0);
    let x = canvas.put(x, y, &format!("{now:4.0}ns "), idle.map_or(TextRole::Plain, |idle| ink(now / idle)));
    let known = node.latency_history.iter().flatten();
    let low = idle.unwrap_or_else(|| known.clone().copied().fold(f64::INFINITY, f64::min));
    let high = known.copied().fold(1.5 * low, f64::max);
    canvas.put(x, y, &sparkline(&node.latency_history, spark, (low, high)), TextRole::Plain);
}

fn ink(ratio: f64) -> TextRole {
    if ratio >= HOT {
        TextRole::Hot
    } else if ratio >= WARM {
        TextRole::Warm
    } else {
        TextRole::Good
    }
}

/// Rows are the nodes of CPUs, columns are those of memory; congested pairs are marked.
fn draw_matrix(view: &View, rows: &[&NodeView], canvas: &mut Canvas<'_>, y: u16, x: u16) {
    let heads: String = view.nodes.iter().map(|node| right(&format!("to {}", node.id), usize::from(CELL))).collect();
    canvas.put(x, y, &format!("ns from {heads}").replacen("ns from ", "ns from", 1), TextRole::Head);
    for (y, from) in (y + 1..).zip(rows) {
        let mut x = canvas.put(x, y, &right(&from.id.to_string(), 7), TextRole::Plain);
        for to in &view.nodes {
            let (text, ink) = pair(view, from.id, to.id);
            x = canvas.put(x, y, &right(&text, usize::from(CELL)), ink);
        }
    }
}

fn pair(view: &View, from: NodeId, to: NodeId) -> (String, TextRole) {
    let Some(pair) = view.latency.iter().find(|pair| pair.from == from && pair.to == to) else {
        return ("-".to_owned(), TextRole::Dim);
    };
    let mark = if pair.congested { "!" } else { "" };
    let ratio = pair.idle_latency_ns.filter(|idle| *idle > 0.0).map(|idle| pair.latency_ns / idle);
    let ink = if pair.congested { TextRole::Hot } else { ratio.map_or(TextRole::Plain, ink) };
    (format!("{mark}{:.0}", pair.latency_ns), ink)
}
