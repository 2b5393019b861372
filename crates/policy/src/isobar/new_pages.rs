//! Handles programs whose pages were moved away from their threads. Their new pages should go to
//! the other pages, whereas the kernel would place them at the thread that touches them first. This
//! is asked for only if a program grows. Linux allows it only for programs that `isobar run`
//! started. New pages of other programs can be moved only once they are there.

use super::memory::Memory;
use super::pages::Goal;
use crate::kit::refused::{Refused, RequestKey};
use crate::kit::running::Running;
use isobar_model::{Action, NodeId, Observation, Pid};
use std::collections::BTreeMap;

/// Least fraction of its pages that is to be on a node for new pages to go there, too.
const MOST: f64 = 0.9;
/// Maximum number of processes for which a request is remembered.
const REMEMBERED: usize = 4096;

/// What was requested for new pages.
#[derive(Clone, Debug, Default)]
pub struct NewPages {
    /// The node that was requested for new pages, by process. A process that is not observed now
    /// may return while its request is in force.
    asked: BTreeMap<Pid, NodeId>,
}

impl NewPages {
    /// Adds requests that change something to a plan's actions. New pages of a growing program go
    /// where its pages are on their way to. Once its pages come back to its threads, new pages are
    /// placed there again. If the plan moves threads of a program, they may be about to join its
    /// pages, so the program is considered again in the next epoch. `grows` says which programs
    /// grow.
    pub fn follow(
        &mut self,
        goals: &[Goal],
        seen: &Observation,
        memory: &Memory,
        grows: impl Fn(Pid) -> bool,
        refused: &Refused,
        actions: &mut Vec<Action>,
    ) {
        for goal in goals {
            let running = seen.process(goal.pid).and_then(|process| Running::of(process, &seen.machine));
            let Some(Running { nodes, .. }) = running else { continue };
            let to = goal.weights.iter().position(|weight| *weight >= MOST).map(|at| memory.nodes[at]);
            let away = to.filter(|to| nodes.iter().any(|node| node != to));
            let (pid, now) = (goal.pid, self.asked.get(&goal.pid).copied());
            let moves = actions.iter().any(|one| matches!(one, Action::MoveThread { pid: moved, .. } if *moved == pid));
            let open = !moves && (now.is_some() || grows(pid));
            if now == away || !open || refused.waits(RequestKey::Allocation(pid)) {
                continue;
            }
            let reason = &goal.reason;
            if let Some(node) = away {
                self.asked.insert(pid, node);
                let reason = format!("its memory grows, and new pages go where its other pages go; {reason}");
                actions.push(Action::SetAllocation { pid, for_node: None, node, weights: Vec::new(), reason });
                continue;
            }
            self.asked.remove(&pid);
            let whole = nodes.len() == 1;
            actions.extend(nodes.into_iter().map(|node| Action::SetAllocation {
                pid,
                for_node: (!whole).then_some(node),
                node,
                weights: Vec::new(),
                reason: format!("new pages go where its threads run; {reason}"),
            }));
        }
        while self.asked.len() > REMEMBERED {
            self.asked.pop_first();
        }
    }

    /// Takes the outcome of a plan: a request that was refused is not in force.
    pub fn applied<'a>(&mut self, refused: impl Iterator<Item = &'a Action>) {
        for action in refused {
            if let Action::SetAllocation { pid, .. } = action {
                self.asked.remove(pid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::growth::Growth;
    use crate::kit::domains::Domains;
    use crate::test_kit::{moved, observation, process, thread, with_pages};
    use isobar_model::{CpuId, Plan, Tid};

    /// One epoch, in which a process on given CPUs has some pages on the first node. Returns what
    /// is requested; if it `refuses`, everything is refused.
    fn epoch(
        (new, growth): &mut (NewPages, Growth),
        cpus: &[u32],
        pages: u64,
        goal: Option<[f64; 2]>,
        refuses: bool,
    ) -> Vec<String> {
        let threads = (1..).zip(cpus).map(|(tid, cpu)| thread(tid, *cpu, 20.0)).collect();
        let mut seen = observation("node:2 core:4", vec![process(1, threads)]);
        with_pages(&mut seen, 1, &[pages, 0]);
        let memory = Memory::of(&seen, &Domains::of(&seen.machine)).unwrap();
        let goals: Vec<Goal> =
            goal.into_iter().map(|weights| Goal::new(Pid(1), weights.into(), "because".into())).collect();
        let mut plan = Plan::nothing("test");
        growth.read(Some(pages));
        let grows = |_| growth.grows;
        let reason = "test".to_owned();
        let move_ = Action::MoveThread { pid: Pid(1), tid: Tid(1), cpu: CpuId(4), cpus: None, reason };
        let mut beside = vec![move_];
        new.clone().follow(&goals, &seen, &memory, grows, &Refused::default(), &mut beside);
        assert_eq!(beside.len(), 1, "its threads may be about to join its pages");
        new.follow(&goals, &seen, &memory, grows, &Refused::default(), &mut plan.actions);
        if refuses {
            new.applied(plan.actions.iter());
        }
        moved(&seen, &plan)
    }

    #[test]
    fn new_pages_of_what_grows_go_where_its_pages_go_and_come_back_with_them() {
        let (mut new, away, home) = (<(NewPages, Growth)>::default(), Some([0.0, 1.0]), Some([1.0, 0.0]));
        assert!(epoch(&mut new, &[0], 1000, away, false).is_empty(), "whether it grows is not known yet");
        assert!(epoch(&mut new, &[0], 1005, away, false).is_empty(), "hardly");
        assert!(epoch(&mut new, &[0], 1100, home, false).is_empty(), "where the kernel places them");
        assert_eq!(epoch(&mut new, &[0], 1200, away, true), ["1: new >1"]);
        assert_eq!(epoch(&mut new, &[0], 1300, away, false), ["1: new >1"], "it was refused");
        assert!(epoch(&mut new, &[0], 1400, away, false).is_empty(), "so it is");
        assert!(epoch(&mut new, &[0], 1400, None, false).is_empty(), "and stays when all pages are there");
        assert_eq!(epoch(&mut new, &[0], 1400, home, false), ["1: new >0"], "it was taken back");
        assert!(epoch(&mut new, &[0], 1500, home, false).is_empty());
    }

    #[test]
    fn threads_of_several_nodes_each_get_their_own_back() {
        let mut new = <(NewPages, Growth)>::default();
        assert!(epoch(&mut new, &[0, 4], 1000, Some([0.0, 1.0]), false).is_empty());
        assert_eq!(epoch(&mut new, &[0, 4], 1100, Some([0.0, 1.0]), false), ["1: new >1"]);
        assert_eq!(epoch(&mut new, &[0, 4], 1100, Some([0.5, 0.5]), false), ["1: on 0 new >0", "1: on 1 new >1"]);
    }

    #[test]
    fn few_are_remembered() {
        let mut new = NewPages { asked: (0..=5000).map(|pid| (Pid(pid), NodeId(1))).collect() };
        let seen = observation("node:2 core:4", Vec::new());
        let memory = Memory::of(&seen, &Domains::of(&seen.machine)).unwrap();
        new.follow(&[], &seen, &memory, |_| false, &Refused::default(), &mut Vec::new());
        assert_eq!((new.asked.len(), new.asked.keys().next()), (REMEMBERED, Some(&Pid(5001 - 4096))));
    }
}
