//! One box a node, side by side where they fit: memory, the LLCs that its CPUs use, and those CPUs.

use super::cpus::{self, Notation};
use super::{WIDTH, memory};
use isobar_model::topology::Llc;
use isobar_model::{CpuId, CpuSet, LlcId, NodeId, Topology};
use std::collections::BTreeMap;

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
}

/// The boxes of all nodes, of the CPUs without a node, and what the notation of SMT siblings means.
pub(super) fn nodes(machine: &Topology) -> Vec<String> {
    let mut notations = Vec::new();
    let mut panels: Vec<Panel> = Vec::new();
    for node in machine.nodes() {
        let cpus = machine.cpus_of_node(node.id).cloned().unwrap_or_default();
        let title = format!("node {} · {}", node.id, memory(node));
        panels.push(panel(machine, title, Some(node.id), &cpus, &mut notations));
    }
    let homeless: CpuSet = machine.cpus().iter().filter(|cpu| cpu.node.is_none()).map(|cpu| cpu.id).collect();
    if !homeless.is_empty() {
        panels.push(panel(machine, "no node".to_owned(), None, &homeless, &mut notations));
    }
    notations.sort_unstable();
    notations.dedup();
    let mut lines = arrange(&panels);
    lines.extend(notations.into_iter().filter_map(cpus::legend).map(str::to_owned));
    lines
}

fn panel(
    machine: &Topology,
    title: String,
    node: Option<NodeId>,
    cpus: &CpuSet,
    notations: &mut Vec<Notation>,
) -> Panel {
    let mut rows: Vec<(Option<&Llc>, CpuSet)> = by_llc(machine, cpus);
    let short = rows.iter().all(|(_, cpus)| cpus::words(machine, cpus).1.join(" ").len() <= SHORT);
    let many = rows.len() > LLCS_BY_LINE && short && alike(&rows, machine);
    let lines = if cpus.is_empty() {
        vec!["memory only, no CPUs".to_owned()]
    } else if many {
        together(machine, &rows, notations)
    } else {
        // LLCs first, then CPUs without one.
        rows.sort_by_key(|(llc, _)| (llc.is_none(), llc.map(|llc| llc.id)));
        one_by_one(machine, node, &rows, notations)
    };
    Panel { title, lines }
}

fn by_llc<'a>(machine: &'a Topology, cpus: &CpuSet) -> Vec<(Option<&'a Llc>, CpuSet)> {
    let mut groups: BTreeMap<Option<LlcId>, Vec<CpuId>> = BTreeMap::new();
    for cpu in cpus.iter() {
        groups.entry(machine.llc_of(cpu)).or_default().push(cpu);
    }
    let llc = |id: Option<LlcId>| id.and_then(|id| machine.llc(id));
    groups.into_iter().map(|(id, cpus)| (llc(id), cpus.into_iter().collect())).collect()
}

/// Whether all are LLCs of one kind, each inside one node.
fn alike(rows: &[(Option<&Llc>, CpuSet)], machine: &Topology) -> bool {
    let kinds = rows.iter().map(|(llc, cpus)| {
        let whole = llc.filter(|llc| machine.cpus_of_llc(llc.id) == Some(cpus));
        whole.map(|llc| (llc.level, llc.size, llc.ways))
    });
    let kinds: Option<Vec<_>> = kinds.collect();
    kinds.is_some_and(|kinds| kinds.windows(2).all(|pair| pair[0] == pair[1]))
}

fn together(machine: &Topology, rows: &[(Option<&Llc>, CpuSet)], notations: &mut Vec<Notation>) -> Vec<String> {
    let kind = rows.iter().find_map(|(llc, _)| llc.map(kind)).unwrap_or_default();
    let mut words = Vec::new();
    for (llc, cpus) in rows {
        let (notation, inside) = cpus::words(machine, cpus);
        notations.push(notation);
        words.extend(llc.map(|llc| format!("{}: {} ", llc.id, inside.join(" "))));
    }
    let mut lines = vec![format!("{} LLCs, each {kind}; their CPUs:", rows.len())];
    lines.extend(wrap(&words, WIDTH - FRAME - 2).into_iter().map(|line| format!("  {line}")));
    lines
}

fn one_by_one(
    machine: &Topology,
    node: Option<NodeId>,
    rows: &[(Option<&Llc>, CpuSet)],
    notations: &mut Vec<Notation>,
) -> Vec<String> {
    let labels: Vec<String> = rows.iter().map(|(llc, _)| label(*llc)).collect();
    let left = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (label, (llc, cpus)) in labels.iter().zip(rows) {
        let (notation, mut words) = cpus::words(machine, cpus);
        notations.push(notation);
        words.insert(0, if cpus.len() == 1 { "CPU".to_owned() } else { "CPUs".to_owned() });
        words.extend(llc.iter().flat_map(|llc| elsewhere(machine, llc, node)));
        for (number, text) in wrap(&words, WIDTH - FRAME - left - 2).into_iter().enumerate() {
            let label = if number == 0 { label.as_str() } else { "" };
            let indent = if number == 0 { "" } else { "     " };
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
    parts.extend(llc.size.map(isobar_model::Bytes::human));
    parts.extend(llc.ways.map(|ways| super::counted(isobar_model::num::index(ways.0), "way")));
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
