//! Which node each thread runs on.

use crate::error::PagesError;

/// If all counts are below this, their sum over all threads does not overflow.
const SMALL: u64 = 1 << 48;

/// The node of each thread. Nodes are numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homes {
    nodes: usize,
    of_thread: Vec<u16>,
    /// Runs of neighbouring threads on the same node: how many threads, and the node. Most maps
    /// have few runs.
    runs: Vec<(usize, u16)>,
}

impl Homes {
    /// From the node of each thread, by thread number.
    ///
    /// # Errors
    /// A node that does not exist; no nodes, or too many.
    pub fn new(nodes: usize, of_thread: &[usize]) -> Result<Self, PagesError> {
        if !(1..=usize::from(u16::MAX)).contains(&nodes) {
            return Err(PagesError::Count("nodes"));
        }
        let home = |(thread, node): (usize, &usize)| {
            u16::try_from(*node).ok().filter(|_| *node < nodes).ok_or(PagesError::Node { thread, node: *node, nodes })
        };
        let of_thread: Vec<u16> = of_thread.iter().enumerate().map(home).collect::<Result<_, _>>()?;
        let runs = of_thread.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).collect();
        Ok(Self { nodes, of_thread, runs })
    }

    /// Neighbouring threads on the same node, and the same number of threads on each node (the
    /// paper's compact mapping). If there are more nodes than threads, some nodes have no thread.
    ///
    /// # Errors
    /// No nodes, or too many.
    pub fn compact(nodes: usize, threads: usize) -> Result<Self, PagesError> {
        let each = threads.div_ceil(nodes.max(1)).max(1);
        let of_thread: Vec<usize> = (0..threads).map(|thread| thread / each).collect();
        Self::new(nodes, &of_thread)
    }

    /// The number of nodes.
    #[must_use]
    pub const fn nodes(&self) -> usize {
        self.nodes
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.of_thread.len()
    }

    /// The node of each thread.
    #[must_use]
    pub fn of_thread(&self) -> &[u16] {
        &self.of_thread
    }

    /// Sums the accesses of the threads by their nodes.
    pub(crate) fn sum(&self, by_thread: &[u64], by_node: &mut [u64]) {
        by_node.fill(0);
        let bits = by_thread.iter().fold(0, |bits, count| bits | count);
        if bits < SMALL && by_thread.len() == self.of_thread.len() {
            let mut rest = by_thread;
            for (threads, node) in &self.runs {
                let (run, behind) = rest.split_at(*threads);
                by_node[usize::from(*node)] += run.iter().sum::<u64>();
                rest = behind;
            }
            return;
        }
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
    fn accesses_of_threads_are_those_of_their_nodes_and_saturate() {
        let homes = Homes::new(3, &[0, 2, 2, 0, 1]).unwrap();
        let sum = |by_thread: [u64; 5]| {
            let mut by_node = [7; 3];
            homes.sum(&by_thread, &mut by_node);
            by_node
        };
        assert_eq!(sum([1, 2, 3, 4, 5]), [5, 5, 5]);
        assert_eq!(sum([1, u64::MAX, 3, 4, SMALL]), [5, SMALL, u64::MAX]);
    }

    #[test]
    fn neighbours_share_a_node() {
        let compact = |nodes, threads| Homes::compact(nodes, threads).unwrap().of_thread().to_vec();
        assert_eq!(compact(4, 4), [0, 1, 2, 3]);
        assert_eq!(compact(2, 5), [0, 0, 0, 1, 1]);
        assert_eq!(compact(8, 2), [0, 1]);
        let message = Homes::new(2, &[0, 2]).unwrap_err().to_string();
        assert_eq!(message, "thread 1 is on node 2, but there are 2 nodes, numbered from 0");
        assert_eq!(Homes::compact(0, 4).unwrap_err(), PagesError::Count("nodes"));
    }
}
