//! Which node each thread runs on.

use crate::error::PagesError;

/// The node of each thread. Nodes are numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homes {
    nodes: usize,
    of_thread: Vec<u16>,
}

impl Homes {
    /// A node for each thread, by its number.
    ///
    /// # Errors
    /// A node that does not exist; none, or too many.
    pub fn new(nodes: usize, of_thread: &[usize]) -> Result<Self, PagesError> {
        if !(1..=usize::from(u16::MAX)).contains(&nodes) {
            return Err(PagesError::Count("nodes"));
        }
        let home = |(thread, node): (usize, &usize)| {
            u16::try_from(*node).ok().filter(|_| *node < nodes).ok_or(PagesError::Node { thread, node: *node, nodes })
        };
        Ok(Self { nodes, of_thread: of_thread.iter().enumerate().map(home).collect::<Result<_, _>>()? })
    }

    /// Neighbouring threads on the same node, as many on each as on any other (the paper's compact
    /// mapping). With more nodes than threads some nodes have none.
    ///
    /// # Errors
    /// No nodes, or too many.
    pub fn compact(nodes: usize, threads: usize) -> Result<Self, PagesError> {
        let each = threads.div_ceil(nodes.max(1)).max(1);
        let of_thread: Vec<usize> = (0..threads).map(|thread| thread / each).collect();
        Self::new(nodes, &of_thread)
    }

    /// How many nodes.
    #[must_use]
    pub const fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.of_thread.len()
    }

    /// The node of each thread.
    #[must_use]
    pub fn of_thread(&self) -> &[u16] {
        &self.of_thread
    }

    /// Sums the accesses of threads by their nodes.
    pub(crate) fn sum(&self, by_thread: &[u64], by_node: &mut [u64]) {
        by_node.fill(0);
        for (count, node) in by_thread.iter().zip(&self.of_thread) {
            let sum = &mut by_node[usize::from(*node)];
            *sum = sum.saturating_add(*count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_node() {
        let compact = |nodes, threads| Homes::compact(nodes, threads).unwrap().of_thread().to_vec();
        assert_eq!(compact(4, 4), [0, 1, 2, 3]);
        assert_eq!(compact(2, 5), [0, 0, 0, 1, 1]);
        assert_eq!(compact(8, 2), [0, 1]);
        let told = Homes::new(2, &[0, 2]).unwrap_err().to_string();
        assert_eq!(told, "thread 1 is on node 2, and there are 2, from 0");
        assert_eq!(Homes::compact(0, 4).unwrap_err(), PagesError::Count("nodes"));
    }
}
