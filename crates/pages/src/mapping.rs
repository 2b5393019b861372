//! Mappings of pages to nodes (section 5.1 of the paper).

use crate::order::by_accesses;
use crate::seen::{PageSeen, Seen};
use isobar_model::num;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Default of the least exclusivity of a page that `mixed` places by locality.
pub const MIN_EXCLUSIVITY: f64 = 0.90;

/// A rule that assigns every page a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mapping {
    /// The node that touched the page first: what Linux does by itself.
    FirstTouch,
    /// A random node; the same seed gives the same nodes.
    Random {
        /// of the random numbers
        seed: u64,
    },
    /// The nodes in turn, in the order of the first accesses.
    RoundRobin,
    /// By page number.
    Interleave,
    /// The node with the most accesses to the page.
    Locality,
    /// The node with the fewest accesses to the page: the worst case.
    Remote,
    /// The node with the most accesses to the page among the nodes whose load is below their share.
    Balanced,
    /// Exclusive pages as `Locality`, all others as `Interleave` (equation 10).
    Mixed {
        /// a page with more exclusivity than this is exclusive
        min_excl: f64,
    },
}

impl Mapping {
    /// All mappings, with defaults for what can be set.
    pub const ALL: [Self; 8] = [
        Self::FirstTouch,
        Self::Random { seed: 1 },
        Self::RoundRobin,
        Self::Interleave,
        Self::Locality,
        Self::Remote,
        Self::Balanced,
        Self::Mixed { min_excl: MIN_EXCLUSIVITY },
    ];

    /// The mapping's name on command lines and in JSON.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::FirstTouch => "first-touch",
            Self::Random { .. } => "random",
            Self::RoundRobin => "round-robin",
            Self::Interleave => "interleave",
            Self::Locality => "locality",
            Self::Remote => "remote",
            Self::Balanced => "balanced",
            Self::Mixed { .. } => "mixed",
        }
    }

    /// A node for every page, in the order of the usage.
    #[must_use]
    pub fn place(&self, seen: &Seen<'_>) -> Placement {
        let nodes = node(seen.nodes() as u64);
        let pages = seen.pages().iter();
        let numbers = seen.usage().pages().iter().map(|page| node(page.number % u64::from(nodes)));
        Placement(match *self {
            Self::FirstTouch => pages.map(|page| page.first).collect(),
            Self::Random { seed } => {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                pages.map(|_| node(u64::from(random.next_u32()) % u64::from(nodes))).collect()
            }
            Self::RoundRobin => (0..nodes).cycle().take(pages.len()).collect(),
            Self::Interleave => numbers.collect(),
            Self::Locality => pages.map(|page| page.best).collect(),
            Self::Remote => pages.map(|page| page.worst).collect(),
            Self::Balanced => balanced(seen),
            Self::Mixed { min_excl } => {
                let exclusive = |page: &PageSeen| num::float(page.most) > min_excl * num::float(page.accesses);
                let one = |(page, number): (&PageSeen, u16)| if exclusive(page) { page.best } else { number };
                pages.zip(numbers).map(one).collect()
            }
        })
    }
}

/// The node of every page, in the order of the usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement(Vec<u16>);

impl Placement {
    /// An observed placement, in the order of the usage.
    #[must_use]
    pub const fn observed(nodes: Vec<u16>) -> Self {
        Self(nodes)
    }

    /// The node of every page.
    #[must_use]
    pub fn nodes(&self) -> &[u16] {
        &self.0
    }
}

/// Converts a node number, which always fits: there are at most 65,535 nodes.
#[expect(clippy::cast_possible_truncation, reason = "there are at most 65,535 nodes")]
const fn node(number: u64) -> u16 {
    number as u16
}

/// Takes pages by accesses, descending; ties in the order of their numbers. Each page goes to the
/// node with the most accesses to it among those whose load is below total/N; ties go to the less
/// loaded node, then to the lower number.
fn balanced(seen: &Seen<'_>) -> Vec<u16> {
    let pages = seen.pages();
    let (count, mut loads) = (seen.nodes() as u128, vec![0_u128; seen.nodes()]);
    let (mut by_node, mut placed) = (vec![0; seen.nodes()], vec![0; pages.len()]);
    let below = |load: u128| load * count < seen.accesses();
    for at in by_accesses(seen).into_iter().map(num::index) {
        let page = &pages[at];
        // Usually the best node is below its share, and the row need not be read again. If a page
        // has several best nodes, only the lowest is known, and another may be less loaded.
        let alone = u128::from(page.most) * 2 > u128::from(page.accesses);
        placed[at] = if alone && below(loads[usize::from(page.best)]) {
            page.best
        } else {
            seen.by_node(at, &mut by_node);
            let room = (0..).zip(&loads).zip(&by_node).filter(|((_, load), _)| below(**load));
            let chosen =
                room.max_by_key(|((node, load), count)| (**count, std::cmp::Reverse(**load), std::cmp::Reverse(*node)));
            // If there are no accesses, no node is below its share.
            chosen.map_or(page.best, |((node, _), _)| node)
        };
        loads[usize::from(placed[at])] += u128::from(page.accesses);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use crate::metrics::Metrics;
    use crate::usage::{Page, Usage};
    use proptest::prelude::*;

    fn usage(first: u32, rows: &[[u64; 4]]) -> Usage {
        let mut usage = Usage::new(4, 4096).unwrap();
        (0..).zip(rows).for_each(|(number, row)| usage.push(Page { number, first }, row).unwrap());
        usage
    }

    /// Table 2 and figure 3 of the paper. Page 3 has exclusivity 1000 / 1050 = 0.952, so `mixed` as
    /// in figure 3 needs a threshold above 0.952, not the 0.95 stated in the paper's text.
    #[test]
    fn the_example_of_table_2() {
        let usage = usage(0, &[[1, 0, 1000, 0], [1, 1000, 0, 0], [1000, 0, 0, 0], [1000, 0, 0, 50]]);
        let homes = Homes::compact(4, 4).unwrap();
        let seen = Seen::new(&usage, &homes).unwrap();
        let place = |mapping: Mapping| mapping.place(&seen).nodes().to_vec();
        assert_eq!(place(Mapping::FirstTouch), [0, 0, 0, 0]);
        assert_eq!(place(Mapping::Interleave), [0, 1, 2, 3]);
        assert_eq!(place(Mapping::RoundRobin), [0, 1, 2, 3]);
        assert_eq!(place(Mapping::Locality), [2, 1, 0, 0]);
        assert_eq!(place(Mapping::Remote), [1, 2, 1, 1]);
        assert_eq!(place(Mapping::Balanced), [2, 1, 3, 0]);
        assert_eq!(place(Mapping::Mixed { min_excl: 0.96 }), [2, 1, 0, 3]);
        assert_eq!(place(Mapping::Mixed { min_excl: 0.95 }), [2, 1, 0, 0]);
        // Locality: 2050 of 4052 accesses on node 0, which is 2.0237 times the mean.
        let local = Metrics::of(&seen, &Mapping::Locality.place(&seen));
        assert_eq!((local.loc_app, local.node_accesses.as_slice()), (Some(100.0), [2050, 1001, 1001, 0].as_slice()));
        assert!((local.b_acc.unwrap() - (2050.0 * 4.0 / 4052.0 - 1.0) * 100.0).abs() < 1e-9);
        let mixed = Metrics::of(&seen, &Mapping::Mixed { min_excl: 0.96 }.place(&seen));
        assert_eq!((mixed.b_pages, mixed.loc_pages), (Some(0.0), Some(75.0)));
    }

    #[test]
    fn of_equal_nodes_balanced_takes_the_less_loaded() {
        // Page 0 makes node 0 heavier; nodes 0 and 1 use page 1 equally.
        let usage = usage(0, &[[8, 0, 0, 0], [3, 3, 0, 0], [0, 0, 9, 9]]);
        let homes = Homes::compact(4, 4).unwrap();
        let seen = Seen::new(&usage, &homes).unwrap();
        assert_eq!(Mapping::Balanced.place(&seen).nodes(), [0, 1, 2]);
    }

    fn usages() -> impl Strategy<Value = Usage> {
        prop::collection::vec((0u64..200, 0u32..6, prop::collection::vec(0u64..1000, 6)), 0..60).prop_map(|rows| {
            let mut usage = Usage::new(6, 4096).unwrap();
            let mut known = std::collections::BTreeSet::new();
            for (number, first, row) in rows.into_iter().filter(|(number, ..)| known.insert(*number)) {
                usage.push(Page { number, first }, &row).unwrap();
            }
            usage
        })
    }

    proptest! {
        #[test]
        fn every_mapping_gives_every_page_one_of_the_nodes(usage in usages(), nodes in 1usize..9) {
            let homes = Homes::compact(nodes, 6).unwrap();
            let seen = Seen::new(&usage, &homes).unwrap();
            let best = Metrics::of(&seen, &Mapping::Locality.place(&seen));
            for mapping in Mapping::ALL {
                let placement = mapping.place(&seen);
                prop_assert_eq!(placement.nodes().len(), usage.pages().len());
                prop_assert!(placement.nodes().iter().all(|node| usize::from(*node) < nodes));
                let found = Metrics::of(&seen, &placement);
                prop_assert_eq!(found.node_accesses.iter().sum::<u128>(), seen.accesses());
                prop_assert!(found.loc_app <= best.loc_app, "{} is more local than locality", mapping.name());
            }
        }

        /// With a threshold of 1 no page is exclusive; below 0, every page that is accessed is. So
        /// the paper's text below equation 10 has the two limits the wrong way round.
        #[test]
        fn mixed_lies_between_interleave_and_locality(usage in usages(), nodes in 1usize..9) {
            let homes = Homes::compact(nodes, 6).unwrap();
            let seen = Seen::new(&usage, &homes).unwrap();
            let place = |mapping: Mapping| mapping.place(&seen);
            prop_assert_eq!(place(Mapping::Mixed { min_excl: 1.0 }), place(Mapping::Interleave));
            let (mixed, local) = (place(Mapping::Mixed { min_excl: 0.0 }), place(Mapping::Locality));
            let pairs = mixed.nodes().iter().zip(local.nodes()).zip(seen.pages());
            prop_assert!(pairs.filter(|(_, page)| page.accesses > 0).all(|((mixed, local), _)| mixed == local));
        }

        /// The node was below its share before its last page came, so it is above its share by at
        /// most the heaviest page.
        #[test]
        fn balanced_overloads_no_node_by_more_than_a_page(usage in usages(), nodes in 1usize..9) {
            let homes = Homes::compact(nodes, 6).unwrap();
            let seen = Seen::new(&usage, &homes).unwrap();
            let found = Metrics::of(&seen, &Mapping::Balanced.place(&seen));
            let heaviest = seen.pages().iter().map(|page| u128::from(page.accesses)).max().unwrap_or(0);
            let most = found.node_accesses.iter().max().copied().unwrap_or(0);
            prop_assert!(most * nodes as u128 <= seen.accesses() + heaviest * nodes as u128);
        }
    }
}
