//! Decides which clusters share a resctrl group.
//!
//! **Problem.** A group is machine-wide: it has one class of service (CLOS), with a mask for every
//! cache domain. Clusters belong to one LLC each, and classes are few (4 to 16).
//!
//! **Approach.** A cluster of one LLC and a cluster of another can share one group, each with the
//! mask of its own domain. So the number of groups needed is that of the clusters of the LLC with
//! the most, not their sum. Existing clusters stay in their slot, because every task that changes
//! its group costs a write.
//!
//! ```text
//! clusters that had a slot keep it
//! every other cluster: the slot of a namesake, else the lowest in use, that its LLC does not use;
//!     else one that was left, else a new one
//! more slots than may be used: keep those with the most threads, put the clusters of the
//!     others into gaps
//! ```
//!
//! *Properties*: no two clusters of an LLC share a slot; at most `limit` slots are used; if the
//! existing slots fit, no cluster changes its slot; fewer slots than the LLC with the most clusters
//! needs are impossible, and that many always suffice.
//!
//! *Limitation*: a thread that runs on another LLC than its cluster's fills the ways of whichever
//! cluster shares its group there (a namesake if there is one, which is of the same kind); if none
//! does, those of the default group. Policies bind threads to the LLC of their cluster, so this is
//! rare.

use super::clusters::{Clusters, Key};
use isobar_model::LlcId;
use std::collections::{BTreeMap, BTreeSet};

/// The index of a group among ours.
pub type Slot = usize;

/// The slot of each cluster.
pub type Slots = BTreeMap<Key, Slot>;

/// An LLC has more clusters than there are free groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// the LLC
    pub llc: LlcId,
    /// its clusters
    pub needed: usize,
}

/// Gives every cluster a slot. `standing` is where they are now, `limit` how many slots may be
/// used.
///
/// # Errors
/// [`TooMany`] if one LLC alone has more clusters than `limit`.
pub fn assign(wanted: &Clusters, standing: &Slots, limit: usize) -> Result<Slots, TooMany> {
    let counted = wanted.count_by_llc();
    if let Some((&llc, &needed)) = counted.iter().find(|(_, count)| **count > limit) {
        return Err(TooMany { llc, needed });
    }
    let mut slots = kept(wanted, standing);
    let left: BTreeSet<Slot> = standing.values().copied().collect();
    for key in wanted.keys() {
        if !slots.contains_key(key) {
            let slot = vacancy(&slots, key, &left);
            slots.insert(key.clone(), slot);
        }
    }
    Ok(compact(wanted, slots, limit))
}

fn kept(wanted: &Clusters, standing: &Slots) -> Slots {
    wanted.keys().filter_map(|key| Some((key.clone(), *standing.get(key)?))).collect()
}

/// The slot for a new cluster: a namesake's, else one in use, else one that was left, else the
/// lowest that was never used.
fn vacancy(slots: &Slots, newcomer: &Key, left: &BTreeSet<Slot>) -> Slot {
    let here = slots.iter().filter(|(key, _)| key.llc == newcomer.llc);
    let taken: BTreeSet<Slot> = here.map(|(_, slot)| *slot).collect();
    let used: BTreeSet<Slot> = slots.values().copied().collect();
    let namesakes: BTreeSet<Slot> =
        slots.iter().filter(|(key, _)| key.name == newcomer.name).map(|(_, slot)| *slot).collect();
    let known = namesakes.iter().chain(&used).chain(left).find(|slot| !taken.contains(slot)).copied();
    known.or_else(|| (0..).find(|slot| !used.contains(slot) && !left.contains(slot))).unwrap_or_default()
}

/// Empties the slots with the fewest threads until `limit` are left. Every LLC has at most `limit`
/// clusters, so each finds a gap.
fn compact(wanted: &Clusters, mut slots: Slots, limit: usize) -> Slots {
    let mut weights = BTreeMap::<Slot, usize>::new();
    for (key, slot) in &slots {
        *weights.entry(*slot).or_default() += wanted.threads(key).len();
    }
    let mut order: Vec<(Slot, usize)> = weights.into_iter().collect();
    order.sort_by_key(|(slot, weight)| (std::cmp::Reverse(*weight), *slot));
    let kept: BTreeSet<Slot> = order.into_iter().take(limit).map(|(slot, _)| slot).collect();
    let moving: Vec<Key> = slots.iter().filter(|(_, slot)| !kept.contains(slot)).map(|(key, _)| key.clone()).collect();
    slots.retain(|_, slot| kept.contains(slot));
    for key in moving {
        let slot = vacancy(&slots, &key, &kept);
        slots.insert(key, slot);
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::clusters;
    use proptest::prelude::*;

    fn slots(list: &[(u32, &str, Slot)]) -> Slots {
        list.iter().map(|(llc, name, slot)| (Key::new(LlcId(*llc), name), *slot)).collect()
    }

    #[test]
    fn clusters_of_two_llcs_share_groups() {
        // Three clusters on LLC 0, two on LLC 1: three groups, not five.
        let wanted =
            clusters([(0, "a", vec![1]), (0, "b", vec![2]), (0, "c", vec![3]), (1, "a", vec![4]), (1, "z", vec![5])]);
        let found = assign(&wanted, &Slots::new(), 3).unwrap();
        assert_eq!(found, slots(&[(0, "a", 0), (0, "b", 1), (0, "c", 2), (1, "a", 0), (1, "z", 1)]));
        assert_eq!(assign(&wanted, &Slots::new(), 2), Err(TooMany { llc: LlcId(0), needed: 3 }));
    }

    #[test]
    fn a_newcomer_takes_the_slot_that_was_left() {
        // `b` was removed and `d` is new: the others stay, and no group is made.
        let standing = slots(&[(0, "a", 0), (0, "b", 1), (0, "c", 2)]);
        let wanted = clusters([(0, "a", vec![1]), (0, "c", vec![3]), (0, "d", vec![2])]);
        assert_eq!(assign(&wanted, &standing, 3).unwrap(), slots(&[(0, "a", 0), (0, "c", 2), (0, "d", 1)]));
    }

    #[test]
    fn apart_while_there_is_room_and_together_when_there_is_none() {
        let standing = slots(&[(0, "a", 0), (1, "b", 1)]);
        let wanted = clusters([(0, "a", vec![1]), (1, "b", vec![2, 3])]);
        assert_eq!(assign(&wanted, &standing, 2).unwrap(), standing);
        // Only one slot may be used: the thread of `a` moves to the two of `b`.
        assert_eq!(assign(&wanted, &standing, 1).unwrap(), slots(&[(0, "a", 1), (1, "b", 1)]));
    }

    fn any_clusters() -> impl Strategy<Value = Clusters> {
        prop::collection::btree_map((0u32..4, "[a-f]"), 1usize..4, 0..14).prop_map(|drawn| {
            let mut tids = 1..;
            clusters(drawn.iter().map(|((llc, name), count)| (*llc, &**name, tids.by_ref().take(*count).collect())))
        })
    }

    fn holds(wanted: &Clusters, slots: &Slots, limit: usize) -> bool {
        let places: BTreeSet<_> = slots.iter().map(|(key, slot)| (key.llc, *slot)).collect();
        let used: BTreeSet<_> = slots.values().collect();
        slots.keys().eq(wanted.keys()) && places.len() == slots.len() && used.len() <= limit
    }

    proptest! {
        #[test]
        fn no_llc_shares_a_slot_with_itself_and_as_few_slots_as_its_clusters_suffice(
            before in any_clusters(),
            wanted in any_clusters(),
            spare in 0usize..3,
        ) {
            let most = |clusters: &Clusters| clusters.count_by_llc().values().copied().max().unwrap_or(0);
            let first = assign(&before, &Slots::new(), most(&before)).unwrap();
            prop_assert!(holds(&before, &first, most(&before)));
            let limit = most(&wanted) + spare;
            let second = assign(&wanted, &first, limit).unwrap();
            prop_assert!(holds(&wanted, &second, limit));
            prop_assert_eq!(assign(&wanted, &second, limit).unwrap(), second.clone(), "nothing new, nothing moves");
            let stay = second.iter().filter(|(key, _)| first.contains_key(key));
            if first.values().chain(second.values()).collect::<BTreeSet<_>>().len() <= limit {
                for (key, slot) in stay {
                    prop_assert_eq!(first[key], *slot, "there were free classes");
                }
            }
        }
    }
}
