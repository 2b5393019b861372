//! Where the kernel had placed the pages of a traced run: its last answer for each page.

use crate::trace::Placed;
use crate::usage::Page;
use std::collections::BTreeMap;

/// Where the kernel had placed the pages of a traced run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPlacement {
    /// Nodes of the machine on which the program ran: one more than the highest node number.
    pub nodes: u32,
    /// The node of each page of the usage; `None` if the kernel was not asked in time, or the page
    /// had no memory of its own.
    pub node_of: Vec<Option<u16>>,
}

/// The last answers so far.
#[derive(Debug, Default)]
pub(super) struct Last {
    nodes: Option<u32>,
    node_of: BTreeMap<u64, u16>,
}

impl Last {
    /// Adds answers of the kernel.
    pub(super) fn add(&mut self, placed: Placed) {
        self.nodes = self.nodes.max(Some(placed.nodes));
        self.node_of.extend(placed.pages);
    }

    /// The last answer for each of these pages; `None` if the kernel was never asked.
    pub(super) fn of(&self, pages: &[Page]) -> Option<KernelPlacement> {
        let node_of = |page: &Page| self.node_of.get(&page.number).copied();
        self.nodes.map(|nodes| KernelPlacement { nodes, node_of: pages.iter().map(node_of).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_a_page_holds_and_of_some_there_is_none() {
        let pages = [7, 3, 9].map(|number| Page { number, first: 0 });
        let mut last = Last::default();
        assert_eq!(last.of(&pages), None);
        last.add(Placed { slice: 0, nodes: 2, pages: vec![(3, 0), (7, 1), (8, 1)] });
        last.add(Placed { slice: 4, nodes: 2, pages: vec![(3, 1)] });
        assert_eq!(last.of(&pages), Some(KernelPlacement { nodes: 2, node_of: vec![Some(1), Some(1), None] }));
    }
}
