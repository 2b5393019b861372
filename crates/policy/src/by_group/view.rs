//! What each of several policies sees of one epoch: the whole observation, in which the processes
//! of other policies are marked, and what the policies before it planned in the same epoch counts
//! as done.

use isobar_model::{Action, Bytes, CpuId, Observation, Pid, Plan, Tid};

/// Bytes of a base page, assumed wherever an observation does not give the size.
const PAGE: u64 = 4096;

/// An epoch, as the policies see it one after the other.
pub struct View<'a> {
    seen: &'a Observation,
    now: Observation,
    /// The policy that decides about each process, by its place in their order.
    owners: Vec<usize>,
}

impl<'a> View<'a> {
    /// The view before anything is planned.
    pub fn of(seen: &'a Observation, owners: Vec<usize>) -> Self {
        Self { seen, now: seen.clone(), owners }
    }

    /// What the policy at a place sees.
    pub fn for_policy(&mut self, place: usize) -> &Observation {
        let both = self.now.processes.iter_mut().zip(&self.seen.processes);
        for ((process, seen), owner) in both.zip(&self.owners) {
            process.elsewhere = seen.elsewhere || *owner != place;
            for (thread, seen) in process.threads.iter_mut().zip(&seen.threads) {
                thread.pinned = seen.pinned || process.elsewhere;
            }
        }
        &self.now
    }

    /// Takes a plan as carried out, as far as it concerns the policies that are asked next: threads
    /// are on their CPUs, and pages take up memory on the nodes where they go.
    pub fn follow(&mut self, plan: &Plan) {
        for action in &plan.actions {
            match action {
                Action::MoveThread { pid, tid, cpu, .. } => self.put(*pid, *tid, *cpu),
                Action::MigratePages { to, pages, .. } => {
                    if let Some(free) = self.now.free.get(*to) {
                        let left = Bytes(free.0.saturating_sub(pages.0.saturating_mul(PAGE)));
                        self.now.free.insert(*to, left);
                    }
                }
                Action::WithdrawPages { .. } | Action::SetWays { .. } | Action::SetAllocation { .. } => {}
            }
        }
    }

    fn put(&mut self, pid: Pid, tid: Tid, cpu: CpuId) {
        let Ok(at) = self.now.processes.binary_search_by_key(&pid, |process| process.pid) else { return };
        let threads = &mut self.now.processes[at].threads;
        if let Ok(at) = threads.binary_search_by_key(&tid, |thread| thread.tid) {
            (threads[at].cpu, threads[at].bound) = (Some(cpu), Some(true));
        }
    }
}
