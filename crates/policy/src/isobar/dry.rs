//! Changes that are not carried out, as in a dry run. There is nothing to measure then: the policy
//! goes back to where it was before the change, and looks for one again after the time that a trial
//! would have taken.

use super::new_pages::NewPages;
use super::pages::Goal;
use super::programs::Programs;
use super::ways::Ways;

/// What a change alters in the policy, as it was before the change.
#[derive(Debug)]
pub struct Before {
    /// The time of the change.
    pub time: f64,
    /// The pages that were to be moved.
    pub goals: Vec<Goal>,
    /// What was requested for new pages.
    pub new_pages: NewPages,
    /// The divisions of all caches.
    pub ways: Ways,
}

impl Before {
    /// Goes back to it.
    pub fn restore(self, goals: &mut Vec<Goal>, new_pages: &mut NewPages, ways: &mut Ways, programs: &mut Programs) {
        (*goals, *new_pages) = (self.goals, self.new_pages);
        ways.go_back(self.ways);
        for program in &mut programs.list {
            program.moves.retain(|time| *time != self.time);
        }
    }
}
