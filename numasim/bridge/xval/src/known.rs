//! What is known of the programs alone: what was measured, the simulator's program derived from it,
//! and what this program does alone in the simulator.

use crate::alone::{Alone, alone, nearest_other};
use crate::derive::{self, Profile, Solo};
use crate::file::{Mix, Seat, Xval};
use crate::job::first_cpu;
use crate::seen::{Seen, seen};
use crate::simulate::{Placed, simulate};
use isobar_sim::{MachineSpec, Program};
use numasim_guest::wire::Ran;
use numasim_model::Spec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program whose behaviour alone is known.
pub(crate) struct Known {
    pub(crate) alone: Seen,
    pub(crate) profile: Profile,
    pub(crate) program: Arc<Program>,
    /// The simulator's cycles per instruction alone.
    pub(crate) cpi: f64,
}

/// The basis of the comparison: machine, twin and runs.
pub(crate) struct Bench<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) machine: Arc<MachineSpec>,
    pub(crate) ran: BTreeMap<&'a str, &'a Ran>,
}

impl Bench<'_> {
    /// The programs on the seats of a mix.
    pub(crate) fn placed(&self, mix: &Mix, programs: impl Iterator<Item = Arc<Program>>) -> Vec<Placed> {
        let place =
            |(seat, program): (&Seat, Arc<Program>)| Placed { program, cpu: seat.cpu, node: seat.node(self.spec) };
        mix.of.iter().zip(programs).map(place).collect()
    }

    pub(crate) fn clock_hz(&self) -> f64 {
        self.spec.clock_mhz * 1e6
    }

    pub(crate) fn ran(&self, id: &str) -> Result<&Ran, String> {
        self.ran.get(id).copied().ok_or_else(|| format!("{id}: it did not run"))
    }

    /// A program, as known from its runs alone. Runs that did not count are reported; only the run
    /// with all ways is required.
    pub(crate) fn known(&self, xval: &Xval, name: &str, problems: &mut Vec<String>) -> Result<Known, String> {
        let mut solos = Vec::new();
        for one in alone(xval, self.spec, name) {
            match self.solo(&one) {
                Ok(solo) => solos.push(solo),
                Err(problem) => problems.push(problem),
            }
        }
        let without = || format!("{name}: it has no run alone with all ways, so it cannot be used in a mix");
        let alone = solos.iter().find(|solo| self.is_whole(solo)).ok_or_else(without)?.seen;
        solos.iter_mut().for_each(|solo| solo.seen = own_work(&solo.seen, &alone));
        let profile = derive::profile(self.spec, &solos).ok_or_else(without)?;
        // Policies know programs by the names of their processes.
        let command = xval.program.iter().find(|one| one.name == name).map_or(name, |one| one.command());
        let program = Arc::new(profile.program(self.spec, command));
        let (cpu, node) = (first_cpu(self.spec, 0), 0);
        let pace = simulate(&self.machine, &[Placed { program: Arc::clone(&program), cpu, node }]);
        let cpi = pace.and_then(|paces| paces.first().map(|pace| pace.cpi)).ok_or_else(without)?;
        Ok(Known { alone, profile, program, cpi })
    }

    fn is_whole(&self, solo: &Solo) -> bool {
        solo.nodes.0 == solo.nodes.1 && self.spec.llc.first().is_some_and(|llc| llc.ways == solo.ways)
    }

    fn solo(&self, one: &Alone) -> Result<Solo, String> {
        let ways = one.ways.or_else(|| self.spec.llc.first().map(|llc| llc.ways)).unwrap_or(0);
        let memory = if one.remote { nearest_other(self.spec, 0).unwrap_or(0) } else { 0 };
        let seen = seen(self.ran(&one.id())?, 0, first_cpu(self.spec, 0), self.clock_hz())?;
        Ok(Solo { ways, nodes: (0, memory), seen })
    }
}

/// What is known alone of the programs of a mix.
pub(crate) fn known_of<'a>(mix: &Mix, known: &'a BTreeMap<String, Known>, run: &str) -> Result<Vec<&'a Known>, String> {
    let who = |seat: &Seat| known.get(&seat.program).ok_or_else(|| format!("{run}: {seat} has no run alone"));
    mix.of.iter().map(who).collect()
}

/// What was seen, but with only the program's own instructions: their number follows from the
/// program's own clock and the cycles that it had.
pub(crate) fn own_work(saw: &Seen, alone: &Seen) -> Seen {
    let Some(by_clock) = own_clock(saw, alone) else { return *saw };
    let too_many = by_clock * alone.cpi() / saw.cpi();
    Seen { instructions: saw.instructions / too_many, ..*saw }
}

/// The slowdown by the program's own clock, if it has one.
pub(crate) fn own_clock(saw: &Seen, alone: &Seen) -> Option<f64> {
    Some(saw.pass? / alone.pass?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::tests::ran;

    /// Alone, the program executes 1000 instructions in 3000 cycles, and a pass takes 0.25 s. In a
    /// mix a pass takes 0.5 s, so an instruction of its own takes six cycles; but 1000 instructions
    /// took 5000 cycles, because some of them are the kernel's and cost less. So 5000 cycles were
    /// 833 instructions of its own.
    #[test]
    fn instructions_of_the_kernel_are_taken_off_by_the_own_clock() {
        let alone = seen(&ran(), 0, 0, 1e8).unwrap();
        let saw = Seen { cycles: 5000.0, pass: Some(0.5), ..alone };
        let own = own_work(&saw, &alone);
        assert!((own.instructions - 5000.0 / 6.0).abs() < 1e-9, "{own:?}");
        assert!((own.cpi() / alone.cpi() - 2.0).abs() < 1e-12);
        assert_eq!(own_work(&Seen { pass: None, ..saw }, &alone).instructions, 1000.0);
    }
}
