//! The numbers that the papers do not print and we estimated, by kind, and how a workload is run
//! with one kind at the low or at the high end of its range.
//!
//! Ranges are stated with the numbers, in the files of machines and programs, with their sources.
//! This file says which numbers are one kind, so that all numbers of a kind go to the same end
//! together.
//!
//! To add a kind: list it in [`KINDS`] with a function that returns a workload with these numbers
//! at an end.

use isobar_sim::machine::MachineSpec;
use isobar_sim::program::{Phase, Program};
use isobar_sim::{End, Estimate, Run, SimError, Workload};
use std::sync::Arc;

/// Numbers that were estimated in the same way.
#[derive(Debug)]
pub struct Kind {
    /// A short name, such as `node rates`.
    pub name: &'static str,
    /// What is estimated, the source, and the possible error.
    pub what: &'static str,
    /// Returns the workload with its numbers of this kind at an end.
    pub(crate) vary: fn(&Workload, End) -> Result<Workload, SimError>,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kind {}

/// All kinds, in the order of tables.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "node rates",
        what: "the share of its controllers' peak that a memory node sustains (`node.sustained_range` of a machine)",
        vary: |workload, end| workload.assuming(Estimate::NodeRate, end),
    },
    Kind {
        name: "link rates",
        what: "the share of its signalling rate that a link sustains (`link.sustained_range` of a machine)",
        vary: |workload, end| workload.assuming(Estimate::LinkRate, end),
    },
    Kind {
        name: "prefetching",
        what: "lines that prefetchers bring for each miss (`prefetch_range` of a program)",
        vary: |workload, end| workload.assuming(Estimate::Prefetch, end),
    },
    Kind {
        name: "strays",
        what: "how often Linux moves a thread to another node, by its balancing rules (`linux.strays_per_s` of a \
               machine)",
        vary: |workload, end| Ok(strays(workload, end)),
    },
    Kind {
        name: "barriers",
        what: "how far apart the barriers of a job are, from a tenth to ten times the assumed value",
        vary: |workload, end| Ok(workload.clone().with_barrier_factor(BARRIERS[usize::from(end == End::High)])),
    },
    Kind {
        name: "phases",
        what: "phases of programs: low: all are steady; high: programs without phases have half more and half fewer \
               misses in turn, each for 8 s of a run alone. No paper prints phases as numbers",
        vary: |workload, end| Ok(phases(workload, end)),
    },
];

/// Factors on the distance of barriers, at both ends.
pub(crate) const BARRIERS: [f64; 2] = [0.1, 10.0];

/// Number of phases in a run of about a minute alone, the usual length of programs: eight seconds
/// each.
const PHASES_A_RUN: f64 = 7.5;
/// Factors on the misses of both phases, whose mean is the printed rate.
const SWING: [f64; 2] = [1.5, 0.5];

/// Low end: removes all phases. High end: gives phases to programs that have none.
fn phases(workload: &Workload, end: End) -> Workload {
    let mut workload = workload.clone();
    for app in &mut workload.apps {
        let phase = match end {
            End::Low => steady(&app.program),
            End::High if app.program.phase.is_empty() => swinging(&app.program),
            End::High => continue,
        };
        app.program = Arc::new(Program { phase, ..Program::clone(&app.program) });
    }
    workload
}

/// One phase with the mean of all phases: a run has the same number of misses.
fn steady(program: &Program) -> Vec<Phase> {
    let sum = |of: fn(&Phase) -> f64| program.phase.iter().map(of).sum::<f64>();
    let instructions_billion = sum(|phase| phase.instructions_billion);
    let mpki_factor = sum(|phase| phase.instructions_billion * phase.mpki_factor) / instructions_billion;
    program.phase.first().map(|_| Phase { instructions_billion, mpki_factor }).into_iter().collect()
}

fn swinging(program: &Program) -> Vec<Phase> {
    let instructions_billion = program.instructions_billion / f64::from(program.threads) / PHASES_A_RUN;
    SWING.map(|mpki_factor| Phase { instructions_billion, mpki_factor }).to_vec()
}

/// Varies the strays. Experiments that have strays off keep them off.
fn strays(workload: &Workload, end: End) -> Workload {
    let mut workload = workload.clone();
    if let Some(rate) = workload.machine.strays().filter(|rate| rate.value > 0.0) {
        let machine = MachineSpec::clone(&workload.machine);
        workload.machine = Arc::new(machine.with_strays(end.of(Some([rate.low, rate.high]), rate.value)));
    }
    workload
}

/// One kind of estimate at one end; all others unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Varied {
    /// The kind.
    pub kind: &'static Kind,
    /// The end.
    pub end: End,
}

impl Varied {
    /// A workload with its numbers moved to the end.
    pub(crate) fn workload(self, workload: &Workload) -> Result<Workload, SimError> {
        (self.kind.vary)(workload, self.end)
    }

    /// A machine with its numbers moved to the end.
    pub(crate) fn machine(self, machine: MachineSpec) -> Result<MachineSpec, SimError> {
        let bare = Workload { machine: Arc::new(machine), apps: Vec::new(), run: Run::default() };
        Ok(Arc::unwrap_or_clone(self.workload(&bare)?.machine))
    }
}

/// Whether two lists of workloads run in the same way.
pub(crate) fn alike(one: &[Workload], other: &[Workload]) -> bool {
    let same = |(one, other): (&Workload, &Workload)| {
        (&one.machine, &one.apps, one.run) == (&other.machine, &other.apps, other.run)
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(machine: &str, app: &str) -> Vec<&'static str> {
        let text = format!("machine = \"{machine}\"\n[[app]]\n{app}");
        let workload = Workload::from_toml("w.toml", &text).unwrap();
        let moves = |kind: &&Kind| {
            End::BOTH
                .iter()
                .any(|end| !alike(&[(kind.vary)(&workload, *end).unwrap()], std::slice::from_ref(&workload)))
        };
        KINDS.iter().filter(moves).map(|kind| kind.name).collect()
    }

    #[test]
    fn a_workload_has_the_kinds_that_change_it() {
        assert_eq!(kinds("node:2 core:2", "program = \"povray\""), ["phases"]);
        assert_eq!(kinds("node:2 core:2", "program = \"povray\"\nbarrier_billion = 1"), ["barriers", "phases"]);
        let nehalem = kinds("nehalem-2x4", "program = \"lbm\"");
        assert_eq!(nehalem, ["node rates", "link rates", "prefetching", "phases"]);
        assert!(kinds("barcelona-4x4", "program = \"lbm\"").contains(&"strays"));
    }

    /// A run has the same number of misses with and without phases.
    #[test]
    fn phases_at_their_ends_keep_the_mean() {
        let text = "machine = \"barcelona-4x4\"\n[[app]]\nprogram = \"gapgeofem-mpi\"\n[[app]]\nprogram = \"lbm\"";
        let workload = Workload::from_toml("w.toml", text).unwrap();
        let mean = |program: &Program| steady(program).first().map_or(1.0, |phase| phase.mpki_factor);
        for end in End::BOTH {
            let moved = phases(&workload, end);
            let counts = moved.apps.iter().map(|app| app.program.phase.len()).collect::<Vec<_>>();
            assert_eq!(counts, if end == End::Low { [1, 0] } else { [3, 2] });
            for (app, given) in moved.apps.iter().zip(&workload.apps) {
                assert!((mean(&app.program) - mean(&given.program)).abs() < 1e-12, "{}", app.name);
            }
        }
    }

    #[test]
    fn strays_that_are_off_stay_off_whatever_else_moves() {
        let machine = isobar_sim::machine::find("nehalem-2x4").unwrap().with_strays(0.0);
        for kind in KINDS {
            for end in End::BOTH {
                let moved = Varied { kind, end }.machine(machine.clone()).unwrap();
                assert_eq!(moved.strays().unwrap().value, 0.0, "{}", kind.name);
            }
        }
    }

    #[test]
    fn a_bare_machine_is_moved_as_one_with_programs() {
        let machine = isobar_sim::machine::find("nehalem-2x4").unwrap();
        let [low, high] = End::BOTH.map(|end| Varied { kind: &KINDS[0], end }.machine(machine.clone()).unwrap());
        let rate = |machine: &MachineSpec| machine.topology.nodes()[0].max_bandwidth.unwrap().0;
        assert!(rate(&low) < rate(&machine) && rate(&machine) < rate(&high));
    }
}
