//! Draws the ways of each LLC as they were set, for people: one line for each cluster, way 0 at the
//! left.
//!
//! ```text
//! ways of llc 0 (0 at the left):
//!   ######.....  sensitive-0, 6 ways: soplex, gamess
//!   ......###..  sensitive-1, 3 ways: omnetpp
//!   .........##  streaming-0, 2 ways: lbm, milc and 2 more
//! ```
//!
//! It knows what plans asked for and the results; in a dry run it shows what they asked for.

use crate::text::{plural, short, some_of};
use isobar_model::{Action, ActionOutcome, LlcId, Observation, Outcome, Plan, Tid, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of programs named in one line.
const NAMED: usize = 4;

/// The clusters of all LLCs.
#[derive(Debug, Default)]
pub struct WayMap(BTreeMap<LlcId, BTreeMap<String, Cluster>>);

#[derive(Debug)]
struct Cluster {
    mask: u64,
    percent: Option<u32>,
    threads: Vec<Tid>,
}

impl WayMap {
    /// Applies a plan and its results. Returns the LLCs that changed.
    pub fn take(&mut self, plan: &Plan, outcome: Option<&Outcome>) -> BTreeSet<LlcId> {
        let mut changed = BTreeSet::new();
        for (index, action) in plan.actions.iter().enumerate() {
            let Action::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, threads, .. } = action else {
                continue;
            };
            let done = outcome
                .and_then(|outcome| outcome.actions.get(index))
                .is_none_or(|became| *became == ActionOutcome::Done);
            if done {
                self.set(*llc, cluster, *way_mask, *memory_bandwidth_percent, threads);
                changed.insert(*llc);
            }
        }
        changed
    }

    fn set(&mut self, llc: LlcId, name: &str, mask: u64, percent: Option<u32>, threads: &[Tid]) {
        // A thread is in one cluster only. A cluster without threads no longer exists.
        let clusters = self.0.values_mut().flat_map(BTreeMap::values_mut);
        clusters.for_each(|cluster| cluster.threads.retain(|tid| !threads.contains(tid)));
        let cluster = Cluster { mask, percent, threads: threads.to_vec() };
        self.0.entry(llc).or_default().insert(name.to_owned(), cluster);
        self.0.values_mut().for_each(|clusters| clusters.retain(|_, cluster| !cluster.threads.is_empty()));
    }

    /// Draws some LLCs, except those on which a program is being sampled, because they look
    /// different a second later.
    pub fn draw(&self, llcs: &BTreeSet<LlcId>, seen: &Observation) -> Vec<String> {
        let sampling = |llc: &&LlcId| self.0.get(llc).is_some_and(|clusters| clusters.contains_key("sampling"));
        llcs.iter().filter(|llc| !sampling(llc)).flat_map(|llc| self.draw_one(*llc, seen)).collect()
    }

    /// Draws every LLC that has clusters.
    pub fn draw_all(&self, seen: &Observation) -> Vec<String> {
        let parted = self.0.iter().filter(|(_, clusters)| !clusters.is_empty());
        parted.flat_map(|(llc, _)| self.draw_one(*llc, seen)).collect()
    }

    fn draw_one(&self, llc: LlcId, seen: &Observation) -> Vec<String> {
        let Some(clusters) = self.0.get(&llc).filter(|clusters| !clusters.is_empty()) else {
            return vec![format!("ways of llc {llc}: every program may use all of them")];
        };
        let width = width(&seen.machine, llc, clusters.values().map(|cluster| cluster.mask));
        let mut lines = vec![format!("ways of llc {llc} (0 at the left):")];
        let mut order: Vec<_> = clusters.iter().collect();
        order.sort_by_key(|(_, cluster)| cluster.mask.trailing_zeros());
        lines.extend(order.into_iter().map(|(name, cluster)| cluster.line(name, width, seen)));
        lines
    }
}

impl Cluster {
    fn line(&self, name: &str, width: u32, seen: &Observation) -> String {
        let bar: String = (0..width).map(|way| if self.mask >> way & 1 == 1 { '#' } else { '.' }).collect();
        let ways = plural(u64::from(self.mask.count_ones()), "way");
        let share = self.percent.map(|percent| format!(", {percent} % of the bandwidth")).unwrap_or_default();
        format!("  {bar}  {name}, {ways}{share}: {}", self.programs(seen))
    }

    /// The programs of its threads, each named once.
    fn programs(&self, seen: &Observation) -> String {
        let has =
            |process: &&isobar_model::Process| process.threads.iter().any(|thread| self.threads.contains(&thread.tid));
        let names: Vec<String> = seen.processes.iter().filter(has).map(|process| short(&process.name, 32)).collect();
        if names.is_empty() { "no managed program".to_owned() } else { some_of(&names, NAMED) }
    }
}

/// Columns of a picture: the ways of the LLC or, if they are not known, as many as the masks need.
fn width(machine: &Topology, llc: LlcId, masks: impl Iterator<Item = u64>) -> u32 {
    let needed = masks.map(|mask| 64 - mask.leading_zeros()).max().unwrap_or(0);
    machine.llc(llc).and_then(|llc| llc.ways).map_or(needed, |ways| ways.0.max(needed)).min(64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;
    use isobar_model::{Pid, Process, Thread};
    use std::sync::Arc;

    fn seen(names: &[&str]) -> Observation {
        let process = |(tid, name): (u32, &&str)| {
            let (pid, threads) = (Pid(tid), vec![Thread::unmeasured(Tid(tid))]);
            Process { pid, name: Arc::from(*name), threads, ..Process::default() }
        };
        let machine = Arc::new(synthetic("node:1 core:8").unwrap());
        Observation::bare(machine, (1..).zip(names).map(process).collect())
    }

    fn set(cluster: &str, way_mask: u64, threads: &[u32]) -> Action {
        let threads = threads.iter().map(|tid| Tid(*tid)).collect();
        let (llc, reason) = (LlcId(0), "because".to_owned());
        Action::SetWays { llc, cluster: cluster.to_owned(), way_mask, memory_bandwidth_percent: None, threads, reason }
    }

    fn plan(actions: Vec<Action>) -> Plan {
        Plan { actions, ..Plan::nothing("lfoc+") }
    }

    #[test]
    fn a_map_is_drawn_a_line_a_cluster() {
        let seen = seen(&["soplex", "lbm", "milc", "a", "b", "c"]);
        let mut map = WayMap::default();
        let both = plan(vec![set("streaming-0", 0xc000, &[2, 3, 4, 5, 6]), set("sensitive-0", 0x3fff, &[1])]);
        let changed = map.take(&both, None);
        assert_eq!(
            map.draw(&changed, &seen),
            [
                "ways of llc 0 (0 at the left):",
                "  ##############..  sensitive-0, 14 ways: soplex",
                "  ..............##  streaming-0, 2 ways: lbm, milc, a, b and 1 more",
            ]
        );
        // The last thread leaves its cluster; a refused action changes nothing.
        let refused = Outcome { actions: vec![ActionOutcome::Refused { errno: Some(28), why: "full".into() }] };
        assert!(map.take(&plan(vec![set("x", 1, &[1])]), Some(&refused)).is_empty());
        let changed = map.take(&plan(vec![set("sensitive-0", 0xffff, &[]), set("streaming-0", 0xffff, &[])]), None);
        assert_eq!(map.draw(&changed, &seen), ["ways of llc 0: every program may use all of them"]);
        assert!(map.draw_all(&seen).is_empty());
    }

    #[test]
    fn sampling_is_not_drawn_each_second() {
        let mut map = WayMap::default();
        let changed = map.take(&plan(vec![set("sampling", 1, &[1]), set("rest", 0xfffe, &[2])]), None);
        assert!(map.draw(&changed, &seen(&["a", "b"])).is_empty());
        assert_eq!(map.draw_all(&seen(&["a", "b"])).len(), 3);
    }
}
