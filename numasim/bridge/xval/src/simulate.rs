//! Runs a mix in the simulator: programs that run for ever, one on each CPU, and nothing is moved.
//! The results are counters as a sensor reads them.

use isobar_model::{CpuId, Machine, NodeId, Seconds, num};
use isobar_sim::{App, MachineSpec, Program, Run, SimMachine, Workload};
use serde::Serialize;
use std::sync::Arc;

/// Simulated seconds. Steady programs need one step.
const SECONDS: f64 = 10.0;

/// A program on a CPU, with its memory on a node.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The program.
    pub program: Arc<Program>,
    /// Its CPU.
    pub cpu: u32,
    /// The node of its memory.
    pub node: u32,
}

/// How fast a program ran, and how much it missed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pace {
    /// Cycles per instruction.
    pub cpi: f64,
    /// LLC misses per instruction.
    pub misses: f64,
}

/// The pace of each program, in the order of the mix; `None` if the simulator counted nothing or
/// has no answer.
#[must_use]
pub fn simulate(machine: &Arc<MachineSpec>, mix: &[Placed]) -> Option<Vec<Pace>> {
    let apps = mix.iter().enumerate().map(|(at, placed)| app(at, placed)).collect();
    let run = Run { runs: 1, step_seconds: SECONDS, max_seconds: 2.0 * SECONDS, ..Run::default() };
    let mut simulated = SimMachine::new(&Workload { machine: Arc::clone(machine), apps, run }, 0);
    simulated.wait(Seconds(SECONDS)).ok()?;
    let sample = simulated.sample().ok()?;
    // Process ids ascend in the order of applications.
    sample.processes.iter().map(|process| pace(&process.threads.first()?.counters)).collect()
}

fn pace(counters: &isobar_model::Counters) -> Option<Pace> {
    let value = |count: Option<isobar_model::Count>| Some(num::float(count?.value));
    let (instructions, cycles) = (value(counters.instructions)?, value(counters.cycles)?);
    (instructions > 0.0).then_some(())?;
    Some(Pace { cpi: cycles / instructions, misses: value(counters.llc_misses)? / instructions })
}

/// A program on its CPU, with its memory bound to its node. Its name is its position.
pub(crate) fn app(at: usize, placed: &Placed) -> App {
    App {
        name: format!("{at}"),
        cgroup: None,
        program: Arc::clone(&placed.program),
        threads: 1,
        start_node: None,
        pinned: false,
        cpu: Some(CpuId(placed.cpu)),
        memory_node: Some(NodeId(placed.node)),
        phase_offset: 0.0,
        seats: None,
        job: None,
        spread: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::tests::{solo, spec};
    use crate::{derive, twin};

    /// The program of derive.rs: base 2, two misses in flight, 10 MPKI. It takes 2.5675 cycles per
    /// instruction alone and 3.0215 with remote memory; its own waits add less than one part in a
    /// hundred.
    #[test]
    fn what_was_derived_runs_as_it_was_measured() {
        let runs = [solo(16, 0, 1e4, 2.5675e6), solo(4, 0, 2e4, 3.135e6), solo(16, 1, 1e4, 3.0215e6)];
        let program = Arc::new(derive::profile(&spec(), &runs).unwrap().program(&spec(), "a"));
        let machine = Arc::new(twin::twin(&spec()).unwrap());
        let at = |cpu, node| Placed { program: Arc::clone(&program), cpu, node };
        let alone = simulate(&machine, &[at(0, 0)]).unwrap();
        assert!((alone[0].cpi / 2.5675 - 1.0).abs() < 0.01 && (alone[0].misses - 0.01).abs() < 1e-6, "{alone:?}");
        let pair = simulate(&machine, &[at(4, 0), at(0, 0)]).unwrap();
        assert!((pair[0].cpi / 3.0215 - 1.0).abs() < 0.02, "{pair:?}");
        assert!(pair[0].cpi > pair[1].cpi, "{pair:?}");
    }
}
