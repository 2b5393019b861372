//! Shows a machine to a person in a terminal, and as JSON.
//!
//! It lays out text in the columns that it is given, and never takes more. It does not know where a
//! machine came from, and fills no gaps: a value that is not known is left out or shown as `-`.

mod boxes;
mod cpus;
mod page;
mod tables;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_width;

use crate::text::plural;
use isobar_model::wire::machine_to_doc;
use isobar_model::{Bytes, Topology};
use std::collections::BTreeSet;

/// The minimum width of a drawing, in columns.
const LEAST: usize = 40;

/// The machine as boxes and tables: nodes with memory, LLCs and CPUs; distances; firmware figures;
/// resctrl limits. No line is wider than `columns`; a smaller number than 40 counts as 40.
#[must_use]
pub fn draw(machine: &Topology, columns: usize) -> String {
    let columns = columns.max(LEAST);
    let sections = [
        page::paragraph(&summary(machine), columns, 2),
        no_caches(machine, columns),
        boxes::nodes(machine, columns),
        tables::distances(machine, columns),
        tables::access_classes(machine, columns),
        tables::allocation(machine, columns),
    ];
    let drawn: Vec<String> =
        sections.iter().filter(|section| !section.is_empty()).map(|section| section.join("\n")).collect();
    drawn.join("\n\n") + "\n"
}

/// The machine as a JSON document.
#[must_use]
pub fn json(machine: &Topology) -> serde_json::Value {
    // The document contains only lists, numbers and strings, which always serialise.
    serde_json::to_value(machine_to_doc(machine, None)).unwrap_or_default()
}

fn summary(machine: &Topology) -> String {
    let cpus = machine.cpus();
    let cores = cpus.iter().map(|cpu| cpu.core).collect::<BTreeSet<_>>().len();
    let mut parts = vec![plural(machine.nodes().len(), "node"), plural(machine.llcs().len(), "LLC")];
    let on = if cores == cpus.len() { "no SMT".to_owned() } else { format!("on {}", plural(cores, "core")) };
    parts.push(format!("{} ({on})", plural(cpus.len(), "CPU")));
    let memory: Option<Vec<u64>> = machine.nodes().iter().map(|node| node.memory.map(|bytes| bytes.0)).collect();
    parts.extend(memory.map(|memory| format!("{} of memory", Bytes(memory.iter().sum()).human())));
    parts.join(", ")
}

/// Explains what is assumed of a machine whose firmware does not describe the caches that CPUs
/// share.
fn no_caches(machine: &Topology, columns: usize) -> Vec<String> {
    let said = match machine.llcs().iter().map(|llc| llc.level).max() {
        None => "Firmware describes no last-level cache: the CPUs of a node are taken to share one.",
        Some(1) => "Firmware describes caches of level 1 only: which caches CPUs share is unknown.",
        Some(_) => return Vec::new(),
    };
    page::paragraph(said, columns, 0)
}
