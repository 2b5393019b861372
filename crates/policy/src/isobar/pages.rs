//! Moves pages to where they should be. A machine accepts a limited number of pages at a time, so a
//! goal takes several epochs. In each epoch this file asks for what is missing, until the pages are
//! there or do not move any more.

use super::memory::Memory;
use super::programs::{resident, weights};
use crate::kit::flight;
use isobar_model::{Action, Observation, PageSelection, Pages, Pid, num};

/// Fraction of a program's pages that may stay elsewhere: libraries, locked pages.
const STRAY: f64 = 0.02;
/// Epochs without progress after which the rest is taken to stay, because the verdict on a change
/// waits for its last page. One epoch is too short if pages wait behind those of others.
const STUCK: u32 = 2;

/// Where the pages of a process should be.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The process.
    pub pid: Pid,
    /// The fraction of its pages that is to be on each node, by position.
    pub weights: Vec<f64>,
    /// The reason, in words.
    pub reason: String,
    away: f64,
    still: u32,
}

impl Goal {
    /// A new goal.
    #[must_use]
    pub fn new(pid: Pid, weights: Vec<f64>, reason: String) -> Self {
        Self { pid, weights, reason, away: f64::INFINITY, still: 0 }
    }

    /// What to ask for in an epoch; `None` once the goal is reached, or if no more pages move.
    fn ask(&mut self, seen: &Observation, memory: &Memory, free: &mut [f64]) -> Option<Vec<Action>> {
        let process = seen.process(self.pid)?;
        let now = weights(process, memory)?;
        let pages = process.pages.as_ref()?;
        let all = resident(process)?;
        let away: f64 = now.iter().zip(&self.weights).map(|(is, should)| (is - should).max(0.0)).sum();
        if away <= STRAY {
            return None;
        }
        let flying = seen.in_flight().any(|move_| move_.pid == self.pid);
        self.still = if flying || away < self.away - 0.002 { 0 } else { self.still + 1 };
        self.away = away;
        if self.still > STUCK {
            return None;
        }
        let count = |part: f64| num::floor(part.max(0.0) * num::float(all));
        let on = |at: usize| pages.get(memory.nodes[at]).map_or(0, |count| count.0);
        let coming = |at: usize| -> u64 {
            let here = seen.in_flight().filter(|move_| move_.pid == self.pid && move_.to == memory.nodes[at]);
            here.map(|move_| move_.left().0).sum()
        };
        let leaving = |at: usize| flight::leaving(seen, self.pid, memory.nodes[at]);
        let nodes = now.len();
        let mut spare: Vec<u64> =
            (0..nodes).map(|at| on(at).saturating_sub(leaving(at)).saturating_sub(count(self.weights[at]))).collect();
        let mut actions = Vec::new();
        for (to, room) in free.iter_mut().enumerate().take(nodes) {
            let mut wanted = count(self.weights[to]).saturating_sub(on(to) + coming(to)).min(num::floor(*room));
            for from in (0..nodes).filter(|from| *from != to) {
                let pages = wanted.min(spare[from]);
                if pages < (all / 200).max(1) {
                    continue;
                }
                (wanted, spare[from]) = (wanted - pages, spare[from] - pages);
                *room -= num::float(pages);
                actions.push(Action::MigratePages {
                    pid: self.pid,
                    from: memory.nodes[from],
                    to: memory.nodes[to],
                    pages: Pages(pages),
                    select: PageSelection::ResidentSet,
                    for_thread: None,
                    reason: self.reason.clone(),
                });
            }
        }
        Some(actions)
    }
}

/// Adds what all goals ask for to a plan's actions; drops goals that are reached or given up.
pub fn ask(goals: &mut Vec<Goal>, seen: &Observation, memory: &Memory, free: &[f64], actions: &mut Vec<Action>) {
    let mut free = free.to_vec();
    goals.retain_mut(|goal| {
        let asked = goal.ask(seen, memory, &mut free);
        let goes_on = asked.is_some();
        actions.extend(asked.into_iter().flatten());
        goes_on
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::domains::Domains;
    use crate::test_kit::{in_flight, observation, process, thread, with_pages};

    fn asked(goals: &mut Vec<Goal>, seen: &Observation) -> Vec<(u32, u32, u64)> {
        let memory = Memory::of(seen, &Domains::of(&seen.machine)).unwrap();
        let mut actions = Vec::new();
        ask(goals, seen, &memory, &[1e9, 1e9], &mut actions);
        let one = |action: &Action| match action {
            Action::MigratePages { from, to, pages, .. } => (from.0, to.0, pages.0),
            other => panic!("{other:?}"),
        };
        actions.iter().map(one).collect()
    }

    #[test]
    fn what_is_away_and_not_under_way_is_asked_for_until_it_is_there() {
        let mut seen = observation("node:2 core:1", vec![process(1, vec![thread(1, 0, 1.0)])]);
        let mut goals = vec![Goal::new(Pid(1), vec![0.0, 1.0], "because".into())];
        with_pages(&mut seen, 1, &[800, 200]);
        assert_eq!(asked(&mut goals, &seen), [(0, 1, 800)]);
        in_flight(&mut seen, 1, (0, 1), 500);
        assert_eq!(asked(&mut goals, &seen), [(0, 1, 300)]);
        seen.page_moves.clear();
        with_pages(&mut seen, 1, &[10, 990]);
        assert!(asked(&mut goals, &seen).is_empty() && goals.is_empty());
    }

    #[test]
    fn pages_that_do_not_move_are_given_up() {
        let mut seen = observation("node:2 core:1", vec![process(1, vec![thread(1, 0, 1.0)])]);
        with_pages(&mut seen, 1, &[800, 200]);
        let mut goals = vec![Goal::new(Pid(1), vec![0.0, 1.0], "because".into())];
        let epochs = (0..10).take_while(|_| !asked(&mut goals, &seen).is_empty()).count();
        assert_eq!(epochs, 3);
    }
}
