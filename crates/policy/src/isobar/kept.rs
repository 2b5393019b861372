//! A change by which all programs together lost a little, and which stays because bringing the
//! pages back would cost more than that loss, for as long as the programs were expected to go on.
//! Programs that go on are expected to go on for longer, so the question is asked again in each
//! epoch.

use super::isobar::{Isobar, Mode};
use super::scene::Scene;
use super::step::copying;
use super::trial::Trial;
use super::verdict::Verdict;
use crate::kit::domains::Domains;
use isobar_model::{Observation, Pid, Plan};

impl Isobar {
    /// Keeps a change that lost for as long as taking it back does not pay.
    pub(super) fn keep_for_now(&mut self, trial: &Trial, verdict: &Verdict, plan: &mut Plan) {
        let why = "moving the pages back would cost more than the programs lose";
        plan.notes.push(format!("change {} stays for now: {why}", trial.change));
        self.kept = Some((trial.clone(), verdict.clone()));
    }

    /// Takes back a change that lost and was kept, if that pays by now. True if it did.
    pub(super) fn take_back_kept(
        &mut self,
        seen: &Observation,
        domains: &Domains,
        scene: &Scene,
        plan: &mut Plan,
    ) -> bool {
        let Some((trial, verdict)) = self.kept.take() else { return false };
        if trial.is_moot(&self.programs) || trial.is_past(&self.programs) {
            return false;
        }
        if !self.back_pays(scene, &trial, &verdict) {
            self.kept = Some((trial, verdict));
            return false;
        }
        let why =
            format!("change {} is taken back after all: its programs go on for longer than expected", trial.change);
        plan.notes.push(why.clone());
        self.book(&verdict, -1.0);
        self.take_back(seen, domains, &trial, &why, plan);
        self.mode = Mode::Settling(self.config.trial_epochs());
        true
    }

    /// Forgets a change that was kept if another change, or a person, now concerns one of its
    /// programs.
    pub(super) fn forget_kept(&mut self, mut changed: impl Iterator<Item = Pid>) {
        if self.kept.as_ref().is_some_and(|(kept, _)| changed.any(|pid| kept.touches(pid))) {
            self.kept = None;
        }
    }

    /// Whether what all programs together lost by a change is more, for as long as they will go on,
    /// than it costs to bring the pages back.
    pub(super) fn back_pays(&self, scene: &Scene, trial: &Trial, verdict: &Verdict) -> bool {
        let (mut pages, mut horizon) = (0.0, 0.0_f64);
        for (at, one) in scene.traits.iter().enumerate() {
            let pid = self.programs.list[at].pid;
            let Some(touched) = trial.touched.iter().find(|touched| touched.pid == pid) else { continue };
            horizon = horizon.max(one.horizon);
            let back = |(was, is): (&f64, &f64)| (was - is).max(0.0);
            let was = touched.pages.iter().flatten();
            pages += one.pages * was.zip(&scene.base.weights[at]).map(back).sum::<f64>();
        }
        pages <= 0.0 || -verdict.measured * horizon > copying(scene, pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::config::Config;
    use crate::isobar::idle::Idle;
    use crate::isobar::memory::Memory;
    use crate::isobar::stage::stage;
    use crate::isobar::trial::Touched;
    use crate::test_kit::{observation, process, thread, with_pages};
    use isobar_model::{Action, NodeId, PageSelection, Pages};

    /// A program whose 100,000 pages were brought from node 1 to node 0, by which it lost 3 %. Also
    /// for how long it must go on so that bringing them back pays.
    fn lost(pages: Option<Vec<f64>>) -> (Isobar, Observation, Scene, Memory, Trial, Verdict, f64) {
        let mut seen = observation("node:2 core:2", vec![process(1, vec![thread(1, 0, 20.0)])]);
        with_pages(&mut seen, 1, &[100_000, 0]);
        let (scene, memory, programs) = stage(&seen, 4, &Idle::default());
        let touched = vec![Touched { pid: Pid(1), carried: Vec::new(), pages }];
        let trial = Trial::new(1, touched, &programs, &[1.2], 3, 0.0);
        let mut policy = Isobar::new(Config::default());
        policy.programs = programs;
        let enough = copying(&scene, 100_000.0) / 0.03;
        let verdict = Verdict { measured: -0.03, error: 0.01, moved: 1.0, ..Verdict::default() };
        (policy, seen, scene, memory, trial, verdict, enough)
    }

    #[test]
    fn pages_go_back_if_the_loss_will_cost_more() {
        let (policy, _, mut scene, _, trial, verdict, enough) = lost(Some(vec![0.0, 1.0]));
        let mut pays = |horizon: f64, there: f64| {
            scene.traits[0].horizon = horizon;
            scene.base.weights[0] = vec![1.0 - there, there];
            policy.back_pays(&scene, &trial, &verdict)
        };
        assert_eq!([pays(0.9 * enough, 0.0), pays(1.1 * enough, 0.0)], [false, true]);
        assert!(pays(0.9 * enough, 0.2), "someone has brought a fifth of them back");
        assert!(pays(0.0, 1.0), "all of them");
        let (policy, _, mut scene, _, trial, verdict, _) = lost(None);
        scene.traits[0].horizon = 0.0;
        assert!(policy.back_pays(&scene, &trial, &verdict), "no page was moved");
    }

    /// It stays while the program is young, and goes back once the program has gone on for longer.
    /// A program that does something else by then is left where it is.
    #[test]
    fn a_change_that_stays_for_now_goes_back_later() {
        for another_phase in [false, true] {
            let (mut policy, seen, mut scene, _, trial, verdict, enough) = lost(Some(vec![0.0, 1.0]));
            let domains = Domains::of(&seen.machine);
            let mut plan = Plan::nothing("isobar");
            scene.traits[0].horizon = 0.5 * enough;
            policy.conclude(&seen, (&domains, &scene), &trial, &verdict, &mut plan);
            assert!(plan.notes[0].contains("stays for now") && plan.effects[0].kept, "{plan:?}");
            assert!(!policy.take_back_kept(&seen, &domains, &scene, &mut plan) && policy.goals.is_empty());
            scene.traits[0].horizon = 2.0 * enough;
            policy.programs.list[0].phase += if another_phase { 9.0 } else { 0.0 };
            assert_eq!(policy.take_back_kept(&seen, &domains, &scene, &mut plan), !another_phase);
            let back: Vec<_> = policy.goals.iter().map(|goal| (goal.pid, goal.weights.clone())).collect();
            assert_eq!(back, if another_phase { vec![] } else { vec![(Pid(1), vec![0.0, 1.0])] });
            assert!(!policy.take_back_kept(&seen, &domains, &scene, &mut plan), "once");
        }
    }

    #[test]
    fn what_a_person_undid_is_not_taken_back_again() {
        let (mut policy, seen, mut scene, _, trial, verdict, enough) = lost(Some(vec![0.0, 1.0]));
        let (domains, mut plan) = (Domains::of(&seen.machine), Plan::nothing("isobar"));
        scene.traits[0].horizon = 2.0 * enough;
        policy.kept = Some((trial, verdict));
        policy.fail_by_hand(&Action::MigratePages {
            pid: Pid(1),
            from: NodeId(1),
            to: NodeId(0),
            pages: Pages(100_000),
            select: PageSelection::ResidentSet,
            for_thread: None,
            reason: String::new(),
        });
        assert!(!policy.take_back_kept(&seen, &domains, &scene, &mut plan) && plan.notes.is_empty());
    }
}
