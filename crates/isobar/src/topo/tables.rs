//! The tables below the boxes: distances, what the firmware reports about memory, and what resctrl
//! offers.

use super::page::paragraph;
use crate::text::{aligned, plural, width};
use isobar_model::text::ranges;
use isobar_model::topology::AccessClass;
use isobar_model::{Bandwidth, Bytes, Nanoseconds, Topology, num};

/// Distances from the CPUs of a node (row) to the memory of a node (column). A table wider than the
/// page continues below; a machine with one node has none.
pub(super) fn distances(machine: &Topology, columns: usize) -> Vec<String> {
    if machine.nodes().len() < 2 {
        return Vec::new();
    }
    let Some(table) = machine.distances() else { return vec!["Distances: not given by the kernel".to_owned()] };
    let ids: Vec<String> = table.nodes().iter().map(ToString::to_string).collect();
    let rows: Vec<Vec<String>> =
        table.rows().map(|row| row.iter().flatten().map(ToString::to_string).collect()).collect();
    let cell = rows.iter().flatten().chain(&ids).map(String::len).max().unwrap_or(1) + 2;
    let head = ids.iter().map(String::len).max().unwrap_or(1) + "  node ".len();
    let fit = (columns.saturating_sub(head) / cell).max(1);
    let title = "Distances (row: node of the CPU; column: node of the memory; 10 is local)";
    let mut lines = paragraph(title, columns, 2);
    for start in (0..ids.len()).step_by(fit) {
        let end = (start + fit).min(ids.len());
        let print =
            |cells: &[String]| cells[start..end].iter().map(|text| format!("{text:>cell$}")).collect::<String>();
        lines.push(format!("{:head$}{}", "", print(&ids)));
        lines.extend(rows.iter().zip(&ids).map(|(row, id)| format!("{:head$}{}", format!("  node {id}"), print(row))));
    }
    lines
}

/// The columns for an access class, in the order of [`access_row`].
const ACCESS: [&str; 7] =
    ["memory of", "seen from", "class", "read latency", "write latency", "read bandwidth", "write bandwidth"];

/// HMAT figures, one line for each memory node and class of initiators; in words if the page is
/// narrow.
pub(super) fn access_classes(machine: &Topology, columns: usize) -> Vec<String> {
    let classes = machine.access_classes();
    if classes.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![ACCESS.map(str::to_owned).to_vec()];
    rows.extend(classes.iter().map(access_row));
    let mut lines = vec!["Memory as the firmware rates it (HMAT)".to_owned()];
    let table: Vec<String> = aligned(&rows, &[0, 1]).iter().map(|line| format!("  {line}")).collect();
    if table.iter().all(|line| width(line) <= columns) {
        lines.extend(table);
    } else {
        lines.extend(rows[1..].iter().flat_map(|row| paragraph(&in_words(row), columns, 4)));
    }
    lines
}

/// `memory of node 1 seen from node 0: class 1, read latency 90 ns, ...`
fn in_words(row: &[String]) -> String {
    let said = |(head, text): (&&str, &String)| format!("{head} {text}");
    let place: Vec<String> = ACCESS.iter().zip(row).take(2).map(said).collect();
    let known = ACCESS.iter().zip(row).skip(2).filter(|(_, text)| *text != "-");
    format!("  {}: {}", place.join(" "), known.map(said).collect::<Vec<_>>().join(", "))
}

fn access_row(class: &AccessClass) -> Vec<String> {
    let from = match class.initiators.as_slice() {
        [] => "-".to_owned(),
        [one] => format!("node {one}"),
        many => format!("nodes {}", ranges(many.iter().map(|node| node.0))),
    };
    let latency = |value: Option<Nanoseconds>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let rate = |value: Option<Bandwidth>| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{}/s", Bytes(num::round(value.0)).human()))
    };
    vec![
        format!("node {}", class.memory),
        from,
        class.class.to_string(),
        latency(class.read_latency),
        latency(class.write_latency),
        rate(class.read_bandwidth),
        rate(class.write_bandwidth),
    ]
}

/// What a class of service of resctrl can be given.
pub(super) fn allocation(machine: &Topology, columns: usize) -> Vec<String> {
    let Some(limits) = machine.allocation() else { return Vec::new() };
    let ways = plural(limits.cbm_mask.count_ones(), "way");
    let classes = if limits.num_closids == 1 { "class" } else { "classes" };
    let mut lines = vec![
        format!("Way allocation (resctrl {})", limits.resource),
        format!(
            "  {ways} (mask {:#x}), at least {} in a mask; {} {classes} of service",
            limits.cbm_mask, limits.min_cbm_bits, limits.num_closids
        ),
    ];
    if limits.shareable_bits != 0 {
        lines.push(format!("  ways that other agents may use too: {:#x}", limits.shareable_bits));
    }
    lines.extend(limits.bandwidth.map(|shares| {
        let (least, step) = (shares.least_percent, shares.step_percent);
        format!("  shares of memory bandwidth from {least} to 100 % in steps of {step}")
    }));
    lines.extend(limits.num_rmids.map(|number| format!("  {}", plural(number, "monitoring id"))));
    lines.iter().flat_map(|line| paragraph(line, columns, 4)).collect()
}
