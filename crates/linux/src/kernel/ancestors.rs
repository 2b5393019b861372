//! Lists the ancestors of a process, by the parents that the kernel names now: one walk for all
//! callers.
//!
//! The walk is a pure function of a table of processes, which the caller brings (on a live machine
//! [`super::identity::process`]). When a process ends, the kernel gives its children to another
//! process, mostly to process 1, where the walk ends. Older ancestry is only known from fork events
//! (`actuators/lineage.rs`).

use super::stat::Stat;
use isobar_model::Pid;

/// Longer chains of parents are not followed.
const MOST: usize = 64;

/// A process and its ancestors, nearest first, each with its entry in the table. The entry is
/// `None` for a process that is not in the table (any more), and the walk ends there. Process 1 and
/// its ancestors are left out, except as the process that was asked for.
pub fn ancestry(pid: Pid, table: impl Fn(Pid) -> Option<Stat>) -> impl Iterator<Item = (Pid, Option<Stat>)> {
    let mut next = Some(pid);
    let step = move || {
        let pid = next?;
        let task = table(pid);
        next = task.map(|task| task.parent).filter(|parent| parent.0 > 1);
        Some((pid, task))
    };
    std::iter::from_fn(step).take(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn walk(pid: u32, parents: &[(u32, u32)]) -> Vec<u32> {
        let table: BTreeMap<u32, u32> = parents.iter().copied().collect();
        let task = |pid: Pid| {
            let (id, parent) = (pid.0, Pid(*table.get(&pid.0)?));
            Some(Stat {
                id,
                state: b'S',
                parent,
                kernel: false,
                ticks: 0,
                user_ticks: 0,
                threads: 1,
                start: 5,
                cpu: None,
            })
        };
        ancestry(Pid(pid), task).map(|(pid, _)| pid.0).collect()
    }

    #[test]
    fn the_nearest_come_first_and_process_1_ends_the_walk() {
        assert_eq!(walk(9, &[(9, 7), (7, 3), (3, 1), (1, 0)]), [9, 7, 3]);
        assert_eq!(walk(1, &[(1, 0)]), [1]);
        assert_eq!(walk(9, &[(9, 7)]), [9, 7], "a parent that has ended since is named, and is the last");
        assert_eq!(walk(9, &[]), [9]);
    }

    #[test]
    fn ids_that_are_given_anew_while_the_table_is_read_make_no_endless_walk() {
        assert_eq!(walk(9, &[(9, 7), (7, 9)]).len(), MOST);
    }
}
