//! Programs as a static question to the contention model: one thread each on a core of the
//! machine's first node, with its memory there. A program with phases is represented by its mean:
//! the factor on misses is averaged over instructions.

use crate::machine::MachineSpec;
use crate::program::Program;
use isobar_contention::{Demand, Place, Steady};

const MIB: f64 = 1_048_576.0;

/// Programs behind a controller like that of the machine's first node, with `bandwidth` bytes per
/// second if given.
#[must_use]
pub fn steady(machine: &MachineSpec, bandwidth: Option<f64>, programs: &[&Program]) -> Steady {
    let threads: Vec<_> = programs.iter().map(|program| thread(machine, program)).collect();
    Steady::new(&machine.memory, bandwidth, &threads)
}

fn thread(machine: &MachineSpec, program: &Program) -> Demand {
    let mut weights = vec![0.0; machine.memory.nodes()];
    weights[0] = 1.0;
    Demand {
        share: 1.0,
        place: Place { node: 0, llc: 0 },
        mask: u64::MAX,
        compute: program.base_cpi / machine.hertz,
        curve: program.mpki.clone(),
        factor: mean_factor(program),
        mlp: program.mlp,
        prefetch: program.prefetch,
        write_back: program.write_back,
        footprint: program.footprint_mib * MIB,
        reach: 1.0,
        weights,
        delay: 0.0,
        held: 0.0,
    }
}

/// The factor on misses, averaged over the instructions of a cycle of phases.
pub(crate) fn mean_factor(program: &Program) -> f64 {
    let all: f64 = program.phase.iter().map(|phase| phase.instructions_billion).sum();
    let weighted: f64 = program.phase.iter().map(|phase| phase.instructions_billion * phase.mpki_factor).sum();
    if all > 0.0 { weighted / all } else { 1.0 }
}
