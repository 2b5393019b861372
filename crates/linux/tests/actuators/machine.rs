//! The machine over live threads of the tests, with sensors that read only those threads.

use crate::live::helper::{Helper, as_nobody, orders, public_copy};
use crate::live::shell::{CHILD, Shell};
use crate::live::watch::Watch;
use crate::live::{Kept, Scene, eventually, move_one, only, place, sleeper};
use isobar_linux::kernel::affinity;
use isobar_linux::machine::{LinuxMachine, LinuxOptions};
use isobar_model::{
    Action, ActionOutcome, CpuId, Machine, NodeId, PageSelection, Pages, Pid, Plan, Sample, Seconds, ThreadSample, Tid,
    Wake,
};
use std::path::Path;

/// Sensors for these processes. A thread counts as pinned unless its mask is that of the thread
/// `like`.
fn watch(pids: Vec<Pid>, like: Tid) -> Watch {
    Watch { everywhere: Some(affinity::get(like).unwrap()), ..Watch::of(pids) }
}

/// Options without the machine's lock, because tests run side by side, and beside a real isobar.
fn alone(state: &Path) -> LinuxOptions {
    LinuxOptions { state: state.into(), manager_lock: None, ..LinuxOptions::default() }
}

fn open(state: &Path, processes: &[&Kept], change: impl FnOnce(&mut LinuxOptions)) -> LinuxMachine<Watch> {
    let mut options = alone(state);
    options.catch_signals = false;
    change(&mut options);
    let watch = watch(processes.iter().map(|process| process.pid()).collect(), Tid(std::process::id()));
    LinuxMachine::open(watch, Box::new(|| Err("no hotplug in tests".into())), options).unwrap()
}

fn moves(list: &[(&Kept, CpuId)]) -> Plan {
    let action = |(process, cpu): &(&Kept, CpuId)| Action::MoveThread {
        pid: process.pid(),
        tid: process.tid(),
        cpu: *cpu,
        cpus: None,
        reason: "a test".into(),
    };
    Plan { policy: "test".into(), actions: list.iter().map(action).collect(), ..Plan::default() }
}

fn ten_pages(process: &Kept, from: u32, to: u32) -> Action {
    Action::MigratePages {
        pid: process.pid(),
        from: NodeId(from),
        to: NodeId(to),
        pages: Pages(10),
        select: PageSelection::ResidentSet,
        for_thread: None,
        reason: "a test".into(),
    }
}

fn main_thread<'a>(sample: &'a Sample, process: &Kept) -> &'a ThreadSample {
    let seen = sample.processes.iter().find(|seen| seen.pid == process.pid()).unwrap();
    seen.threads.iter().find(|thread| thread.tid == process.tid()).unwrap()
}

fn left_alone(outcome: &ActionOutcome, word: &str) -> bool {
    matches!(outcome, ActionOutcome::LeftAlone { why } if why.contains(word))
}

#[test]
fn samples_tell_what_owners_want_not_what_we_did() {
    let Some(Scene { first, second, ref process, ref before, ref state, .. }) = Scene::set() else { return };
    let mut machine = open(state, &[process], |_| {});
    machine.sample().unwrap();
    let outcome = machine.apply(&moves(&[(process, second)])).unwrap();
    assert_eq!(outcome.actions, [ActionOutcome::Done]);
    assert_eq!(process.mask(), only(second));

    let sample = machine.sample().unwrap();
    let seen = main_thread(&sample, process);
    assert_eq!((seen.allowed.as_ref(), seen.pinned), (Some(before), false));

    // The owner binds it elsewhere. From now on that is its owner's mask, and isobar neither moves
    // the thread nor puts it back.
    process.pin(first);
    let sample = machine.sample().unwrap();
    let seen = main_thread(&sample, process);
    assert_eq!((seen.allowed.as_ref(), seen.pinned), (Some(&only(first)), true));
    let outcome = machine.apply(&moves(&[(process, second)])).unwrap();
    assert!(left_alone(&outcome.actions[0], "pinned by its owner"), "{outcome:?}");
    machine.restore().unwrap();
    assert_eq!(process.mask(), only(first));
}

#[test]
fn a_mask_that_sensors_read_before_the_move_does_not_make_us_forget() {
    let Some(Scene { second, ref process, ref before, ref state, .. }) = Scene::set() else { return };
    let mut machine = open(state, &[process], |_| {});
    let mut stale = machine.sample().unwrap();
    drop(machine);
    let (mut actuators, _) = isobar_linux::actuators::Actuators::open(state).unwrap();
    move_one(&mut actuators, process.request(second));
    actuators.reconcile(&mut stale);
    assert_eq!(main_thread(&stale, process).allowed.as_ref(), Some(before));
    assert_eq!(actuators.restore().unwrap().restored, 1);
    assert_eq!(process.mask(), *before);
}

#[test]
fn inherited_masks_are_lifted_at_the_next_sample() {
    let Some(Scene { second, ref before, ref state, .. }) = Scene::set() else { return };
    let mut shell = Shell::start();
    let mut machine = open(state, &[&shell.process], |_| {});
    machine.sample().unwrap();
    machine.apply(&moves(&[(&shell.process, second)])).unwrap();
    let child = shell.makes(CHILD);
    assert_eq!(child.mask(), only(second), "the trap");

    let pid = Pid(child.0.0);
    machine.sensing().pids.push(pid);
    let sample = machine.sample().unwrap();
    let seen = &sample.processes.iter().find(|seen| seen.pid == pid).unwrap().threads[0];
    assert_eq!((seen.allowed.as_ref(), seen.pinned), (Some(before), false));
    assert_eq!(child.mask(), *before);
    assert_eq!(shell.process.mask(), only(second), "its parent stays where the policy wants it");
    machine.restore().unwrap();
}

#[test]
fn plans_are_bounded_and_pinned_threads_wait_for_the_option() {
    let Some(Scene { first, second, ref state, .. }) = Scene::set() else { return };
    let (a, b, pinned) = (sleeper(), sleeper(), sleeper());
    pinned.pin(first);
    let mut machine = open(state, &[&a, &b, &pinned], |options| options.moves_per_epoch = 1);
    machine.sample().unwrap();
    let outcome = machine.apply(&moves(&[(&pinned, second), (&a, second), (&b, second)])).unwrap();
    assert!(left_alone(&outcome.actions[0], "pinned by its owner"));
    assert_eq!(outcome.actions[1], ActionOutcome::Done);
    assert!(left_alone(&outcome.actions[2], "budget of moves an epoch is used up (1)"));
    drop(machine);
    assert_eq!(a.mask(), b.mask(), "dropping puts back");

    let mut machine = open(state, &[&pinned], |options| options.move_pinned = true);
    let seen = machine.sample().unwrap();
    let free = |sample: &Sample| {
        let thread = main_thread(sample, &pinned);
        !thread.pinned && thread.allowed.as_ref().is_some_and(|allowed| allowed.contains(second))
    };
    assert!(free(&seen), "policies see it as free to move");
    assert_eq!(machine.apply(&moves(&[(&pinned, second)])).unwrap().actions, [ActionOutcome::Done]);
    assert!(free(&machine.sample().unwrap()));
    assert_eq!(machine.restore().unwrap().actions, [ActionOutcome::Done]);
    assert_eq!(pinned.mask(), only(first));
}

#[test]
fn a_dry_run_changes_nothing_and_makes_no_file() {
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    let mut machine = open(&state, &[&process], |options| options.dry_run = true);
    machine.sample().unwrap();
    let outcome = machine.apply(&moves(&[(&process, before.first().unwrap())])).unwrap();
    assert!(left_alone(&outcome.actions[0], "dry run"));
    machine.restore().unwrap();
    assert_eq!(process.mask(), before);
    assert!(!state.parent().unwrap().exists());
}

#[test]
fn sensors_learn_that_pages_are_not_where_they_were_seen() {
    let (_folder, state) = place();
    let process = sleeper();
    let mut machine = open(&state, &[&process], |_| {});
    machine.sample().unwrap();
    // No page is on a node that does not exist, as if all had moved since they were read.
    let pages = ten_pages(&process, 1000, 0);
    let outcome = machine.apply(&Plan { actions: vec![pages], ..Plan::nothing("test") }).unwrap();
    assert!(matches!(outcome.actions[0], ActionOutcome::Queued { pages: Pages(10), .. }), "{outcome:?}");
    let mut ended = None;
    eventually("none is found", || {
        ended = machine.sample().unwrap().page_moves.into_iter().find(|flight| flight.ended);
        ended.is_some()
    });
    let ActionOutcome::Pages { moved: Pages(0), stayed } = &ended.as_ref().unwrap().outcome else {
        panic!("{ended:?}")
    };
    assert_eq!(stayed.iter().map(|(_, pages)| pages.0).sum::<u64>(), 10);
    assert!(machine.sensing().outdated.contains(&process.pid()));
}

#[test]
fn who_ended_or_was_never_seen_is_no_error() {
    let Some(Scene { second, ref state, .. }) = Scene::set() else { return };
    let (process, unseen) = (sleeper(), sleeper());
    let mut machine = open(state, &[&process], |_| {});
    machine.sample().unwrap();
    let mut plan = moves(&[(&process, second), (&unseen, second)]);
    plan.actions.extend([ten_pages(&process, 0, 0), ten_pages(&process, 0, 1000)]);
    drop(process);
    let outcome = machine.apply(&plan).unwrap();
    assert_eq!(outcome.actions[0], ActionOutcome::Vanished);
    assert!(left_alone(&outcome.actions[1], "not in the last sample"));
    assert!(left_alone(&outcome.actions[2], "on node 0 already"));
    assert_eq!(outcome.actions[3], ActionOutcome::Vanished);
}

/// A machine for the helpers, which sees one process. A thread counts as pinned unless its mask is
/// that of the thread `like`.
fn helper_machine(pid: Pid, like: Tid, state: &str) -> LinuxMachine<Watch> {
    LinuxMachine::open(watch(vec![pid], like), Box::new(|| Err("none".into())), alone(Path::new(state))).unwrap()
}

fn move_main(machine: &mut LinuxMachine<Watch>, pid: Pid, cpu: CpuId) -> ActionOutcome {
    let action = Action::MoveThread { pid, tid: Tid(pid.0), cpu, cpus: None, reason: "a test".into() };
    machine.apply(&Plan { actions: vec![action], ..Plan::nothing("test") }).unwrap().actions.remove(0)
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_manages_until_asked_to_stop() {
    let Some([pid, cpu, state]) = orders() else { return };
    let pid = Pid(pid.parse().unwrap());
    let mut machine = helper_machine(pid, Tid(std::process::id()), &state);
    machine.sample().unwrap();
    move_main(&mut machine, pid, CpuId(cpu.parse().unwrap()));
    println!("moved");
    let wake = machine.wait(Seconds(30.0)).unwrap();
    assert_eq!(wake, Wake::Interrupted);
    machine.restore().unwrap();
    println!("restored");
}

#[test]
fn a_signal_ends_the_wait_and_everything_is_put_back() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM, rustix::process::Signal::HUP] {
        let Some(Scene { second, ref process, ref before, ref state, .. }) = Scene::set() else { return };
        let orders: [&dyn std::fmt::Display; 3] = [&process.pid(), &second, &state.display()];
        let mut helper = Helper::start("machine::helper_manages_until_asked_to_stop", &orders);
        helper.hear("moved");
        assert_eq!(process.mask(), only(second));
        rustix::process::kill_process(rustix::process::Pid::from_child(&helper.process.0), signal).unwrap();
        helper.hear("restored");
        assert_eq!(process.mask(), *before, "{signal:?}");
        assert!(!state.exists());
    }
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_observes_as_nobody() {
    let Some([pid, state]) = orders() else { return };
    let pid = Pid(pid.parse().unwrap());
    let mut machine = helper_machine(pid, Tid(pid.0), &state);
    let sample = machine.sample().unwrap();
    println!("remark {}", sample.capabilities.remarks[0]);
    println!("sees {}", sample.processes.len());
    println!("outcome {:?}", move_main(&mut machine, pid, CpuId(0)));
    machine.restore().unwrap();
}

#[test]
fn without_privilege_and_a_place_for_state_the_machine_is_observed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut nobody) = as_nobody(&public_copy(folder.path(), "test-program")) else { return };
    let process = sleeper();
    let state = folder.path().join("not-theirs/state.json");
    let mut helper =
        Helper::start_as(&mut nobody, "machine::helper_observes_as_nobody", &[&process.pid(), &state.display()]);
    let remark = helper.hear("remark ");
    assert!(
        remark.contains("isobar keeps observing, but without CAP_SYS_NICE it cannot move the threads of others,"),
        "{remark}"
    );
    assert_eq!(helper.hear("sees "), "1");
    let outcome = helper.hear("outcome ");
    assert!(outcome.starts_with("Refused") && outcome.contains("cannot make the folder"), "{outcome}");
}
