//! How a program runs alone: the numbers that papers print about single programs, and by which the
//! programs here were chosen. One thread runs for a whole cycle of its phases, with all other cores
//! idle and its memory on one node (N-MASS, section 3.2).

use crate::host::SimMachine;
use crate::machine::MachineSpec;
use crate::program::Program;
use crate::workload::{App, Run, Workload};
use isobar_model::{Machine, NodeId, Seconds, num};
use std::sync::Arc;

/// Instructions that are enough for a steady program, in billions.
const STEADY: f64 = 1.0;
/// Step in seconds, longer than any cycle of phases; ends of phases and programs end a step anyway.
const LONG: f64 = 1e9;

/// One thread of a program alone on a machine, its memory local.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Solo {
    /// LLC misses per 1000 instructions.
    pub mpki: f64,
    /// Instructions per cycle.
    pub ipc: f64,
    /// Bytes per second to and from memory.
    pub bandwidth: f64,
    /// CPI with its memory on the nearest other node, divided by CPI with local memory; `None` on
    /// one node.
    pub numa_penalty: Option<f64>,
}

/// Runs the program alone, locally and, if there is another node, remotely. `None` if it does not
/// end, or the contention model has no answer.
#[must_use]
pub fn solo(program: &Arc<Program>, machine: &Arc<MachineSpec>) -> Option<Solo> {
    let home = machine.places.values().next()?.node;
    let local = counted(program, machine, home)?;
    let remote = nearest_other(machine, home).map(|node| counted(program, machine, node));
    Some(Solo {
        mpki: 1000.0 * local.misses / local.instructions,
        ipc: local.instructions / local.cycles,
        bandwidth: local.bytes * machine.hertz / local.cycles,
        numa_penalty: remote.flatten().map(|remote| remote.cycles / local.cycles),
    })
}

/// The other node with the least latency from `home`, by position; ties go to the lower position.
fn nearest_other(machine: &MachineSpec, home: usize) -> Option<usize> {
    let row = &machine.memory.latency()[home];
    (0..row.len()).filter(|node| *node != home).min_by(|a, b| row[*a].total_cmp(&row[*b]))
}

/// Counters over one cycle of the program's phases.
struct Counted {
    instructions: f64,
    cycles: f64,
    misses: f64,
    bytes: f64,
}

fn counted(program: &Arc<Program>, machine: &Arc<MachineSpec>, memory: usize) -> Option<Counted> {
    let mut machine = SimMachine::new(&alone(program, machine, memory), 0);
    machine.wait(Seconds(LONG)).ok()?;
    let sample = machine.sample().ok()?;
    let thread = sample.processes.first()?.threads.first()?.counters;
    machine.report().apps.first()?.mean_seconds?;
    Some(Counted {
        instructions: num::float(thread.instructions?.value),
        cycles: num::float(thread.cycles?.value),
        misses: num::float(thread.llc_misses?.value),
        bytes: num::float(thread.bytes?.value),
    })
}

fn alone(program: &Arc<Program>, machine: &Arc<MachineSpec>, memory: usize) -> Workload {
    let cycle = program.cycle().map_or(STEADY, |instructions| instructions / 1e9);
    let app = App {
        name: program.name.clone(),
        program: Arc::clone(program),
        cgroup: None,
        threads: 1,
        start_node: None,
        pinned: false,
        cpu: machine.places.keys().next().copied(),
        spread: Vec::new(),
        memory_node: machine.nodes().get(memory).map(|id| NodeId(id.0)),
        phase_offset: 0.0,
        seats: None,
        job: None,
    };
    let run = Run {
        runs: 1,
        instructions_factor: cycle / program.instructions_billion,
        step_seconds: LONG,
        max_seconds: LONG,
        ..Run::default()
    };
    Workload { machine: Arc::clone(machine), apps: vec![app], run }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{MissCurve, Phase};

    fn program(phase: Vec<Phase>) -> Arc<Program> {
        Arc::new(Program {
            name: "a".into(),
            instructions_billion: 50.0,
            base_cpi: 0.5,
            mpki: MissCurve::parametric(10.0, 0.0, 1.0),
            mlp: 2.27,
            prefetch: 0.0,
            prefetch_range: None,
            write_back: 0.0,
            footprint_mib: 100.0,
            touch_share: 0.0,
            hot_pages: 0.2,
            hot_accesses: 0.8,
            threads: 4,
            shared: 0.0,
            phase,
        })
    }

    /// 10 misses per 1000 instructions of 50 ns at 2.27 GHz, 2.27 in flight: 0.5 cycles per
    /// instruction in addition to the 0.5 without misses; 0.9 with 90 ns. Alone, its waits in
    /// queues are under a hundredth.
    #[test]
    fn a_program_of_known_numbers_has_them() {
        let machine = Arc::new(crate::machine::find("nehalem-2x4").unwrap());
        let seen = solo(&program(vec![]), &machine).unwrap();
        assert!((seen.mpki - 10.0).abs() < 1e-3, "{seen:?}");
        assert!((seen.ipc - 1.0).abs() < 0.01, "{seen:?}");
        assert!((seen.numa_penalty.unwrap() - 1.4).abs() < 0.01, "{seen:?}");
        assert!((seen.bandwidth / (640.0 * 2.27e6) - 1.0).abs() < 0.01, "{seen:?}");
    }

    #[test]
    fn phases_count_by_their_instructions() {
        let machine = Arc::new(MachineSpec::synthetic("node:1 core:2").unwrap());
        let phase = |instructions_billion, mpki_factor| Phase { instructions_billion, mpki_factor };
        let seen = solo(&program(vec![phase(1.0, 1.0), phase(3.0, 0.0)]), &machine).unwrap();
        assert!((seen.mpki - 2.5).abs() < 1e-3 && seen.numa_penalty.is_none(), "{seen:?}");
    }
}
