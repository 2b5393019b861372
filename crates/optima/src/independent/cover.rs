//! Exact cover: can at most a given number of these sets cover all programs, each program once?
//!
//! The search is depth first. The program with the fewest sets is covered first (programs are
//! renumbered so that it is the lowest). Remainders that could not be covered are kept in a table
//! of fixed size whose entries may overwrite each other: a lost entry costs time, never
//! correctness.

use crate::set::Set;

/// An uncovered remainder, and the number of groups with which it failed.
#[derive(Clone, Copy, Default)]
struct Slot {
    left: u64,
    round: u32,
    groups: u32,
}

/// The search, with the table of failed remainders.
pub(crate) struct Cover {
    cores: usize,
    slots: Vec<Slot>,
    round: u32,
    /// Number of nodes since the start.
    pub nodes: u64,
}

/// Sets by their lowest program, with the programs renumbered; each with its position in the
/// caller's list.
pub(crate) type Sorted = Vec<Vec<(Set, u32)>>;

/// Renumbers the programs of `everyone` by how few sets contain them, and lists the sets by their
/// lowest program. `None` if a program is in no set.
pub(crate) fn sort(everyone: Set, sets: impl Iterator<Item = (Set, u32)> + Clone) -> Option<Sorted> {
    let mut held = [0_usize; 64];
    sets.clone().for_each(|(set, _)| set.iter().for_each(|program| held[program] += 1));
    let mut order = everyone.list();
    if order.iter().any(|program| held[*program] == 0) {
        return None;
    }
    order.sort_by_key(|program| (held[*program], *program));
    let mut number = [0; 64];
    order.iter().enumerate().for_each(|(new, old)| number[*old] = new);
    let mut lists = vec![Vec::new(); order.len()];
    for (set, place) in sets {
        let new = set.iter().fold(Set(0), |new, program| new.with(Set::one(number[program])));
        lists[new.first()].push((new, place));
    }
    Some(lists)
}

impl Cover {
    pub fn new(programs: usize, cores: usize) -> Self {
        Self { cores, slots: vec![Slot::default(); 1 << programs.min(20)], round: 0, nodes: 0 }
    }

    /// Positions of the sets of one cover of `everyone` with at most `groups` sets (all of them
    /// subsets of it). If `stop` returns true, the search ends as if there were none.
    pub fn find(
        &mut self,
        everyone: Set,
        sets: impl Iterator<Item = (Set, u32)> + Clone,
        groups: usize,
        stop: &dyn Fn() -> bool,
    ) -> Option<Vec<u32>> {
        let sorted = sort(everyone, sets)?;
        self.round += 1;
        let mut chosen = Vec::with_capacity(groups);
        self.descend(&sorted, Set::all(everyone.len()), groups, &mut chosen, stop).then_some(chosen)
    }

    fn descend(
        &mut self,
        sorted: &Sorted,
        left: Set,
        groups: usize,
        chosen: &mut Vec<u32>,
        stop: &dyn Fn() -> bool,
    ) -> bool {
        if left.is_empty() {
            return true;
        }
        if left.len() > groups * self.cores || self.failed(left, groups) {
            return false;
        }
        self.nodes += 1;
        if self.nodes.is_multiple_of(crate::watch::STRIDE) && stop() {
            return false;
        }
        for (set, place) in &sorted[left.first()] {
            if set.within(left) {
                chosen.push(*place);
                if self.descend(sorted, left.without(*set), groups - 1, chosen, stop) {
                    return true;
                }
                chosen.pop();
            }
        }
        let slot = left.slot(self.slots.len());
        self.slots[slot] = Slot { left: left.0, round: self.round, groups: isobar_model::num::narrow(groups) };
        false
    }

    fn failed(&self, left: Set, groups: usize) -> bool {
        let slot = &self.slots[left.slot(self.slots.len())];
        slot.left == left.0 && slot.round == self.round && isobar_model::num::index(slot.groups) >= groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_are_exact() {
        let sets = [Set::of(&[0, 1]), Set::of(&[1, 2]), Set::of(&[2, 3]), Set::of(&[0, 3, 4]), Set::of(&[4])];
        let listed = |places: &[u32]| places.iter().map(|place| (sets[*place as usize], *place)).collect::<Vec<_>>();
        let find = |places: &[u32], groups| {
            let mut found = Cover::new(5, 3).find(Set::all(5), listed(places).into_iter(), groups, &|| false)?;
            found.sort_unstable();
            Some(found)
        };
        assert_eq!(find(&[0, 1, 2, 3, 4], 3), Some(vec![0, 2, 4]));
        assert_eq!(find(&[0, 1, 4], 3), None);
        assert_eq!(find(&[0, 2, 4], 2), None);
        assert_eq!(find(&[1, 3], 2), Some(vec![1, 3]));
    }
}
