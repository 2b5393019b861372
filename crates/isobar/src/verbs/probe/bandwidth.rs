//! `isobar probe --bandwidth`: measures how much nodes can stream, and derives weights from that.

use super::{json, table};
use crate::machines::probe::{Bandwidths, free_by_node, measure_bandwidth, weights};
use crate::text::json_line;
use isobar_model::{NodeMap, Topology};
use serde_json::json;
use std::io::Write;

/// The folder in which the kernel takes weights (6.9 and later).
const FOLDER: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

/// Measures every pair of nodes and prints the result.
pub fn run(machine: &Topology, as_json: bool, stop: &dyn Fn() -> bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let found = measure_bandwidth(machine, &free_by_node(machine), stop);
    if stop() {
        anyhow::bail!("asked to stop before every pair was measured");
    }
    let weights = weights(&found.read);
    if as_json {
        writeln!(out, "{}", json_line(&document(&found, &weights)))?;
    } else {
        writeln!(out, "{}", lines(&found, &weights).join("\n"))?;
    }
    Ok(())
}

fn document(found: &Bandwidths, weights: &NodeMap<u8>) -> serde_json::Value {
    json!({
        "nodes": found.read.nodes(),
        "read_bandwidth": json::matrix(&found.read),
        "weights": found.read.nodes().iter().map(|node| weights.get(*node)).collect::<Vec<_>>(),
        "not_measured": found.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn lines(found: &Bandwidths, weights: &NodeMap<u8>) -> Vec<String> {
    let mut lines = vec![
        "Read bandwidth in GB/s, all CPUs of a node (row) streaming from the memory of a node (column)".to_owned(),
    ];
    lines.extend(table::matrix(&found.read, |from, to| Some(format!("{:.1}", found.read.get(from, to)? / 1e9))));
    lines.extend(found.problems.iter().map(|why| format!("Not measured: {why}")));
    let each: Vec<String> = weights.iter().map(|(node, weight)| format!("node {node}: {weight}")).collect();
    lines.push(format!("Weights for weighted interleave that follow from this: {}", each.join(", ")));
    if weights.len() < 2 {
        lines.push("There is no second node to interleave with: nothing needs to be set.".to_owned());
        return lines;
    }
    lines.push("To set them, as root, on Linux 6.9 or later, until the next boot:".to_owned());
    lines.extend(weights.iter().map(|(node, weight)| format!("  echo {weight} > {FOLDER}/node{node}")));
    lines.push(format!(
        "From Linux 6.16 on this turns off the kernel's own weights; `echo Y > {FOLDER}/auto` brings them back."
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::{NodeId, NodeMatrix};

    #[test]
    fn weights_come_with_the_commands_that_set_them() {
        let nodes = vec![NodeId(0), NodeId(2)];
        let read = NodeMatrix::from_cells(nodes, vec![vec![Some(30e9), Some(10e9)], vec![None, None]]).unwrap();
        let found = Bandwidths { read, problems: Vec::new() };
        let weights = weights(&found.read);
        let said = lines(&found, &weights).join("\n");
        assert!(said.contains("node 0: 3, node 2: 1") && said.contains("echo 3 > /sys"), "{said}");
        assert!(said.contains("weighted_interleave/node2"), "{said}");
        let document = document(&found, &weights);
        assert_eq!(document["weights"], json!([3, 1]));
        assert_eq!(document["read_bandwidth"], json!([[30e9, 10e9], [null, null]]));
    }
}
