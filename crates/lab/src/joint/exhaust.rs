//! Every arrangement, where they are few: all that changes lead to from any of them.

use super::moves::Moves;
use isobar_sim::arrangement::{Arrangement, Sharing};
use std::collections::BTreeSet;

/// All arrangements that changes lead to from one, threads of an application being equal; `None`
/// where there are more than `most`.
pub fn all(moves: &Moves<'_>, start: &Arrangement, most: usize) -> Option<Vec<Arrangement>> {
    let first = canonical(start.clone());
    let mut known = BTreeSet::from([key(&first)]);
    let mut found = vec![first];
    let mut next = 0;
    while let Some(here) = found.get(next).cloned() {
        next += 1;
        for change in moves.all(&here) {
            let new = canonical(moves.apply(&here, change));
            if known.insert(key(&new)) {
                if found.len() >= most {
                    return None;
                }
                found.push(new);
            }
        }
    }
    Some(found)
}

/// Threads and sets of ways in order: what differs by that only is the same.
fn canonical(mut arrangement: Arrangement) -> Arrangement {
    arrangement.apps.iter_mut().for_each(|stand| stand.llcs.sort_unstable());
    let by_apps = |a: &Sharing, b: &Sharing| a.apps.cmp(&b.apps);
    arrangement.ways.iter_mut().for_each(|sets| sets.sort_by(by_apps));
    arrangement
}

fn key(arrangement: &Arrangement) -> String {
    format!("{arrangement:?}")
}
