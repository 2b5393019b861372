use super::super::SimMachine;
use super::{Group, Level};
use crate::workload::Workload;
use isobar_model::{Action, ActionOutcome, CoreId, CpuId, Machine, Pid, Plan, Tid};

/// Programs of one thread each that start on node 0; `more` is appended to their entry.
fn started(machine: &str, count: u32, more: &str) -> SimMachine {
    let app = format!("[[app]]\nprogram = \"namd\"\ncount = {count}\nstart_node = 0\n{more}\n");
    let text = format!("machine = \"{machine}\"\n[run]\nruns = 1\ninstructions_factor = 0.01\n{app}");
    SimMachine::new(&Workload::from_toml("w.toml", &text).unwrap(), 1)
}

/// Running threads by node and by cache.
fn crowds(machine: &SimMachine) -> (Vec<u32>, Vec<u32>) {
    let spec = &machine.workload.machine;
    let (mut nodes, mut caches) = (vec![0; spec.pages.len()], vec![0; spec.classes.len()]);
    for (cpu, threads) in machine.load() {
        let place = spec.places[&cpu];
        nodes[place.node] += threads;
        caches[place.llc] += threads;
    }
    (nodes, caches)
}

/// Moves a thread to a CPU, and sets where it may run from then on.
fn send(pid: u32, cpu: u32, cpus: Option<&str>) -> Action {
    let (pid, tid, cpus) = (Pid(pid), Tid(pid), cpus.map(|cpus| cpus.parse().unwrap()));
    Action::MoveThread { pid, tid, cpu: CpuId(cpu), cpus, reason: "test".into() }
}

fn apply(machine: &mut SimMachine, actions: Vec<Action>) -> Vec<ActionOutcome> {
    machine.apply(&Plan { actions, ..Plan::nothing("test") }).unwrap().actions
}

/// With four CPUs per node, an eighth is less than one CPU, so the limit is one thread. Two beside
/// none are tolerated, three become two and one, four become two and two. With 36 CPUs per node the
/// limit is four.
#[test]
fn threads_that_start_on_one_node_spread_over_both() {
    let nodes = |machine: &str, count: u32| crowds(&started(machine, count, "")).0;
    let small = [2, 3, 4].map(|count| nodes("nehalem-2x4", count));
    assert_eq!(small, [[2, 0], [2, 1], [2, 2]]);
    let large = [2, 3, 6, 36].map(|count| nodes("haswell-2x18", count));
    assert_eq!(large, [[2, 0], [2, 1], [4, 2], [18, 18]]);
}

/// Pinned threads stay, and a plan that moves one is refused.
#[test]
fn who_is_pinned_stays() {
    let mut machine = started("nehalem-2x4", 4, "pinned = true");
    assert_eq!(crowds(&machine).0, [4, 0]);
    let done = apply(&mut machine, vec![send(1000, 4, None)]);
    assert!(matches!(&done[..], [ActionOutcome::LeftAlone { why }] if why.contains("pinned")), "{done:?}");
    let sample = machine.sample().unwrap();
    let thread = &sample.processes[0].threads[0];
    let reported = (thread.pinned, thread.bound, thread.allowed.as_ref().map(ToString::to_string));
    assert_eq!(reported, (true, Some(false), Some("0-3".to_owned())));
}

/// There are two threads on each node, and a plan moves one to the other node. The first of the
/// three threads there that may leave moves to the node that was left. None moves if all are bound;
/// a thread that may run anywhere again is not bound.
#[test]
fn a_plan_that_fills_a_node_has_threads_taken_from_it() {
    let fill = |binds: &[u32], frees: &[u32]| {
        let mut machine = started("nehalem-2x4", 4, "");
        let own = |machine: &SimMachine, node: usize| -> Vec<(u32, u32)> {
            let spec = &machine.workload.machine;
            let threads = machine.processes.iter().map(|process| (process.pid.0, process.threads[0].cpu));
            threads.filter(|(_, cpu)| spec.places[cpu].node == node).map(|(pid, cpu)| (pid, cpu.0)).collect()
        };
        let (here, there) = (own(&machine, 1), own(&machine, 0));
        let free = (0..4).find(|cpu| there.iter().all(|(_, taken)| taken != cpu)).unwrap();
        let mut actions: Vec<_> = frees.iter().map(|at| (there[*at as usize], "0-7")).collect();
        actions.extend(binds.iter().map(|at| (there[*at as usize], "0-3")));
        let mut actions: Vec<_> = actions.into_iter().map(|((pid, cpu), cpus)| send(pid, cpu, Some(cpus))).collect();
        actions.push(send(here[0].0, free, Some("0-3")));
        apply(&mut machine, actions);
        crowds(&machine).0
    };
    assert_eq!(fill(&[], &[]), [2, 2]);
    assert_eq!(fill(&[0, 1], &[]), [3, 1]);
    assert_eq!(fill(&[0], &[1]), [2, 2]);
}

/// All sizes up to twelve cores, and as many threads: no group takes back a thread that it gave.
#[test]
fn no_thread_goes_to_and_fro() {
    let group = |cores: u32, running: u32| Group {
        cpus: cores,
        cores: (0..cores).map(CoreId).collect(),
        running,
        idle: (running..cores).map(CpuId).collect(),
        ..Group::default()
    };
    let mut pulled = 0;
    for (here, there) in (1..=12).flat_map(|here| (1..=12).map(move |there| (here, there))) {
        for (few, many) in (0..here).flat_map(|few| (1..=there).map(move |many| (few, many))) {
            for level in [Level::Caches, Level::Nodes] {
                if group(here, few).pulls_from(&group(there, many), level) {
                    pulled += 1;
                    let back = group(there, many - 1).pulls_from(&group(here, few + 1), level);
                    assert!(!back, "{few} on {here} cores, {many} on {there}");
                }
            }
        }
    }
    assert!(pulled > 1000, "{pulled}");
}

/// Two caches per node. Four threads that were sent to one cache and released end up as two on
/// each. On two such nodes, eight threads that start on the first node end up as two on each cache.
#[test]
fn the_caches_of_a_node_are_evened_too() {
    let mut machine = started("rome-ccx-2x4", 4, "");
    let send_all = (0..4).map(|at| send(1000 + at, at, Some("0-3"))).collect();
    apply(&mut machine, send_all);
    assert_eq!(crowds(&machine).1, [4, 0]);
    machine.restore().unwrap();
    assert_eq!(crowds(&machine).1, [2, 2]);
    assert_eq!(crowds(&started("node:2 llc:2 core:4", 8, "")).1, [2, 2, 2, 2]);
}
