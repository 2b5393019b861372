use super::super::SimMachine;
use crate::workload::Workload;
use isobar_model::{Action, CpuId, Machine, Pid, Plan, Seconds, Tid};
use std::collections::BTreeSet;
use std::sync::Arc;

fn workload(per_second: f64, apps: &str) -> Workload {
    let run = "[run]\nruns = 3\ninstructions_factor = 10.0\n";
    let mut all = Workload::from_toml("w.toml", &format!("machine = \"barcelona-2x4\"\n{run}{apps}")).unwrap();
    all.machine = Arc::new(crate::MachineSpec::clone(&all.machine).with_strays(per_second));
    all
}

const EIGHT: &str = "[[app]]\nprogram = \"povray\"\ncount = 8\n";

fn nodes(machine: &SimMachine) -> Vec<usize> {
    let place = |cpu| machine.workload.machine.places[&cpu].node;
    machine.processes.iter().map(|process| place(process.threads[0].cpu)).collect()
}

/// How often two threads exchanged nodes in a number of tenths of a second.
fn exchanges(machine: &mut SimMachine, tenths: u32) -> u32 {
    let mut count = 0;
    for _ in 0..tenths {
        let before = nodes(machine);
        machine.wait(Seconds(0.1)).unwrap();
        let changed = nodes(machine).iter().zip(&before).filter(|(now, before)| now != before).count();
        assert!(changed == 0 || changed == 2, "{before:?} {:?}", nodes(machine));
        count += u32::from(changed == 2);
    }
    count
}

/// One look every 0.256 s, each with a chance of 0.256: 60 exchanges in a minute, give or take
/// three standard deviations of 6.7. Every thread keeps a CPU of its own, and memory stays where it
/// was.
#[test]
fn threads_change_places_at_the_rate_and_their_memory_stays() {
    let mut machine = SimMachine::new(&workload(1.0, EIGHT), 1);
    let homes: Vec<_> = machine.processes.iter().map(|process| process.memory.clone()).collect();
    let count = exchanges(&mut machine, 600);
    assert!((40..=80).contains(&count), "{count}");
    assert!(machine.load().values().all(|count| *count == 1));
    let now: Vec<_> = machine.processes.iter().map(|process| process.memory.clone()).collect();
    assert_eq!(homes, now);
}

#[test]
fn a_rate_of_none_is_as_if_there_were_no_balancer_and_a_seed_repeats() {
    let mut plain = workload(0.0, EIGHT);
    let zero = plain.clone();
    let mut machine = crate::MachineSpec::clone(&plain.machine);
    machine.linux = crate::machine::Linux::default();
    plain.machine = Arc::new(machine);
    let run = |workload: &Workload, seed| {
        let mut machine = SimMachine::new(workload, seed);
        machine.wait(Seconds(30.0)).unwrap();
        let done: Vec<_> = machine.processes.iter().map(|process| process.threads[0].done.to_bits()).collect();
        (done, nodes(&machine))
    };
    assert_eq!(run(&plain, 5), run(&zero, 5));
    let some = workload(0.5, EIGHT);
    assert_eq!(run(&some, 5), run(&some, 5));
    assert_ne!(run(&some, 5), run(&zero, 5));
}

/// Of eight threads six are free, three per node. The kernel thread meets a free thread in three of
/// four looks, and the partner on the other node is free in three of four of these. 9/16 of 120
/// exchanges in two minutes are 68, give or take three standard deviations of 7.6. If all threads
/// were free, the number would be 120.
#[test]
fn the_rate_is_that_of_the_threads_that_can_stray() {
    let mut machine = SimMachine::new(&workload(1.0, EIGHT), 1);
    for node in 0..2 {
        let place = |cpu| machine.workload.machine.places[&cpu].node;
        let on_node = machine.processes.iter().position(|process| place(process.threads[0].cpu) == node);
        machine.processes[on_node.unwrap()].threads[0].hold = super::super::process::Hold::Cpu;
    }
    let count = exchanges(&mut machine, 1200);
    assert!((45..=92).contains(&count), "{count}");
}

#[test]
fn bound_threads_stay() {
    let mut machine = SimMachine::new(&workload(3.0, EIGHT), 1);
    let bind = |process: &super::super::Process| Action::MoveThread {
        pid: process.pid,
        tid: process.threads[0].tid,
        cpu: process.threads[0].cpu,
        cpus: None,
        reason: "test".into(),
    };
    let actions = machine.processes[..7].iter().map(bind).collect();
    machine.apply(&Plan { actions, ..Plan::nothing("test") }).unwrap();
    assert_eq!(exchanges(&mut machine, 300), 0, "the last one finds no other to change places with");
    machine.restore().unwrap();
    assert!(exchanges(&mut machine, 300) > 60, "90 in the mean");
}

/// If a node has an idle CPU, that CPU takes a waiting thread, and nothing leaves the node.
#[test]
fn nothing_strays_from_a_node_with_an_idle_cpu() {
    let mut machine = SimMachine::new(&workload(3.9, "[[app]]\nprogram = \"povray\"\ncount = 6\n"), 1);
    assert_eq!(exchanges(&mut machine, 300), 0);
}

/// Four threads on one node and none on the other: the first that strays leaves an idle CPU behind.
#[test]
fn an_idle_node_takes_one_thread_from_a_full_one() {
    let apps: String = (0..4).map(|cpu| format!("[[app]]\nprogram = \"povray\"\ncpu = {cpu}\n")).collect();
    let mut machine = SimMachine::new(&workload(3.9, &apps), 1);
    machine.wait(Seconds(60.0)).unwrap();
    assert_eq!(nodes(&machine).iter().sum::<usize>(), 1);
    let cpus: BTreeSet<_> = machine.processes.iter().map(|process| process.threads[0].cpu).collect();
    assert_eq!(cpus.len(), 4);
}

/// A long step skips looks that could move nothing away, and these looks are not made up for.
#[test]
fn what_cannot_stray_takes_no_looks() {
    let mut all = workload(3.9, "[[app]]\nprogram = \"povray\"\ncount = 8\n");
    all.run.step_seconds = 1e4;
    let mut machine = SimMachine::new(&all, 1);
    let bind = |id: u32, cpu: u32| Action::MoveThread {
        pid: Pid(id),
        tid: Tid(id),
        cpu: CpuId(cpu),
        cpus: None,
        reason: "test".into(),
    };
    let actions = (0..8).map(|index| bind(1000 + index, index)).collect();
    machine.apply(&Plan { actions, ..Plan::nothing("test") }).unwrap();
    machine.wait(Seconds(100.0)).unwrap();
    machine.restore().unwrap();
    machine.wait(Seconds(0.3)).unwrap();
    assert!(machine.strays.looks >= 390 && machine.strays.looks <= 392, "{}", machine.strays.looks);
}
