//! The LLCs of a machine, by position, and what is on each: threads, clusters, a sampling. This
//! file knows where threads run. It does not know which partitions there should be
//! ([`super::partitioner`]).

use super::capacity::Capacity;
use super::clusters::{Clusters, Wanted};
use super::core_groups::{CoreGroups, Group};
use super::programs::Programs;
use super::sampling::Sampling;
use isobar_model::{Action, LlcId, Observation, Pid, Tid, Topology};
use std::sync::Arc;

/// All LLCs.
#[derive(Debug, Default)]
pub struct Llcs {
    /// The LLCs as core groups, with their CPUs.
    pub groups: CoreGroups,
    /// What is on each LLC.
    pub list: Vec<Llc>,
    /// Every thread that was seen, ascending.
    threads: Vec<Tid>,
}

/// One LLC.
#[derive(Debug)]
pub struct Llc {
    id: LlcId,
    /// How its ways can be divided; `None` if they cannot.
    pub capacity: Option<Capacity>,
    cpus: usize,
    /// Threads that run here, with their program by position; ascending by pid, then tid.
    pub members: Vec<(usize, Tid)>,
    /// Number of other threads that run here, which another policy manages.
    pub others: usize,
    /// The clusters that were set.
    pub clusters: Clusters,
    /// The sampling that is under way.
    pub sampling: Option<Sampling>,
    /// What the clusters were made for: nothing changes while this is the same.
    pub made_for: Option<Vec<(Pid, u32, Tid)>>,
    /// Whether a cluster was refused, so that the others are to be removed.
    pub retreats: bool,
}

impl Llcs {
    /// Adopts the machine if it is a different one than before. LLCs that stay keep their clusters.
    pub fn fit(&mut self, machine: &Arc<Topology>) {
        if !self.groups.fit(machine) {
            return;
        }
        let mut old = std::mem::take(&mut self.list);
        let mut keep = |id: LlcId| old.iter().position(|llc| llc.id == id).map(|at| old.swap_remove(at).clusters);
        let fresh = |(llc, group): (&isobar_model::topology::Llc, &Group)| Llc {
            id: llc.id,
            capacity: Capacity::of(machine, llc),
            cpus: group.seats.len(),
            members: Vec::new(),
            others: 0,
            clusters: keep(llc.id).unwrap_or_default(),
            sampling: None,
            made_for: None,
            retreats: false,
        };
        self.list = machine.llcs().iter().zip(&self.groups.list).map(fresh).collect();
    }

    /// Records where the threads of an observation run; `programs` are those of its processes.
    pub fn locate(&mut self, seen: &Observation, programs: &mut Programs) {
        self.threads.clear();
        self.list.iter_mut().for_each(|llc| {
            llc.members.clear();
            llc.others = 0;
        });
        for (index, process) in seen.processes.iter().enumerate() {
            let Some(program) = programs.list.get_mut(index) else { return };
            program.llc = None;
            for thread in &process.threads {
                self.threads.push(thread.tid);
                let Some(llc) = thread.cpu.and_then(|cpu| self.groups.of_cpu(cpu)) else { continue };
                if process.elsewhere {
                    self.list[llc].others += 1;
                    continue;
                }
                self.list[llc].members.push((index, thread.tid));
                if program.reference == Some(thread.tid) {
                    program.llc = Some(llc);
                }
            }
        }
        self.threads.sort_unstable();
    }

    /// The LLC with this id.
    pub fn by_id(&mut self, id: LlcId) -> Option<&mut Llc> {
        self.list.iter_mut().find(|llc| llc.id == id)
    }

    /// Adds the actions that give an LLC the wanted clusters; `why` gives their reasons.
    pub fn set(
        &mut self,
        llc: usize,
        wanted: Vec<Wanted>,
        why: impl Fn(Option<usize>) -> String,
        actions: &mut Vec<Action>,
    ) {
        let runs = |tid: Tid| self.threads.binary_search(&tid).is_ok();
        let Llc { id, capacity: Some(capacity), clusters, .. } = &mut self.list[llc] else { return };
        clusters.change(*id, wanted, capacity.full_mask(), runs, why, actions);
    }
}

impl Llc {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> LlcId {
        self.id
    }

    /// Records that a cluster, or its removal, was refused. Half a partitioning protects no program
    /// and may confine one, so if a cluster is missing the others are removed too.
    pub fn refused(&mut self, cluster: &str, removal: bool) {
        self.clusters.refused(cluster);
        (self.sampling, self.made_for) = (None, None);
        self.retreats |= !removal;
    }

    /// Whether threads of more than one program run here.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.members.first().is_some_and(|(first, _)| self.members.iter().any(|(program, _)| program != first))
    }

    /// Number of threads that run here.
    #[must_use]
    pub const fn crowd(&self) -> usize {
        self.members.len() + self.others
    }

    /// Whether more threads than CPUs run here. LFOC+ was not made for that case and then does not
    /// partition (section V.A).
    #[must_use]
    pub fn is_oversubscribed(&self) -> bool {
        self.crowd() > self.cpus
    }
}
