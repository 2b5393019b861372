//! Runs a managed mix in the simulator. A program's memory is first touched where its set-up would
//! be; then the program is brought to the CPU where it begins, and is free. From then on only the
//! policy moves threads (the simulator's kernel moves none while each has a CPU of its own), and
//! pages are moved by the policy or by NUMA balancing.

use crate::file::TIMER;
use crate::regime::{EPOCH_SECONDS, Regime, policy};
use crate::simulate::{Placed, app};
use isobar_model::{Action, CpuId, Machine, NodeId, Pid, Plan, ProcessSample, Sample, Seconds, num};
use isobar_runtime::selection::{Pattern, Rules};
use isobar_runtime::{BoxError, Epoch, Limits, Loop, Observer};
use isobar_sim::program::MissCurve;
use isobar_sim::{App, MachineSpec, Program, Run, SimMachine, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest step, because NUMA balancing looks at least every tenth of a second.
const STEP_SECONDS: f64 = 0.05;

/// The results of a managed mix in the simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Cycles of time per instruction of each program over the whole run, in the order of the mix.
    /// This is more than cycles per instruction if the program shared a CPU.
    pub cycles: Vec<f64>,
    /// Misses of pages on another node, over all misses; `None` if nothing missed.
    pub remote_share: Option<f64>,
    /// Number of pages that were moved.
    pub pages_moved: u64,
    /// Number of thread moves that changed the CPU.
    pub thread_moves: u64,
}

/// Simulates a managed mix under a regime. `mix` has each program with the CPU where it begins and
/// the node of its memory; `clock` is the CPU of the timer.
///
/// # Errors
/// In one line: the policy failed, or the simulator has no answer or counted nothing.
pub fn simulate(
    machine: &Arc<MachineSpec>,
    mix: &[Placed],
    clock: u32,
    regime: Regime<'_>,
    seconds: f64,
) -> Result<Simulated, String> {
    let workload = workload(machine, mix, clock, regime, seconds);
    let policy = policy(regime.name()).map_err(|error| error.to_string())?;
    let mut simulated = SimMachine::new(&workload, 0).probing_for(policy.needs());
    begin(&mut simulated, mix, clock)?;
    let before: u64 = moves(&simulated).0;
    let interval = Seconds(EPOCH_SECONDS);
    let limits = Limits { despite_missing: true, duration: Some(Seconds(seconds)), ..Limits::every(interval) };
    let rules = Rules { ignore: vec![Pattern::parse(TIMER)], ..Rules::default() };
    let mut watched = Watched::default();
    let mut run = Loop::new(simulated, policy, limits).selecting(rules);
    run.run(&mut watched).map_err(|error| error.to_string())?;
    let (after, pages_moved) = moves(run.machine());
    let cycles = watched.seconds.ok_or("the simulator counted nothing")?;
    Ok(Simulated {
        cycles: cycles.into_iter().take(mix.len()).map(|seconds| seconds * machine.hertz).collect(),
        remote_share: (watched.missed > 0.0).then(|| watched.missed_remote / watched.missed),
        pages_moved,
        thread_moves: after - before,
    })
}

fn workload(machine: &Arc<MachineSpec>, mix: &[Placed], clock: u32, regime: Regime<'_>, seconds: f64) -> Workload {
    // A program is set up on the node of its memory; from then on the kernel and policies decide
    // where it runs.
    let set_up = |(at, placed): (usize, &Placed)| App {
        memory_node: None,
        cpu: None,
        start_node: Some(NodeId(placed.node)),
        ..app(at, placed)
    };
    let mut apps: Vec<App> = mix.iter().enumerate().map(set_up).collect();
    let counting = Placed { program: Arc::new(timer(&mix[0].program)), cpu: clock, node: 0 };
    apps.push(App { memory_node: None, ..app(mix.len(), &counting) });
    let run = Run {
        runs: 1,
        step_seconds: STEP_SECONDS,
        epoch_seconds: EPOCH_SECONDS,
        max_seconds: 2.0 * seconds,
        numa_balancing: regime == Regime::Linux,
        ..Run::default()
    };
    Workload { machine: Arc::clone(machine), apps, run }
}

/// The timer: no memory, one instruction per cycle.
fn timer(like: &Program) -> Program {
    let mpki = MissCurve::measured(1.0, &[0.0]);
    Program { name: TIMER.to_owned(), base_cpi: 1.0, mpki, write_back: 0.0, footprint_mib: 1.0, ..like.clone() }
}

/// Brings every program to the CPU where it begins, and sets it free. The timer stays on its own
/// CPU.
fn begin(machine: &mut SimMachine, mix: &[Placed], clock: u32) -> Result<(), String> {
    let failed = |error: isobar_sim::SimError| error.to_string();
    let sample = machine.sample().map_err(failed)?;
    let cpus = mix.iter().map(|placed| placed.cpu).chain([clock]);
    let mut actions: Vec<Action> =
        sample.processes.iter().zip(cpus).flat_map(|(process, cpu)| to(process, cpu)).collect();
    let held = actions.split_off(actions.len() - 1);
    let plan = |actions| Plan { actions, ..Plan::nothing(Regime::Linux.name()) };
    machine.apply(&plan(actions)).map_err(failed)?;
    machine.restore().map_err(failed)?;
    machine.apply(&plan(held)).map_err(failed)?;
    Ok(())
}

/// The moves of a program's threads to a CPU.
fn to(process: &ProcessSample, cpu: u32) -> impl Iterator<Item = Action> {
    process.threads.iter().map(move |thread| Action::MoveThread {
        pid: process.pid,
        tid: thread.tid,
        cpu: CpuId(cpu),
        cpus: None,
        reason: "begins here".to_owned(),
    })
}

/// Numbers of thread moves and of pages moved so far.
fn moves(machine: &SimMachine) -> (u64, u64) {
    let apps = machine.report().apps;
    (apps.iter().map(|app| app.thread_migrations).sum(), apps.iter().map(|app| app.pages_moved).sum())
}

/// What is recorded from the epochs.
#[derive(Default)]
struct Watched {
    /// Misses of each process at the last epoch.
    seen: BTreeMap<Pid, f64>,
    missed: f64,
    missed_remote: f64,
    /// Seconds per instruction since the beginning, in ascending order of pid, which is the order
    /// of the mix.
    seconds: Option<Vec<f64>>,
}

impl Observer for Watched {
    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        for process in &epoch.sample.processes {
            let misses = total(process, |counters| counters.llc_misses);
            let since = misses - self.seen.insert(process.pid, misses).unwrap_or(0.0);
            self.missed += since;
            self.missed_remote += since * remote_pages(epoch.sample, process);
        }
        let seconds = |process: &ProcessSample| {
            let instructions = total(process, |counters| counters.instructions);
            (instructions > 0.0).then(|| epoch.sample.time.0 / instructions)
        };
        self.seconds = epoch.sample.processes.iter().map(seconds).collect();
        Ok(())
    }
}

fn total(process: &ProcessSample, of: impl Fn(&isobar_model::Counters) -> Option<isobar_model::Count>) -> f64 {
    process.threads.iter().filter_map(|thread| of(&thread.counters)).map(|count| num::float(count.value)).sum()
}

/// The fraction of a process's pages that is not on the node of its first thread.
fn remote_pages(sample: &Sample, process: &ProcessSample) -> f64 {
    let cpu = process.threads.first().and_then(|thread| thread.cpu);
    let here = cpu.and_then(|cpu| sample.topology.cpu(cpu)).and_then(|cpu| cpu.node);
    let Some(pages) = &process.pages else { return 0.0 };
    let all: u64 = pages.values().map(|count| count.0).sum();
    let local = here.and_then(|node| pages.get(node)).map_or(0, |count| count.0);
    if all > 0 { 1.0 - num::float(local) / num::float(all) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::tests::{solo, spec};
    use crate::{derive, twin};

    fn run(regime: Regime<'_>) -> Simulated {
        let runs = [solo(16, 0, 1e4, 2.5675e6), solo(4, 0, 2e4, 3.135e6), solo(16, 1, 1e4, 3.0215e6)];
        let program = Arc::new(derive::profile(&spec(), &runs).unwrap().program(&spec(), "a"));
        let machine = Arc::new(twin::twin(&spec()).unwrap());
        let mix = [Placed { program, cpu: 4, node: 0 }];
        simulate(&machine, &mix, 7, regime, 8.0).unwrap()
    }

    /// A program that begins on CPU 4 with its memory on node 0 takes 3.0215 cycles per instruction
    /// there, and 2.5675 beside its memory. NUMA balancing moves its memory, and isobar moves the
    /// thread or the memory, each in the first seconds of eight. A policy that moves nothing leaves
    /// the memory remote.
    #[test]
    fn a_program_away_from_its_memory_is_brought_together_with_it_or_not() {
        let left = run(Regime::Policy("fixed"));
        assert!((left.cycles[0] / 3.0215 - 1.0).abs() < 0.02, "{left:?}");
        assert_eq!((left.remote_share, left.pages_moved, left.thread_moves), (Some(1.0), 0, 0));
        let linux = run(Regime::Linux);
        assert!(linux.pages_moved > 0 && linux.thread_moves == 0, "{linux:?}");
        let isobar = run(Regime::Policy("isobar"));
        assert!(isobar.pages_moved > 0 || isobar.thread_moves > 0, "{isobar:?}");
        for managed in [linux, isobar] {
            assert!(managed.remote_share.unwrap() < 0.5 && managed.cycles[0] < 2.85, "{managed:?}");
        }
    }
}
