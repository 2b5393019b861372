//! Plans which pages are to be moved, from the pages found in the live process and where they are.
//! Pure.

use isobar_linux::actuators::pages::place::PageOn;
use isobar_linux::kernel::huge::Huge;
use isobar_linux::kernel::page_range::PageRange;
use isobar_model::{NodeId, num};
use isobar_pages::{Transfer, Wanted};
use std::collections::BTreeMap;

/// A part of the address space for which the owner has set a memory policy, with that policy.
pub type Owned = (PageRange, String);

/// A page that was found, and where it is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The page, and the node that the mapping names for it.
    pub wanted: Wanted,
    /// Where it goes: the wanted node, or the node that most pages of its huge page are wanted on.
    pub to: Option<NodeId>,
    /// The node where it is; `None` if it is not resident.
    pub now: Option<NodeId>,
    /// Whether a memory policy of the owner keeps it where it is.
    pub owned: bool,
}

/// What is to be moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Every page that was found, ascending.
    pub pages: Vec<Found>,
    /// The pages to be moved: page, from, to.
    pub moves: Vec<(u64, NodeId, NodeId)>,
    /// Number of traced pages that were not found, by structure.
    pub lost: BTreeMap<u32, u64>,
    /// Memory policies that keep pages, with the number of pages.
    pub policies: BTreeMap<String, u64>,
}

impl Found {
    /// Whether the page is where it is to go.
    pub fn in_place(&self, now: Option<NodeId>) -> bool {
        now.is_some() && now == self.to
    }
}

impl Plan {
    /// Plans the moves. `now` has the node of each page that was found, and `nodes` maps the
    /// mapping's numbers to nodes. `huge` and `owned` are ascending.
    pub fn new(found: &Transfer, now: &[Option<NodeId>], nodes: &[NodeId], huge: &[Huge], owned: &[Owned]) -> Self {
        let together = together(&found.wanted, huge);
        let mut plan = Self { lost: found.lost.clone(), ..Self::default() };
        for (wanted, now) in found.wanted.iter().zip(now) {
            let node = first_of(huge, wanted.page).and_then(|first| together.get(&first)).unwrap_or(&wanted.node);
            let to = nodes.get(usize::from(*node)).copied();
            let policy = covering(owned, wanted.page, |owned| owned.0);
            if let Some((_, policy)) = policy {
                *plan.policies.entry(policy.clone()).or_default() += 1;
            }
            let page = Found { wanted: *wanted, to, now: *now, owned: policy.is_some() };
            if let (Some(from), Some(to), false) = (page.now, page.to, page.owned || page.now == page.to) {
                plan.moves.push((wanted.page, from, to));
            }
            plan.pages.push(page);
        }
        plan
    }

    /// The pages to be moved, with the nodes where they are.
    pub fn origins(&self) -> Vec<PageOn> {
        self.moves.iter().map(|(page, from, _)| (*page, *from)).collect()
    }

    /// The pages to be moved, with the nodes where they go.
    pub fn targets(&self) -> Vec<PageOn> {
        self.moves.iter().map(|(page, _, to)| (*page, *to)).collect()
    }

    /// Number of pages to be moved by from-node and to-node.
    pub fn by_nodes(&self) -> BTreeMap<(NodeId, NodeId), u64> {
        let mut sums = BTreeMap::new();
        self.moves.iter().for_each(|(_, from, to)| *sums.entry((*from, *to)).or_default() += 1);
        sums
    }
}

/// For each huge page, the node on which most of its pages are wanted; of equals, the lowest.
fn together(wanted: &[Wanted], huge: &[Huge]) -> BTreeMap<u64, u16> {
    let mut votes: BTreeMap<u64, BTreeMap<u16, u64>> = BTreeMap::new();
    for page in wanted {
        if let Some(first) = first_of(huge, page.page) {
            *votes.entry(first).or_default().entry(page.node).or_default() += 1;
        }
    }
    let most =
        |votes: BTreeMap<u16, u64>| votes.into_iter().max_by_key(|(node, count)| (*count, std::cmp::Reverse(*node)));
    votes.into_iter().filter_map(|(first, votes)| Some((first, most(votes)?.0))).collect()
}

fn first_of(huge: &[Huge], page: u64) -> Option<u64> {
    covering(huge, page, |huge| huge.pages)?.first_of(page)
}

/// Finds the range that contains a page, among ascending ranges.
fn covering<T>(all: &[T], page: u64, range: impl Fn(&T) -> PageRange) -> Option<&T> {
    let next = all.partition_point(|one| range(one).start <= page);
    all.get(next.checked_sub(1)?).filter(|one| range(one).contains(page))
}

/// Number of pages by node, in the order of `nodes`; pages on other nodes are left out.
pub fn on_nodes(nodes: &[NodeId], pages: impl Iterator<Item = Option<NodeId>>) -> Vec<u64> {
    let mut sums = vec![0; nodes.len()];
    for node in pages.flatten() {
        if let Some(sum) = nodes.iter().position(|one| *one == node).and_then(|at| sums.get_mut(at)) {
            *sum += 1;
        }
    }
    sums
}

/// Converts a length to a number of pages.
pub fn count(length: usize) -> u64 {
    u64::from(num::narrow(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(pages: &[(u64, u16)]) -> Transfer {
        let wanted = pages.iter().map(|(page, node)| Wanted { page: *page, node: *node, structure: 0 });
        Transfer { wanted: wanted.collect(), lost: [(1, 4)].into() }
    }

    const NODES: [NodeId; 2] = [NodeId(0), NodeId(5)];

    #[test]
    fn what_is_elsewhere_moves_and_what_its_owner_placed_stays() {
        let found = transfer(&[(10, 1), (11, 0), (12, 1), (20, 1)]);
        let now = [Some(NodeId(0)), Some(NodeId(0)), None, Some(NodeId(0))];
        let owned = [(PageRange { start: 20, end: 30 }, "bind:0".to_owned())];
        let plan = Plan::new(&found, &now, &NODES, &[], &owned);
        assert_eq!(plan.moves, [(10, NodeId(0), NodeId(5))]);
        assert_eq!((plan.origins(), plan.targets()), (vec![(10, NodeId(0))], vec![(10, NodeId(5))]));
        assert_eq!((plan.policies.get("bind:0"), plan.lost.get(&1)), (Some(&1), Some(&4)));
        assert_eq!(plan.by_nodes(), [((NodeId(0), NodeId(5)), 1)].into());
        let forced = Plan::new(&found, &now, &NODES, &[], &[]);
        assert_eq!(forced.moves.len(), 2);
    }

    #[test]
    fn the_pages_of_a_huge_page_go_together_where_most_are_wanted() {
        let huge = [Huge { pages: PageRange { start: 0, end: 20 }, each: 4 }];
        // Of pages 4 to 7, three are wanted on node 5. Of pages 8 and 9, one is wanted on each
        // node, so the lower node wins. Page 30 is in no huge page.
        let found = transfer(&[(4, 1), (5, 1), (6, 0), (7, 1), (8, 1), (9, 0), (30, 1)]);
        let plan = Plan::new(&found, &[Some(NodeId(0)); 7], &NODES, &huge, &[]);
        let to: Vec<u32> = plan.pages.iter().filter_map(|page| page.to).map(|node| node.0).collect();
        assert_eq!(to, [5, 5, 5, 5, 0, 0, 5]);
    }

    #[test]
    fn pages_are_counted_on_the_nodes_that_are_used() {
        let pages = [Some(NodeId(5)), None, Some(NodeId(5)), Some(NodeId(0)), Some(NodeId(3))];
        assert_eq!(on_nodes(&NODES, pages.into_iter()), [1, 2]);
    }
}
