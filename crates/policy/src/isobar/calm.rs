//! Whether the same programs have run for a while. In the second between a program that ends and
//! the one that starts after it the machine is another one: what would be decided then would hold
//! for a second, and what was measured before it is no measure of what comes after.

use super::programs::Programs;
use isobar_model::Pid;

/// The programs that run, and since when they are the same.
#[derive(Clone, Debug, Default)]
pub struct Calm {
    /// `None` before the first epoch.
    there: Option<Vec<Pid>>,
    /// Epochs for which they have been the same.
    same: u32,
    /// Epochs since they were last the same for long enough.
    waited: u32,
}

/// The programs that run.
#[must_use]
pub fn there(programs: &Programs) -> Vec<Pid> {
    programs.list.iter().filter(|program| program.last.is_some()).map(|program| program.pid).collect()
}

impl Calm {
    /// Takes an epoch; whether changes may be looked for: the same programs ran through a whole
    /// window, or that did not happen for `patience` epochs.
    pub fn pass(&mut self, programs: &Programs, window: u32, patience: u32) -> bool {
        let now = there(programs);
        // Before the first epoch nothing is known to have changed.
        let stays = self.there.as_ref().is_none_or(|before| *before == now);
        self.same = if stays { self.same.saturating_add(1) } else { 0 };
        self.there = Some(now);
        self.waited = if self.same >= window { 0 } else { self.waited.saturating_add(1) };
        self.same >= window || self.waited > patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::program::{Program, Reading};
    use std::sync::Arc;

    fn running(pids: &[u32]) -> Programs {
        let one = |pid: &u32| {
            let mut program = Program::new(Pid(*pid), &Arc::from("p"), 0.0, None);
            program.last = Some(Reading::default());
            program
        };
        let mut programs = Programs::default();
        programs.list = pids.iter().map(one).collect();
        programs
    }

    /// Program 2 ends, and program 3 takes its place; later another comes every second epoch.
    #[test]
    fn a_change_of_programs_is_waited_for_but_not_for_ever() {
        let mut calm = Calm::default();
        let mut pass = |pids: &[u32]| calm.pass(&running(pids), 2, 4);
        assert_eq!([pass(&[1, 2]), pass(&[1, 2]), pass(&[1, 2])], [false, true, true]);
        assert_eq!([pass(&[1]), pass(&[1, 3]), pass(&[1, 3]), pass(&[1, 3])], [false, false, false, true]);
        let restless = [pass(&[1]), pass(&[1]), pass(&[2]), pass(&[2]), pass(&[3]), pass(&[3])];
        assert_eq!(restless, [false, false, false, false, true, true]);
    }
}
