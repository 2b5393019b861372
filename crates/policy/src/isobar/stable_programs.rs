//! Whether the same programs have run for a while. In the second between the end of a program and
//! the start of the one after it, the machine is a different one. A decision made then would hold
//! for a second, and what was measured before is no measure of what comes after.

use super::program::Program;
use super::programs::Programs;
use isobar_model::Pid;
use std::sync::Arc;

/// The programs that run, and for how long they have been the same.
#[derive(Clone, Debug, Default)]
pub struct StablePrograms {
    /// The programs of the last epoch; `None` before the first.
    there: Option<Vec<Pid>>,
    /// Epochs for which they have been the same.
    same: u32,
    /// Epochs since they were last the same for long enough.
    waited: u32,
    /// The names of the programs when they were last the same for long enough, in order.
    names: Vec<Arc<str>>,
}

/// The programs that run.
#[must_use]
pub fn there(programs: &Programs) -> Vec<Pid> {
    running(programs).map(|program| program.pid).collect()
}

fn running(programs: &Programs) -> impl Iterator<Item = &Program> {
    programs.list.iter().filter(|program| program.last.is_some())
}

impl StablePrograms {
    /// Records an epoch. Returns whether changes may be looked for: the same programs ran through a
    /// whole window, or programs that came have the names of those that went, or neither was true
    /// for `patience` epochs.
    pub fn pass(&mut self, programs: &Programs, window: u32, patience: u32) -> bool {
        let now = there(programs);
        self.same = match &self.there {
            // Before the first epoch nothing is known to have changed.
            None => window,
            Some(before) if *before == now => self.same.saturating_add(1),
            Some(_) => 0,
        };
        self.there = Some(now);
        let mut names: Vec<Arc<str>> = running(programs).map(|program| Arc::clone(&program.name)).collect();
        names.sort_unstable();
        let calm = self.same >= window || names == self.names;
        if self.same >= window {
            self.names = names;
        }
        self.waited = if calm { 0 } else { self.waited.saturating_add(1) };
        calm || self.waited > patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::reading::Reading;

    /// Programs by pid; the last digit of a pid stands for a name.
    fn running(pids: &[u32]) -> Programs {
        let one = |pid: &u32| {
            let mut program = Program::new(Pid(*pid), &Arc::from(format!("p{}", pid % 10)), 0.0, None);
            program.last = Some(Reading::default());
            program
        };
        let mut programs = Programs::default();
        programs.list = pids.iter().map(one).collect();
        programs
    }

    /// Program 2 ends, and program 3 takes its place. Later, another program comes every second
    /// epoch.
    #[test]
    fn a_change_of_programs_is_waited_for_but_not_for_ever() {
        let mut calm = StablePrograms::default();
        let mut pass = |pids: &[u32]| calm.pass(&running(pids), 2, 4);
        assert_eq!([pass(&[1, 2]), pass(&[1, 2]), pass(&[1, 2])], [true, true, true]);
        assert_eq!([pass(&[1]), pass(&[1, 3]), pass(&[1, 3]), pass(&[1, 3])], [false, false, false, true]);
        let restless = [pass(&[1]), pass(&[1]), pass(&[2]), pass(&[2]), pass(&[3]), pass(&[3])];
        assert_eq!(restless, [false, false, false, false, true, true]);
    }

    /// Program 12 comes after program 2 and has the same name: the machine is what it was.
    #[test]
    fn another_of_the_same_name_is_not_waited_for() {
        let mut calm = StablePrograms::default();
        let mut pass = |pids: &[u32]| calm.pass(&running(pids), 2, 4);
        assert_eq!([pass(&[1, 2]), pass(&[1]), pass(&[1, 12])], [true, false, true]);
    }
}
