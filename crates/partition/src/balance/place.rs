//! Places all programs, for the static study: Divide&Content's balancing is applied to every pair
//! of groups until nothing changes.
//!
//! The start is round robin: programs in order, one to each group that has a slot. In a study
//! migrations cost nothing, so pairs are balanced whether or not their imbalance exceeds the
//! thresholds of algorithm 3. With two groups, one pass is enough. With more, pairs are visited in
//! order until a pass changes nothing, at most `PASSES` times.

use super::load::{Limits, Program, Settings, Side};
use super::pair::balance;
use isobar_model::num;

/// Maximum number of passes over all pairs.
const PASSES: usize = 16;

/// A group: the CPUs that share an LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of its CPUs.
    pub slots: usize,
    /// The number of its memory node: groups with the same number share its bandwidth.
    pub memory: usize,
}

/// The group of each program; every program has one thread. If there are more programs than slots,
/// groups get more in turn.
#[must_use]
pub fn place(programs: &[Program], groups: &[Group], limits: &Limits) -> Vec<usize> {
    let mut placed = round_robin(programs.len(), groups);
    for _ in 0..PASSES {
        let before = placed.clone();
        for a in 0..groups.len() {
            for b in a + 1..groups.len() {
                settle(programs, groups, limits, (a, b), &mut placed);
            }
        }
        if placed == before {
            break;
        }
    }
    placed
}

/// Deals programs in order, one to each group that has a slot left. When all slots are taken,
/// groups get further programs in turn.
fn round_robin(programs: usize, groups: &[Group]) -> Vec<usize> {
    let deepest = groups.iter().map(|group| group.slots).max().unwrap_or(0);
    let seats = (0..deepest).flat_map(|depth| (0..groups.len()).filter(move |group| groups[*group].slots > depth));
    seats.chain((0..groups.len()).cycle().take(if groups.is_empty() { 0 } else { programs })).take(programs).collect()
}

/// Balances one pair.
fn settle(programs: &[Program], groups: &[Group], limits: &Limits, (a, b): (usize, usize), placed: &mut [usize]) {
    let members: Vec<usize> = (0..programs.len()).filter(|program| [a, b].contains(&placed[*program])).collect();
    let here = |index: &usize| Program {
        threads: [a, b].map(|group| usize::from(placed[*index] == group)),
        ..programs[*index]
    };
    let pair: Vec<Program> = members.iter().map(here).collect();
    let shared_memory = groups[a].memory == groups[b].memory;
    let side = |group: usize| {
        let others = (0..programs.len())
            .filter(|index| ![a, b].contains(&placed[*index]) && groups[placed[*index]].memory == groups[group].memory);
        Side { slots: groups[group].slots, other_bandwidth: others.map(|index| programs[index].bandwidth).sum() }
    };
    let found = balance(&pair, &[side(a), side(b)], &Limits { shared_memory, ..*limits });
    for (index, threads) in members.into_iter().zip(found) {
        placed[index] = if threads[0] > 0 { a } else { b };
    }
}

/// Limits for a study: thresholds in the profile's unit of bandwidth. Without a bandwidth limit,
/// bandwidth is balanced all the same, relative to the mean load of a group.
#[must_use]
pub fn study_limits(programs: &[Program], groups: usize, ways: usize, max_bandwidth: Option<f64>) -> Limits {
    let sum: f64 = programs.iter().map(|program| program.bandwidth).sum();
    let limits = Settings::default();
    let max = max_bandwidth.unwrap_or_else(|| sum / num::float_len(groups.max(1))).max(f64::MIN_POSITIVE);
    Limits { bandwidth_tie: 0.0, least_gain: 0.0, ..limits.limits(ways, max) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::llc_load;
    use isobar_model::CacheClass::{self, LightSharing as Light, Sensitive, Streaming};
    use proptest::prelude::*;

    fn load(class: CacheClass, bandwidth: f64, critical: usize) -> Program {
        Program { class, threads: [1, 0], bandwidth, llc: llc_load(class, critical), fixed: false }
    }

    fn groups(count: usize, slots: usize) -> Vec<Group> {
        (0..count).map(|memory| Group { slots, memory }).collect()
    }

    #[test]
    fn sensitive_and_streaming_programs_are_spread() {
        // Figure 7 of the paper: 4 streaming, 2 sensitive and 2 light-sharing programs on two
        // groups of four: each group gets one sensitive, two streaming and one light-sharing
        // program.
        let mut loads =
            vec![load(Sensitive, 2.0, 8), load(Light, 0.1, 0), load(Sensitive, 2.0, 7), load(Light, 0.1, 0)];
        loads.extend([5.0, 4.0, 3.0, 2.0].map(|bandwidth| load(Streaming, bandwidth, 0)));
        let placed = place(&loads, &groups(2, 4), &study_limits(&loads, 2, 16, None));
        let on = |class: CacheClass, group: usize| {
            loads.iter().zip(&placed).filter(|(load, at)| load.class == class && **at == group).count()
        };
        assert_eq!([Sensitive, Streaming, Light].map(|class| (on(class, 0), on(class, 1))), [(1, 1), (2, 2), (1, 1)]);
    }

    #[test]
    fn three_groups_share_three_sensitive_programs() {
        let loads: Vec<Program> =
            [(Sensitive, 8), (Light, 0), (Light, 0), (Sensitive, 7), (Light, 0), (Light, 0), (Sensitive, 6)]
                .map(|(class, critical)| load(class, 0.0, critical))
                .to_vec();
        let placed = place(&loads, &groups(3, 3), &study_limits(&loads, 3, 16, Some(100.0)));
        let mut of_sensitive = [placed[0], placed[3], placed[6]];
        of_sensitive.sort_unstable();
        assert_eq!(of_sensitive, [0, 1, 2]);
    }

    proptest! {
        #[test]
        fn every_program_has_a_slot(sensitive in prop::collection::vec((0usize..3, 0u32..50, 2usize..16), 1..16), count in 1usize..5) {
            let class = [Light, Streaming, Sensitive];
            let loads: Vec<Program> =
                sensitive.iter().map(|(kind, bandwidth, ways)| load(class[*kind], f64::from(*bandwidth), *ways)).collect();
            let slots = loads.len().div_ceil(count);
            let placed = place(&loads, &groups(count, slots), &study_limits(&loads, count, 16, None));
            for group in 0..count {
                prop_assert!(placed.iter().filter(|at| **at == group).count() <= slots);
            }
        }
    }
}
