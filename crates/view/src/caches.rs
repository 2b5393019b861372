//! Last-level caches: their pressure, and their ways as plans have set them.

use crate::view::{Cluster, LlcView};
use isobar_model::{
    Action, ActionOutcome, CpuSet, LlcId, NodeId, Observation, Outcome, Pid, Plan, Process, Thread, Tid,
};
use std::collections::BTreeMap;

/// What plans have set: for each cache, the clusters by name, each with its mask and threads.
#[derive(Clone, Debug, Default)]
pub struct Ways(BTreeMap<LlcId, BTreeMap<String, (u64, Vec<Tid>)>>);

impl Ways {
    /// Applies those actions of a plan that were carried out.
    pub fn take(&mut self, plan: &Plan, outcome: Option<&Outcome>) {
        let Some(outcome) = outcome else { return };
        for (action, became) in plan.actions.iter().zip(&outcome.actions) {
            if let (Action::SetWays { llc, cluster, way_mask, threads, .. }, ActionOutcome::Done) = (action, became) {
                self.set(*llc, cluster, *way_mask, threads);
            }
        }
    }

    /// Sets a cluster. A thread is in one cluster only, and a cluster without threads is removed.
    fn set(&mut self, llc: LlcId, name: &str, mask: u64, threads: &[Tid]) {
        let clusters = self.0.values_mut().flat_map(BTreeMap::values_mut);
        clusters.for_each(|(_, old)| old.retain(|tid| !threads.contains(tid)));
        self.0.entry(llc).or_default().insert(name.to_owned(), (mask, threads.to_vec()));
        self.0.values_mut().for_each(|clusters| clusters.retain(|_, (_, threads)| !threads.is_empty()));
    }

    /// The ways of a cache that a process may fill, as bits: those of the first cluster that
    /// contains one of its threads; all ways if none does.
    pub fn mask(&self, llc: LlcId, process: &Process) -> u64 {
        let Some(clusters) = self.0.get(&llc) else { return u64::MAX };
        let has = |threads: &[Tid]| process.threads.iter().any(|thread| threads.contains(&thread.tid));
        clusters.values().find(|(_, threads)| has(threads)).map_or(u64::MAX, |(mask, _)| *mask)
    }

    fn clusters(&self, llc: LlcId, seen: &Observation) -> Vec<Cluster> {
        let one = |(name, (mask, threads)): (&String, &(u64, Vec<Tid>))| {
            let owner = |process: &&Process| process.threads.iter().any(|thread| threads.contains(&thread.tid));
            let programs: Vec<Pid> = seen.processes.iter().filter(owner).map(|process| process.pid).collect();
            Cluster { name: name.clone(), way_mask: *mask, threads: threads.clone(), programs }
        };
        let mut found: Vec<Cluster> = self.0.get(&llc).into_iter().flatten().map(one).collect();
        found.retain(|cluster| !cluster.programs.is_empty());
        found.sort_by_key(|cluster| cluster.way_mask.trailing_zeros());
        found
    }
}

/// The caches of an epoch.
pub fn llcs(seen: &Observation, ways: &Ways) -> Vec<LlcView> {
    let mut loads: BTreeMap<LlcId, (usize, Option<f64>)> = BTreeMap::new();
    for (process, thread) in seen.threads() {
        let Some(llc) = thread.cpu.filter(|_| runs(thread)).and_then(|cpu| seen.machine.llc_of(cpu)) else { continue };
        let load = loads.entry(llc).or_default();
        load.0 += 1;
        if let Some(mpki) = thread.mpki() {
            *load.1.get_or_insert(0.0) += mpki.0 * penalty(process, &seen.machine.nodes_of_llc(llc));
        }
    }
    let one = |llc: &isobar_model::topology::Llc| {
        let (threads, pressure) = loads.get(&llc.id).copied().unwrap_or((0, None));
        LlcView {
            id: llc.id,
            nodes: seen.machine.nodes_of_llc(llc.id),
            cpus: seen.machine.cpus_of_llc(llc.id).map_or(0, CpuSet::len),
            size_bytes: llc.size.map(|size| size.0),
            ways: llc.ways.map(|ways| ways.0),
            threads,
            pressure,
            clusters: ways.clusters(llc.id, seen),
        }
    };
    seen.machine.llcs().iter().map(one).collect()
}

fn runs(thread: &Thread) -> bool {
    thread.cpu_time.is_none_or(|time| time.0 > 0.0)
}

/// The NUMA penalty of a process whose home is not one of these nodes, if it is known; otherwise 1.
fn penalty(process: &Process, nodes: &[NodeId]) -> f64 {
    let home = process.pages.as_ref().and_then(|pages| pages.iter().max_by_key(|(_, count)| count.0));
    match (home, process.numa_penalty) {
        (Some((home, _)), Some(penalty)) if !nodes.contains(&home) => penalty,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{counted, process, seen};

    fn set(cluster: &str, mask: u64, threads: &[u32]) -> Action {
        Action::SetWays {
            llc: LlcId(0),
            cluster: cluster.into(),
            way_mask: mask,
            memory_bandwidth_percent: None,
            threads: threads.iter().map(|tid| Tid(*tid)).collect(),
            reason: String::new(),
        }
    }

    #[test]
    fn pressure_is_summed_and_remote_programs_weigh_more() {
        let mut remote = process(2, "b", vec![counted(2, 1, 10.0)]);
        remote.numa_penalty = Some(1.5);
        remote.pages = Some([(NodeId(1), isobar_model::Pages(10))].into_iter().collect());
        let seen = seen("node:2 core:2", vec![process(1, "a", vec![counted(1, 0, 20.0)]), remote]);
        let llcs = llcs(&seen, &Ways::default());
        assert_eq!((llcs[0].threads, llcs[0].pressure), (2, Some(35.0)), "20 + 1.5 * 10");
        assert_eq!((llcs[1].threads, llcs[1].pressure), (0, None));
    }

    #[test]
    fn ways_are_those_that_were_carried_out() {
        let plan = Plan { actions: vec![set("streams", 0x3, &[2]), set("rest", 0xfffc, &[1])], ..Plan::nothing("x") };
        let mut ways = Ways::default();
        ways.take(&plan, None);
        let seen = seen(
            "node:1 core:2",
            vec![process(1, "a", vec![counted(1, 0, 1.0)]), process(2, "b", vec![counted(2, 1, 1.0)])],
        );
        assert!(llcs(&seen, &ways)[0].clusters.is_empty(), "a dry run sets nothing");
        ways.take(&plan, Some(&Outcome { actions: vec![ActionOutcome::Done; 2] }));
        let clusters = llcs(&seen, &ways)[0].clusters.clone();
        let given: Vec<_> = clusters.iter().map(|one| (one.name.as_str(), one.way_mask, one.programs[0].0)).collect();
        assert_eq!(given, [("streams", 0x3, 2), ("rest", 0xfffc, 1)]);
        assert_eq!(ways.mask(LlcId(0), &seen.processes[1]), 0x3);
        ways.take(
            &Plan { actions: vec![set("all", 0xffff, &[1, 2])], ..plan },
            Some(&Outcome { actions: vec![ActionOutcome::Done] }),
        );
        assert_eq!(llcs(&seen, &ways)[0].clusters.len(), 1);
    }
}
