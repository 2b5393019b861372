//! Draws one box for each node, side by side if they fit: memory, the LLCs that its CPUs use, and
//! those CPUs.

use super::cpus::{self, Notation};
use super::page::{paragraph, wrap};
use crate::text::{padded, plural, width};
use isobar_model::topology::{Llc, Node};
use isobar_model::{Bytes, CpuSet, LlcId, NodeId, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// If a node has more LLCs than this and all are alike, several share a line.
const LLCS_BY_LINE: usize = 8;

/// The longest list of CPUs that may share a line with others, in characters.
const SHORT: usize = 40;

/// The characters that a box adds to the width of its text: two lines and two spaces.
const FRAME: usize = 4;

/// Columns between two boxes in a row.
const GAP: usize = 1;

/// CPUs are listed beside their LLC if at least this many columns are left for them, otherwise
/// below it.
const BESIDE: usize = 24;

struct Panel {
    title: String,
    lines: Vec<String>,
    notations: Vec<Notation>,
}

/// The CPUs of one place that use the same LLC, or none.
struct Row<'a> {
    llc: Option<&'a Llc>,
    cpus: CpuSet,
    notation: Notation,
    words: Vec<String>,
}

/// The boxes of all nodes and of the CPUs without a node, and a legend for the notation of SMT
/// siblings.
pub(super) fn nodes(machine: &Topology, columns: usize) -> Vec<String> {
    let most = columns - FRAME;
    let mut panels: Vec<Panel> = Vec::new();
    for node in machine.nodes() {
        let cpus = machine.cpus_of_node(node.id).cloned().unwrap_or_default();
        panels.push(panel(machine, format!("node {} · {}", node.id, memory(node)), Some(node.id), &cpus, most));
    }
    let homeless: CpuSet = machine.cpus().iter().filter(|cpu| cpu.node.is_none()).map(|cpu| cpu.id).collect();
    if !homeless.is_empty() {
        panels.push(panel(machine, "no node".to_owned(), None, &homeless, most));
    }
    let notations: BTreeSet<Notation> = panels.iter().flat_map(|panel| panel.notations.iter().copied()).collect();
    let mut lines = arrange(&panels, columns);
    lines.extend(notations.into_iter().filter_map(cpus::legend).flat_map(|legend| paragraph(legend, columns, 2)));
    lines
}

/// A node's memory in words.
pub(super) fn memory(node: &Node) -> String {
    match node.memory {
        Some(Bytes(0)) => "no memory".to_owned(),
        Some(bytes) => bytes.human(),
        None => "memory unknown".to_owned(),
    }
}

/// One box, whose lines have at most `most` columns.
fn panel(machine: &Topology, title: String, node: Option<NodeId>, cpus: &CpuSet, most: usize) -> Panel {
    let rows = by_llc(machine, cpus);
    let lines = if rows.is_empty() {
        vec!["memory only, no CPUs".to_owned()]
    } else if rows.len() > LLCS_BY_LINE && alike(machine, &rows, most) {
        together(&rows, most)
    } else {
        one_by_one(machine, node, &rows, most)
    };
    Panel { title, lines, notations: rows.iter().map(|row| row.notation).collect() }
}

/// LLCs ascending, then the CPUs that have none.
fn by_llc<'a>(machine: &'a Topology, cpus: &CpuSet) -> Vec<Row<'a>> {
    let mut groups: BTreeMap<(bool, Option<LlcId>), CpuSet> = BTreeMap::new();
    for cpu in cpus.iter() {
        let llc = machine.llc_of(cpu);
        groups.entry((llc.is_none(), llc)).or_default().insert(cpu);
    }
    let row = |((_, id), cpus): ((bool, Option<LlcId>), CpuSet)| {
        let (notation, words) = cpus::words(machine, &cpus);
        Row { llc: id.and_then(|id| machine.llc(id)), cpus, notation, words }
    };
    groups.into_iter().map(row).collect()
}

/// Whether all rows are LLCs of one kind, each within one node and with short lists of CPUs.
fn alike(machine: &Topology, rows: &[Row<'_>], most: usize) -> bool {
    let kinds = rows.iter().map(|row| {
        // The CPUs stand beside the number of the LLC, which has at most ten digits.
        let short = row.words.join(" ").len() <= SHORT.min(most - 14);
        let whole = row.llc.filter(|llc| short && machine.cpus_of_llc(llc.id) == Some(&row.cpus));
        whole.map(|llc| (llc.level, llc.size, llc.ways))
    });
    let kinds: Option<Vec<_>> = kinds.collect();
    kinds.is_some_and(|kinds| kinds.windows(2).all(|pair| pair[0] == pair[1]))
}

fn together(rows: &[Row<'_>], most: usize) -> Vec<String> {
    let kind = rows.iter().find_map(|row| row.llc.map(kind)).unwrap_or_default();
    let word = |row: &Row<'_>| row.llc.map(|llc| format!("{}: {} ", llc.id, row.words.join(" ")));
    let words: Vec<String> = rows.iter().filter_map(word).collect();
    let mut lines = paragraph(&format!("{} LLCs, each {kind}; their CPUs:", rows.len()), most, 2);
    lines.extend(wrap(&words, most - 2, most - 2).into_iter().map(|line| format!("  {line}")));
    lines
}

fn one_by_one(machine: &Topology, node: Option<NodeId>, rows: &[Row<'_>], most: usize) -> Vec<String> {
    let labels: Vec<String> = rows.iter().map(|row| label(row.llc)).collect();
    let left = labels.iter().map(|label| width(label)).max().unwrap_or(0);
    let beside = most.checked_sub(left + 2).filter(|room| *room >= BESIDE);
    let mut lines = Vec::new();
    for (label, row) in labels.iter().zip(rows) {
        let mut words = vec![if row.cpus.len() == 1 { "CPU".to_owned() } else { "CPUs".to_owned() }];
        words.extend(row.words.iter().cloned());
        words.extend(row.llc.iter().flat_map(|llc| elsewhere(machine, llc, node)));
        match beside {
            Some(room) => lines.extend(besides(label, left, &words, room)),
            None => lines.extend(below(label, &words, most)),
        }
    }
    lines
}

/// Words after a label. Further lines are aligned with the CPUs on the first.
fn besides(label: &str, left: usize, words: &[String], room: usize) -> Vec<String> {
    const INDENT: usize = "CPUs ".len();
    let lines = wrap(words, room, room - INDENT).into_iter().enumerate();
    let line = |(number, text): (usize, String)| match number {
        0 => format!("{}  {text}", padded(label, left, true)),
        _ => format!("{}  {text}", " ".repeat(left + INDENT)),
    };
    lines.map(line).collect()
}

/// Words below a label.
fn below(label: &str, words: &[String], most: usize) -> Vec<String> {
    let mut lines = paragraph(label, most, 2);
    lines.extend(wrap(words, most - 2, most - 4).into_iter().enumerate().map(|(number, text)| {
        let indent = if number == 0 { 2 } else { 4 };
        format!("{}{text}", " ".repeat(indent))
    }));
    lines
}

fn label(llc: Option<&Llc>) -> String {
    llc.map_or_else(|| "no LLC".to_owned(), |llc| format!("LLC {} · {}", llc.id, kind(llc)))
}

fn kind(llc: &Llc) -> String {
    let mut parts = vec![format!("L{}", llc.level)];
    parts.extend(llc.size.map(Bytes::human));
    parts.extend(llc.ways.map(|ways| plural(ways.0, "way")));
    parts.join(" · ")
}

/// The other nodes in which an LLC is used, as words between which a line may break.
fn elsewhere(machine: &Topology, llc: &Llc, node: Option<NodeId>) -> Vec<String> {
    let others = machine.nodes_of_llc(llc.id).into_iter().filter(|other| Some(*other) != node);
    let others: Vec<String> = others.map(|other| other.to_string()).collect();
    let plural = if others.len() == 1 { "" } else { "s" };
    let mut places = Vec::new();
    if !others.is_empty() {
        places.push(format!("node{plural} {}", others.join(", ")));
    }
    let sharers = machine.cpus_of_llc(llc.id).into_iter().flat_map(CpuSet::iter);
    if node.is_some() && sharers.filter(|cpu| machine.node_of(*cpu).is_none()).count() > 0 {
        places.push("CPUs of no node".to_owned());
    }
    if places.is_empty() {
        return Vec::new();
    }
    format!("(shared with {})", places.join(" and ")).split(' ').map(str::to_owned).collect()
}

/// Boxes of equal width, as many side by side as fit.
fn arrange(panels: &[Panel], columns: usize) -> Vec<String> {
    let natural = |panel: &Panel| {
        let lines = panel.lines.iter().map(|line| width(line));
        lines.max().unwrap_or(0).max(width(&panel.title) + 2)
    };
    let inner = panels.iter().map(natural).max().unwrap_or(0).min(columns - FRAME);
    let beside = ((columns + GAP) / (inner + FRAME + GAP)).max(1);
    let mut lines = Vec::new();
    for row in panels.chunks(beside) {
        let height = row.iter().map(|panel| panel.lines.len()).max().unwrap_or(0);
        let drawn: Vec<Vec<String>> = row.iter().map(|panel| frame(panel, inner, height)).collect();
        for number in 0..height + 2 {
            let cells: Vec<&str> = drawn.iter().map(|panel| panel[number].as_str()).collect();
            lines.push(cells.join(&" ".repeat(GAP)));
        }
    }
    lines
}

fn frame(panel: &Panel, inner: usize, height: usize) -> Vec<String> {
    let rest = "─".repeat((inner + 1).saturating_sub(width(&panel.title) + 2));
    let mut lines = vec![format!("┌─ {} {rest}┐", panel.title)];
    for number in 0..height {
        let text = panel.lines.get(number).map_or("", String::as_str);
        lines.push(format!("│ {} │", padded(text, inner, true)));
    }
    lines.push(format!("└{}┘", "─".repeat(inner + 2)));
    lines
}
