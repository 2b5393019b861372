//! Enumerates every arrangement, if there are few: all that can be reached by changes from any of
//! them.

use super::moves::Moves;
use isobar_sim::arrangement::{Arrangement, Sharing};
use std::collections::BTreeSet;

/// All arrangements that can be reached by changes from `start`, treating the threads of an
/// application as identical; `None` if there are more than `most`.
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

/// Sorts threads and sets of ways: arrangements that differ only in this order are the same.
fn canonical(mut arrangement: Arrangement) -> Arrangement {
    arrangement.apps.iter_mut().for_each(|stand| stand.llcs.sort_unstable());
    let by_apps = |a: &Sharing, b: &Sharing| a.apps.cmp(&b.apps);
    arrangement.ways.iter_mut().for_each(|sets| sets.sort_by(by_apps));
    arrangement
}

fn key(arrangement: &Arrangement) -> String {
    format!("{arrangement:?}")
}
