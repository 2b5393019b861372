//! A change that a person undid counts as a failed trial. What it was about is left alone, twice as
//! long each time, and what is left of the change is not judged.

use super::isobar::{Isobar, Mode, NAME};
use super::trial::Trial;
use isobar_model::outcome::UNDONE;
use isobar_model::{Action, ActionOutcome, Outcome, Pid, Plan, Seconds, Subject};

impl Isobar {
    pub(super) fn fail_by_hand(&mut self, action: &Action) {
        let refused = ActionOutcome::Refused { errno: None, why: UNDONE.to_owned() };
        let plan = Plan { actions: vec![action.clone()], ..Plan::nothing(NAME) };
        self.hear(&plan, &Outcome { actions: vec![refused] });
        let pid = Subject::of(action).and_then(|subject| subject.pid());
        // Pages that were still to move stay, and nothing of an earlier change is taken back.
        self.goals.retain(|goal| Some(goal.pid) != pid);
        self.forget_kept(pid.into_iter());
        let rest = Seconds(self.config.rest_seconds);
        let (now, divided) = (self.now, self.divided(action));
        self.programs.list.iter_mut().filter(|one| Some(one.pid) == pid).for_each(|one| one.fail(now, rest));
        divided.into_iter().for_each(|llc| self.ways.fail(llc, false, now, rest.0));
        if let Mode::Trying(trial) = &self.mode
            && is_about(trial, pid, divided)
        {
            self.ways.close(&trial.opened);
            self.mode = Mode::Settling(self.config.trial_epochs());
        }
    }

    /// The cache, by position, whose ways an action divides.
    fn divided(&self, action: &Action) -> Option<usize> {
        let (machine, _) = self.memory.as_ref()?;
        let Action::SetWays { llc, .. } = action else { return None };
        machine.llcs().iter().position(|one| one.id == *llc)
    }
}

fn is_about(trial: &Trial, pid: Option<Pid>, divided: Option<usize>) -> bool {
    let touches = |pid: Pid| trial.touched.iter().any(|one| one.pid == pid);
    pid.is_some_and(touches) || (divided.is_some() && trial.divided == divided)
}
