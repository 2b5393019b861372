//! One box a node, side by side where they fit: memory, the LLCs that its CPUs use, and those CPUs.

use super::cpus::{self, Notation};
use super::{WIDTH, memory};
use isobar_model::topology::Llc;
use isobar_model::{Bytes, CpuSet, LlcId, NodeId, Topology, num};
use std::collections::{BTreeMap, BTreeSet};

/// More LLCs than this, all alike, are listed with many on a line.
const LLCS_BY_LINE: usize = 8;

/// The longest list of CPUs that shares a line with others, in characters.
const SHORT: usize = 40;

/// The characters that a box adds to its text: two lines and two spaces.
const FRAME: usize = 4;

/// Between two boxes in a row.
const GAP: usize = 1;

struct Panel {
    title: String,
    lines: Vec<String>,
    notations: Vec<Notation>,
}

/// The CPUs of one place that use one LLC, or none.
struct Row<'a> {
    llc: Option<&'a Llc>,
    cpus: CpuSet,
    notation: Notation,
    words: Vec<String>,
}

/// The boxes of all nodes, of the CPUs without a node, and what the notation of SMT siblings means.
pub(super) fn nodes(machine: &Topology) -> Vec<String> {
    let mut panels: Vec<Panel> = Vec::new();
    for node in machine.nodes() {
        let cpus = machine.cpus_of_node(node.id).cloned().unwrap_or_default();
        panels.push(panel(machine, format!("node {} · {}", node.id, memory(node)), Some(node.id), &cpus));
    }
    let homeless: CpuSet = machine.cpus().iter().filter(|cpu| cpu.node.is_none()).map(|cpu| cpu.id).collect();
    if !homeless.is_empty() {
        panels.push(panel(machine, "no node".to_owned(), None, &homeless));
    }
    let notations: BTreeSet<Notation> = panels.iter().flat_map(|panel| panel.notations.iter().copied()).collect();
    let mut lines = arrange(&panels);
    lines.extend(notations.into_iter().filter_map(cpus::legend).map(str::to_owned));
    lines
}

fn panel(machine: &Topology, title: String, node: Option<NodeId>, cpus: &CpuSet) -> Panel {
    let rows = by_llc(machine, cpus);
    let lines = if rows.is_empty() {
        vec!["memory only, no CPUs".to_owned()]
    } else if rows.len() > LLCS_BY_LINE && alike(machine, &rows) {
        together(&rows)
    } else {
        one_by_one(machine, node, &rows)
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

/// Whether all are LLCs of one kind, each inside one node and with few words.
fn alike(machine: &Topology, rows: &[Row<'_>]) -> bool {
    let kinds = rows.iter().map(|row| {
        let short = row.words.join(" ").len() <= SHORT;
        let whole = row.llc.filter(|llc| short && machine.cpus_of_llc(llc.id) == Some(&row.cpus));
        whole.map(|llc| (llc.level, llc.size, llc.ways))
    });
    let kinds: Option<Vec<_>> = kinds.collect();
    kinds.is_some_and(|kinds| kinds.windows(2).all(|pair| pair[0] == pair[1]))
}

fn together(rows: &[Row<'_>]) -> Vec<String> {
    let kind = rows.iter().find_map(|row| row.llc.map(kind)).unwrap_or_default();
    let word = |row: &Row<'_>| row.llc.map(|llc| format!("{}: {} ", llc.id, row.words.join(" ")));
    let words: Vec<String> = rows.iter().filter_map(word).collect();
    let mut lines = vec![format!("{} LLCs, each {kind}; their CPUs:", rows.len())];
    lines.extend(wrap(&words, WIDTH - FRAME - 2).into_iter().map(|line| format!("  {line}")));
    lines
}

fn one_by_one(machine: &Topology, node: Option<NodeId>, rows: &[Row<'_>]) -> Vec<String> {
    let labels: Vec<String> = rows.iter().map(|row| label(row.llc)).collect();
    let left = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (label, row) in labels.iter().zip(rows) {
        let mut words = vec![if row.cpus.len() == 1 { "CPU".to_owned() } else { "CPUs".to_owned() }];
        words.extend(row.words.iter().cloned());
        words.extend(row.llc.iter().flat_map(|llc| elsewhere(machine, llc, node)));
        for (number, text) in wrap(&words, WIDTH - FRAME - left - 2).into_iter().enumerate() {
            let (label, indent) = if number == 0 { (label.as_str(), "") } else { ("", "     ") };
            lines.push(format!("{label:left$}  {indent}{text}"));
        }
    }
    lines
}

fn label(llc: Option<&Llc>) -> String {
    llc.map_or_else(|| "no LLC".to_owned(), |llc| format!("LLC {} · {}", llc.id, kind(llc)))
}

fn kind(llc: &Llc) -> String {
    let mut parts = vec![format!("L{}", llc.level)];
    parts.extend(llc.size.map(Bytes::human));
    parts.extend(llc.ways.map(|ways| super::counted(num::index(ways.0), "way")));
    parts.join(" · ")
}

/// Where else an LLC is used, in words between which a line may break.
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

/// Words in lines of at most `width` characters; a word that is longer has a line of its own.
fn wrap(words: &[String], width: usize) -> Vec<String> {
    // Lines after the first are indented by the caller by up to five characters.
    let width = width - 5;
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Boxes of equal width, as many side by side as fit.
fn arrange(panels: &[Panel]) -> Vec<String> {
    let natural = |panel: &Panel| {
        let lines = panel.lines.iter().map(|line| line.chars().count());
        lines.max().unwrap_or(0).max(panel.title.chars().count() + 2)
    };
    let inner = panels.iter().map(natural).max().unwrap_or(0).min(WIDTH - FRAME);
    let columns = ((WIDTH + GAP) / (inner + FRAME + GAP)).max(1);
    let mut lines = Vec::new();
    for row in panels.chunks(columns) {
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
    let rest = "─".repeat((inner + 1).saturating_sub(panel.title.chars().count() + 2));
    let mut lines = vec![format!("┌─ {} {rest}┐", panel.title)];
    for number in 0..height {
        let text = panel.lines.get(number).map_or("", String::as_str);
        lines.push(format!("│ {text:inner$} │"));
    }
    lines.push(format!("└{}┘", "─".repeat(inner + 2)));
    lines
}
