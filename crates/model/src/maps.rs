//! One value per node, and one value for each pair of nodes. Node ids may have gaps, so neither is
//! indexed by hand.

use crate::ids::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One value for each of some nodes, in ascending order of node id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeMap<T>(BTreeMap<NodeId, T>);

impl<T> Default for NodeMap<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> NodeMap<T> {
    /// The value of a node, if it has one.
    #[must_use]
    pub fn get(&self, node: NodeId) -> Option<&T> {
        self.0.get(&node)
    }

    /// Sets the value of a node and returns its previous value.
    pub fn insert(&mut self, node: NodeId, value: T) -> Option<T> {
        self.0.insert(node, value)
    }

    /// The value of a node; if there is none, the default value is inserted.
    pub fn entry(&mut self, node: NodeId) -> &mut T
    where
        T: Default,
    {
        self.0.entry(node).or_default()
    }

    /// Nodes and values, ascending by node.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (NodeId, &T)> {
        self.0.iter().map(|(&node, value)| (node, value))
    }

    /// The values, ascending by node.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    /// The number of nodes with a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no node has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> FromIterator<(NodeId, T)> for NodeMap<T> {
    fn from_iter<I: IntoIterator<Item = (NodeId, T)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// One value for each ordered pair of nodes: row = the node of the CPU, column = the node of the
/// memory. A pair without a value was not measured. A node without CPUs has an empty row, and a
/// node without memory an empty column.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeMatrix<T> {
    nodes: Vec<NodeId>,
    cells: Vec<Option<T>>,
}

/// A matrix over no nodes.
impl<T> Default for NodeMatrix<T> {
    fn default() -> Self {
        Self { nodes: Vec::new(), cells: Vec::new() }
    }
}

impl<T> NodeMatrix<T> {
    /// A matrix over `nodes` (ascending, distinct) from its rows; `None` unless there is a row for
    /// every node, with a column for every node.
    #[must_use]
    pub fn from_rows(nodes: Vec<NodeId>, rows: Vec<Vec<T>>) -> Option<Self> {
        Self::from_cells(nodes, rows.into_iter().map(|row| row.into_iter().map(Some).collect()).collect())
    }

    /// The same, from rows in which a pair may have no value.
    #[must_use]
    pub fn from_cells(nodes: Vec<NodeId>, rows: Vec<Vec<Option<T>>>) -> Option<Self> {
        let ascending = nodes.windows(2).all(|pair| pair[0] < pair[1]);
        let square = rows.len() == nodes.len() && rows.iter().all(|row| row.len() == nodes.len());
        (ascending && square).then(|| Self { nodes, cells: rows.into_iter().flatten().collect() })
    }

    /// The value from a node to a node; `None` if there is none.
    #[must_use]
    pub fn get(&self, from: NodeId, to: NodeId) -> Option<&T> {
        let row = self.nodes.binary_search(&from).ok()?;
        let column = self.nodes.binary_search(&to).ok()?;
        self.cells.get(row * self.nodes.len() + column)?.as_ref()
    }

    /// The matrix with each value changed; a value may be dropped.
    #[must_use]
    pub fn filter_map<U>(&self, change: impl Fn(&T) -> Option<U>) -> NodeMatrix<U> {
        let cells = self.cells.iter().map(|cell| cell.as_ref().and_then(&change)).collect();
        NodeMatrix { nodes: self.nodes.clone(), cells }
    }

    /// The values that exist, row by row.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.cells.iter().flatten()
    }

    /// The nodes, ascending, which is the order of rows and columns.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// The rows, ascending by node; a pair without a value is `None`.
    pub fn rows(&self) -> impl Iterator<Item = &[Option<T>]> {
        self.cells.chunks(self.nodes.len().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_find_their_way_over_gaps() {
        let nodes = vec![NodeId(0), NodeId(8)];
        let matrix = NodeMatrix::from_rows(nodes.clone(), vec![vec![10, 40], vec![41, 10]]).unwrap();
        assert_eq!(matrix.get(NodeId(8), NodeId(0)), Some(&41));
        assert_eq!(matrix.get(NodeId(1), NodeId(0)), None);
        assert_eq!(matrix.rows().count(), 2);
        assert_eq!(NodeMatrix::from_rows(nodes, vec![vec![10, 40]]), None);
    }

    #[test]
    fn a_node_of_memory_only_has_an_empty_row() {
        let nodes = vec![NodeId(0), NodeId(2)];
        let matrix = NodeMatrix::from_cells(nodes, vec![vec![Some(10), Some(40)], vec![None, None]]).unwrap();
        assert_eq!(matrix.get(NodeId(0), NodeId(2)), Some(&40));
        assert_eq!(matrix.get(NodeId(2), NodeId(0)), None);
        assert_eq!(matrix.rows().last(), Some([None, None].as_slice()));
        assert_eq!(matrix.filter_map(|value| (*value < 20).then_some(value * 2)).values().collect::<Vec<_>>(), [&20]);
    }
}
