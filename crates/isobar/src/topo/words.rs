//! Words that boxes and tables share. Knows no layout.

use isobar_model::Bytes;
use isobar_model::topology::Node;

/// A node's memory in words.
pub fn memory(node: &Node) -> String {
    match node.memory {
        Some(Bytes(0)) => "no memory".to_owned(),
        Some(bytes) => bytes.human(),
        None => "memory not told".to_owned(),
    }
}

/// `1 node`, `2 nodes`.
pub fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
