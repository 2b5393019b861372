//! Which class each CPU gets. Pure.
//!
//! Hardware loads a task's class with the task; the page has a class for each CPU. So a CPU gets
//! the class of the threads that run on it; where there are several, that whose threads used most
//! of its time since the last look (ties: the lowest). What no thread of a group used counts for
//! the CPU's own class.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A thread of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// The CPU on which it runs or ran last.
    pub cpu: usize,
    /// Its class.
    pub class: usize,
    /// Nanoseconds for which it ran since the last look.
    pub ran_ns: u64,
}

/// The class of each CPU; `own` is what it has without threads of groups, `busy_ns` how long it
/// was busy since the last look.
#[must_use]
pub fn classes(own: &[usize], busy_ns: &[u64], spots: &[Spot]) -> Vec<usize> {
    let class = |(cpu, own): (usize, &usize)| {
        let here = || spots.iter().filter(move |spot| spot.cpu == cpu);
        let ran = here().fold(0_u64, |sum, spot| sum.saturating_add(spot.ran_ns));
        let others = busy_ns.get(cpu).copied().unwrap_or(0).saturating_sub(ran);
        let mut votes = BTreeMap::from([(*own, others)]);
        for spot in here() {
            // One that slept counts, too: its class is there when it wakes on an idle CPU.
            let sum = votes.entry(spot.class).or_default();
            *sum = sum.saturating_add(spot.ran_ns).saturating_add(1);
        }
        votes.into_iter().max_by_key(|(class, weight)| (*weight, Reverse(*class))).map_or(*own, |(class, _)| class)
    };
    own.iter().enumerate().map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(own: &[usize], busy: &[u64], spots: &[(usize, usize, u64)]) -> Vec<usize> {
        let spots: Vec<Spot> =
            spots.iter().map(|(cpu, class, ran_ns)| Spot { cpu: *cpu, class: *class, ran_ns: *ran_ns }).collect();
        classes(own, busy, &spots)
    }

    #[test]
    fn a_cpu_has_the_class_that_used_most_of_it() {
        assert_eq!(at(&[0, 0], &[10, 10], &[(0, 1, 10), (1, 2, 10)]), [1, 2]);
        assert_eq!(at(&[0, 0], &[30, 0], &[(0, 1, 10), (0, 2, 20)]), [2, 0], "together on CPU 0");
        assert_eq!(at(&[0], &[30], &[(0, 1, 10)]), [0], "strangers used more of it");
        assert_eq!(at(&[0], &[0], &[(0, 1, 0)]), [1], "it slept");
        assert_eq!(at(&[3, 0], &[5, 5], &[(1, 1, 5), (9, 1, 5)]), [3, 1], "a CPU's own class, and no such CPU");
    }
}
