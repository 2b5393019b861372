//! How each structure is used: its share of the accesses, whether threads share it, which thread
//! touched it first, and what that costs.

use crate::metrics::{float, percent};
use crate::profile::{PageProfile, Structure};
use crate::seen::Seen;
use crate::trace::RegionKind;
use isobar_model::num;
use std::collections::BTreeMap;

/// A structure with at least this exclusivity is mostly exclusive: the paper calls a page with more
/// than 80 % of its accesses from one thread "still relatively exclusive" (section 3.3.3).
pub const MOSTLY: f64 = 0.8;

/// Whether threads of several nodes use a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharing {
    /// More than `min_excl` of the accesses to its pages come from the page's best node.
    Exclusive,
    /// At least [`MOSTLY`] of them do.
    MostlyExclusive,
    /// Fewer do.
    Shared,
    /// The structure was not accessed.
    Unused,
}

/// A structure, or several that are used alike.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureUse {
    /// Its name: `matrix_b`, `stacks of T1-T3`.
    pub name: String,
    /// `file:line` of its definition or allocation.
    pub line: Option<String>,
    /// The thread whose stack it is.
    pub stack_of: Option<u32>,
    /// Its pages.
    pub pages: u64,
    /// Accesses to it.
    pub accesses: u128,
    /// Accesses to it, in per cent of all.
    pub percent: Option<f64>,
    /// Exclusivity over its pages (equation 2).
    pub exclusivity: Option<f64>,
    /// Accesses to it from each node.
    pub from_nodes: Vec<u128>,
    /// Pages that each thread touched first, most first.
    pub first: Vec<(u32, u64)>,
    /// Accesses from a node other than that of the page's first touch, in per cent of the
    /// structure's own.
    pub remote: Option<f64>,
    most: u128,
    local: u128,
}

impl StructureUse {
    /// Whether the structure is shared, given that a page is exclusive above `min_excl`.
    #[must_use]
    pub fn sharing(&self, min_excl: f64) -> Sharing {
        match self.exclusivity {
            None => Sharing::Unused,
            Some(exclusivity) if exclusivity > min_excl => Sharing::Exclusive,
            Some(exclusivity) if exclusivity >= MOSTLY => Sharing::MostlyExclusive,
            Some(_) => Sharing::Shared,
        }
    }

    /// The thread that touched at least nine tenths of its pages first, if there is one.
    #[must_use]
    pub fn first_thread(&self) -> Option<u32> {
        let (thread, pages) = self.first.first()?;
        (pages.saturating_mul(10) >= self.pages.saturating_mul(9)).then_some(*thread)
    }

    fn add(&mut self, other: &Self) {
        self.pages += other.pages;
        self.accesses += other.accesses;
        self.most += other.most;
        self.local += other.local;
        self.from_nodes.iter_mut().zip(&other.from_nodes).for_each(|(sum, more)| *sum += more);
        for (thread, pages) in &other.first {
            match self.first.iter_mut().find(|(known, _)| known == thread) {
                Some((_, sum)) => *sum += pages,
                None => self.first.push((*thread, *pages)),
            }
        }
    }

    /// Derives the other figures from the sums.
    fn finish(&mut self, all: u128) {
        self.percent = percent(self.accesses, all);
        self.exclusivity = (self.accesses > 0).then(|| float(self.most) / float(self.accesses));
        self.remote = percent(self.accesses.saturating_sub(self.local), self.accesses);
        self.first.sort_by_key(|(thread, pages)| (std::cmp::Reverse(*pages), *thread));
    }
}

/// The figures of the structures so far.
pub struct Uses<'a> {
    seen: &'a Seen<'a>,
    structure_of: &'a [u32],
    found: Vec<StructureUse>,
    first: Vec<BTreeMap<u32, u64>>,
}

impl<'a> Uses<'a> {
    /// Starts the figures of a profile, at its own page size.
    pub fn of(profile: &'a PageProfile, seen: &'a Seen<'a>) -> Self {
        let found: Vec<StructureUse> = profile.structures.iter().map(|one| blank(one, seen.nodes())).collect();
        Self { seen, structure_of: &profile.structure_of, first: vec![BTreeMap::new(); found.len()], found }
    }

    /// Adds the page at a position, with its accesses by node.
    pub fn add(&mut self, at: usize, by_node: &[u64]) {
        let Some(index) = self.structure_of.get(at).map(|structure| num::index(*structure)) else { return };
        let (Some(one), Some(first)) = (self.found.get_mut(index), self.first.get_mut(index)) else { return };
        let page = self.seen.pages()[at];
        one.pages += 1;
        one.accesses += u128::from(page.accesses);
        one.most += u128::from(page.most);
        one.local += u128::from(by_node[usize::from(page.first)]);
        one.from_nodes.iter_mut().zip(by_node).for_each(|(sum, count)| *sum += u128::from(*count));
        *first.entry(self.seen.usage().pages()[at].first).or_default() += 1;
    }

    /// Every structure that has pages, by accesses, descending, then by name.
    pub fn finish(self) -> Vec<StructureUse> {
        let mut found = self.found;
        for (one, first) in found.iter_mut().zip(self.first) {
            one.first = first.into_iter().collect();
            one.finish(self.seen.accesses());
        }
        found.retain(|one| one.pages > 0);
        found.sort_by(|a, b| b.accesses.cmp(&a.accesses).then_with(|| a.name.cmp(&b.name)));
        found
    }
}

fn blank(structure: &Structure, nodes: usize) -> StructureUse {
    StructureUse {
        name: structure.name.clone(),
        line: structure.line.clone(),
        stack_of: stack_of(structure),
        pages: 0,
        accesses: 0,
        percent: None,
        exclusivity: None,
        from_nodes: vec![0; nodes],
        first: Vec::new(),
        remote: None,
        most: 0,
        local: 0,
    }
}

/// The thread whose stack a structure is. A region of a trace says so; an imported profile says it
/// in the name, as in `stack of T3` or `Stack 3`.
fn stack_of(structure: &Structure) -> Option<u32> {
    match structure.region.as_ref().map(|region| &region.kind) {
        Some(RegionKind::Stack(thread)) => Some(*thread),
        Some(_) => None,
        None => {
            let name = structure.name.to_ascii_lowercase();
            let rest = name.strip_prefix("stack")?.trim_start_matches([' ', '_', '.']);
            rest.strip_prefix("of ").unwrap_or(rest).trim_start_matches('t').parse().ok()
        }
    }
}

/// The same structures, with stacks that are used alike merged into one, named `stacks of T1-T3`.
#[must_use]
pub fn joined(structures: &[StructureUse], min_excl: f64) -> Vec<StructureUse> {
    let all: u128 = structures.iter().map(|one| one.accesses).sum();
    let mut groups: BTreeMap<(Sharing, Option<u32>, bool), Vec<&StructureUse>> = BTreeMap::new();
    let (stacks, mut found): (Vec<_>, Vec<_>) = structures.iter().partition(|one| one.stack_of.is_some());
    for stack in stacks {
        let own = stack.first_thread() == stack.stack_of;
        groups.entry((stack.sharing(min_excl), stack.first_thread().filter(|_| !own), own)).or_default().push(stack);
    }
    let mut found: Vec<StructureUse> = found.drain(..).cloned().collect();
    found.extend(groups.into_values().filter_map(|group| join(&group, all)));
    found.sort_by(|a, b| b.accesses.cmp(&a.accesses).then_with(|| a.name.cmp(&b.name)));
    found
}

fn join(group: &[&StructureUse], all: u128) -> Option<StructureUse> {
    let (first, rest) = group.split_first()?;
    let mut sum = (*first).clone();
    rest.iter().for_each(|other| sum.add(other));
    sum.finish(all);
    let mut threads: Vec<u32> = group.iter().filter_map(|one| one.stack_of).collect();
    threads.sort_unstable();
    sum.name = format!("{} of {}", if threads.len() > 1 { "stacks" } else { "stack" }, ranges(&threads));
    Some(sum)
}

/// Ascending numbers as `T0, T2-T4`.
pub fn ranges(threads: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for thread in threads {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*thread) || *last == *thread => *last = *thread,
            _ => runs.push((*thread, *thread)),
        }
    }
    let run = |(from, to): &(u32, u32)| if from == to { format!("T{from}") } else { format!("T{from}-T{to}") };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{matmul, profile, report};

    /// Table 1: A and C are exclusive, B is shared, the stacks of T1 to T3 exclusive and hot, and
    /// thread 0 touched everything first.
    #[test]
    fn the_structures_of_the_matrix_product() {
        let found = report(&matmul(), 4).structures;
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["stack of T0", "stack of T1", "stack of T3", "stack of T2", "C", "A", "B"]);
        let of = |name: &str| found.iter().find(|one| one.name == name).unwrap();
        assert_eq!((of("A").sharing(0.9), of("B").sharing(0.9)), (Sharing::Exclusive, Sharing::Shared));
        assert_eq!((of("C").sharing(0.9), of("C").first_thread()), (Sharing::Exclusive, Some(0)));
        // B has one page: thread 0 makes 17,222 of its 43,796 accesses.
        assert!((of("B").remote.unwrap() - (1.0 - 17_222.0 / 43_796.0) * 100.0).abs() < 1e-9);
        assert_eq!(of("B").from_nodes, [17_222, 9_347, 8_173, 9_054]);
        assert_eq!(of("stack of T1").stack_of, Some(1));
    }

    #[test]
    fn stacks_that_are_used_alike_are_one_line() {
        let found = joined(&report(&matmul(), 4).structures, 0.9);
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["stack of T0", "stacks of T1-T3", "C", "A", "B"]);
        let stacks = &found[1];
        assert_eq!((stacks.pages, stacks.accesses, stacks.first.as_slice()), (3, 4_698_694, [(0, 3)].as_slice()));
        assert!((stacks.percent.unwrap() - 4_698_694.0 / 14_176_584.0 * 100.0).abs() < 1e-9);
    }

    #[test]
    fn names_of_stacks_and_threads() {
        let stack = |name: &str| stack_of(&Structure { name: name.into(), line: None, region: None });
        assert_eq!([stack("stack of T3"), stack("Stack 12"), stack("stack_t1")], [Some(3), Some(12), Some(1)]);
        assert_eq!([stack("stack"), stack("stackable"), stack("haystack 3")], [None; 3]);
        assert_eq!(ranges(&[0, 2, 3, 4, 9]), "T0, T2-T4, T9");
    }

    #[test]
    fn a_structure_without_accesses_is_unused() {
        let found = report(&profile(&[[0, 0, 0, 0], [5, 5, 0, 0]], &[("a", 0..1), ("b", 1..2), ("c", 2..2)]), 4);
        let brief: Vec<_> = found.structures.iter().map(|one| (one.name.as_str(), one.sharing(0.9))).collect();
        assert_eq!(brief, [("b", Sharing::Shared), ("a", Sharing::Unused)]);
    }
}
