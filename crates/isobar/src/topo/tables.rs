//! The tables below the boxes: distances, what the firmware says of memory, what resctrl offers.

use super::{WIDTH, counted};
use isobar_model::topology::AccessClass;
use isobar_model::{Bandwidth, Bytes, Nanoseconds, Topology, num};

/// The most initiators of a memory that are named.
const INITIATORS: usize = 3;

/// Distances from the CPUs of a node (row) to the memory of a node (column). A table wider than the page goes on below;
/// a machine of one node has none.
pub(super) fn distances(machine: &Topology) -> Vec<String> {
    if machine.nodes().len() < 2 {
        return Vec::new();
    }
    let Some(table) = machine.distances() else { return vec!["Distances: not told by the kernel".to_owned()] };
    let ids: Vec<String> = table.nodes().iter().map(ToString::to_string).collect();
    let rows: Vec<Vec<String>> = table.rows().map(|row| row.iter().map(ToString::to_string).collect()).collect();
    let cell = rows.iter().flatten().chain(&ids).map(String::len).max().unwrap_or(1) + 2;
    let head = ids.iter().map(String::len).max().unwrap_or(1) + "  node ".len();
    let columns = ((WIDTH - head) / cell).max(1);
    let mut lines = vec!["Distances (row: node of the CPU; column: node of the memory; 10 is local)".to_owned()];
    for start in (0..ids.len()).step_by(columns) {
        let end = (start + columns).min(ids.len());
        let print =
            |cells: &[String]| cells[start..end].iter().map(|text| format!("{text:>cell$}")).collect::<String>();
        lines.push(format!("{:head$}{}", "", print(&ids)));
        lines.extend(rows.iter().zip(&ids).map(|(row, id)| format!("{:head$}{}", format!("  node {id}"), print(row))));
    }
    lines
}

/// HMAT figures, one line for each memory node and class of initiators.
pub(super) fn access_classes(machine: &Topology) -> Vec<String> {
    let classes = machine.access_classes();
    if classes.is_empty() {
        return Vec::new();
    }
    let head =
        ["  memory of", "seen from", "class", "read latency", "write latency", "read bandwidth", "write bandwidth"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(classes.iter().map(access_row));
    let mut lines = vec!["Memory as the firmware rates it (HMAT)".to_owned()];
    lines.extend(aligned(&rows));
    lines
}

fn access_row(class: &AccessClass) -> Vec<String> {
    let initiators: Vec<String> = class.initiators.iter().map(ToString::to_string).collect();
    let from = match initiators.len() {
        0 => "-".to_owned(),
        1..=INITIATORS => format!("node {}", initiators.join(",")),
        many => format!("{many} nodes"),
    };
    let latency = |value: Option<Nanoseconds>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let rate = |value: Option<Bandwidth>| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{}/s", Bytes(num::round(value.0)).human()))
    };
    vec![
        format!("  node {}", class.memory),
        from,
        class.class.to_string(),
        latency(class.read_latency),
        latency(class.write_latency),
        rate(class.read_bandwidth),
        rate(class.write_bandwidth),
    ]
}

/// Columns as wide as their widest cell, the first two to the left, the rest to the right.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(
            |(column, (text, &width))| {
                if column < 2 { format!("{text:width$}") } else { format!("{text:>width$}") }
            },
        );
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// What resctrl lets a class of service have.
pub(super) fn allocation(machine: &Topology) -> Vec<String> {
    let Some(limits) = machine.allocation() else { return Vec::new() };
    let ways = counted(num::index(limits.cbm_mask.count_ones()), "way");
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
    lines.extend(limits.num_rmids.map(|number| format!("  {}", counted(num::index(number), "monitoring id"))));
    lines
}
