//! The machine over live threads of our own, with sensors that read no more than those threads.

// A test program: a failed expectation is what it is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod actuators_support;

use actuators_support::watch::Watch;
use actuators_support::{Helper, Kept, as_nobody, is_helper, only, place, public_copy, sleeper, told, two_cpus};
use isobar_linux::kernel::affinity;
use isobar_linux::machine::{LinuxMachine, LinuxOptions};
use isobar_model::{
    Action, ActionOutcome, CpuId, Machine, NodeId, PageSelection, Pages, Pid, Plan, Sample, Seconds, ThreadSample, Tid,
    Wake,
};
use std::path::Path;
use std::process::Command;

/// A thread that may not run wherever a thread `like` this may is pinned.
fn watch(pids: Vec<Pid>, like: Tid) -> Watch {
    Watch { everywhere: Some(affinity::get(like).unwrap()), ..Watch::of(pids) }
}

/// Without the machine's lock: tests run side by side, and beside a real isobar.
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
        reason: "a test".into(),
    };
    Plan { policy: "test".into(), actions: list.iter().map(action).collect(), notes: Vec::new() }
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
    let Some((first, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    let mut machine = open(&state, &[&process], |_| {});
    machine.sample().unwrap();
    let outcome = machine.apply(&moves(&[(&process, second)])).unwrap();
    assert_eq!(outcome.actions, [ActionOutcome::Done]);
    assert_eq!(process.mask(), only(second));

    let sample = machine.sample().unwrap();
    let seen = main_thread(&sample, &process);
    assert_eq!((seen.allowed.as_ref(), seen.pinned), (Some(&before), false));

    // The owner binds it elsewhere: from now on that is its owner's, and we neither move it nor put
    // it back.
    affinity::set(process.tid(), &only(first)).unwrap();
    let sample = machine.sample().unwrap();
    let seen = main_thread(&sample, &process);
    assert_eq!((seen.allowed.as_ref(), seen.pinned), (Some(&only(first)), true));
    let outcome = machine.apply(&moves(&[(&process, second)])).unwrap();
    assert!(left_alone(&outcome.actions[0], "pinned by its owner"), "{outcome:?}");
    machine.restore().unwrap();
    assert_eq!(process.mask(), only(first));
}

#[test]
fn a_mask_that_sensors_read_before_the_move_does_not_make_us_forget() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    let mut machine = open(&state, &[&process], |_| {});
    let mut stale = machine.sample().unwrap();
    drop(machine);
    let (mut actuators, _) = isobar_linux::actuators::Actuators::open(&state).unwrap();
    actuators_support::move_one(&mut actuators, process.request(second));
    actuators.reconcile(&mut stale);
    assert_eq!(main_thread(&stale, &process).allowed.as_ref(), Some(&before));
    assert_eq!(actuators.restore().unwrap().restored, 1);
    assert_eq!(process.mask(), before);
}

#[test]
fn inherited_masks_are_lifted_at_the_next_sample() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    // A shell that makes a child when it reads a line: by then it has been moved.
    let script = "read line; sleep 30 & echo $!; wait";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut shell = Kept(shell.spawn().unwrap());
    let before = shell.mask();
    let mut machine = open(&state, &[&shell], |_| {});
    machine.sample().unwrap();
    machine.apply(&moves(&[(&shell, second)])).unwrap();
    std::io::Write::write_all(shell.0.stdin.as_mut().unwrap(), b"now\n").unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.0.stdout.as_mut().unwrap()), &mut line).unwrap();
    let child = Pid(line.trim().parse().unwrap());
    assert_eq!(affinity::get(Tid(child.0)).unwrap(), only(second), "the trap");

    machine.sensing().pids.push(child);
    let sample = machine.sample().unwrap();
    let seen = &sample.processes.iter().find(|seen| seen.pid == child).unwrap().threads[0];
    assert_eq!((seen.allowed.as_ref(), seen.pinned), (Some(&before), false));
    assert_eq!(affinity::get(Tid(child.0)).unwrap(), before);
    assert_eq!(shell.mask(), only(second), "its parent stays where the policy wants it");
    machine.restore().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(child.0.try_into().unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[test]
fn plans_are_bounded_and_pinned_threads_wait_for_the_option() {
    let Some((first, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let (a, b, pinned) = (sleeper(), sleeper(), sleeper());
    affinity::set(pinned.tid(), &only(first)).unwrap();
    let mut machine = open(&state, &[&a, &b, &pinned], |options| options.moves_per_epoch = 1);
    machine.sample().unwrap();
    let outcome = machine.apply(&moves(&[(&pinned, second), (&a, second), (&b, second)])).unwrap();
    assert!(left_alone(&outcome.actions[0], "pinned by its owner"));
    assert_eq!(outcome.actions[1], ActionOutcome::Done);
    assert!(left_alone(&outcome.actions[2], "budget of 1 moves"));
    drop(machine);
    assert_eq!(a.mask(), b.mask(), "dropping puts back");

    let mut machine = open(&state, &[&pinned], |options| options.move_pinned = true);
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
    // No page is on a node that is not there: as when they have moved since they were read.
    let (from, to) = (NodeId(1000), NodeId(0));
    let pages = Action::MigratePages {
        pid: process.pid(),
        from,
        to,
        pages: Pages(10),
        select: PageSelection::ResidentSet,
        for_thread: None,
        reason: "a test".into(),
    };
    let outcome = machine.apply(&Plan { actions: vec![pages], ..Plan::nothing("test") }).unwrap();
    let ActionOutcome::Pages { moved: Pages(0), stayed } = &outcome.actions[0] else { panic!("{outcome:?}") };
    assert_eq!(stayed.iter().map(|(_, pages)| pages.0).sum::<u64>(), 10);
    assert_eq!(machine.sensing().outdated, [process.pid()]);
}

#[test]
fn who_ended_or_was_never_seen_is_no_error() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let (process, unseen) = (sleeper(), sleeper());
    let mut machine = open(&state, &[&process], |_| {});
    machine.sample().unwrap();
    let mut plan = moves(&[(&process, second), (&unseen, second)]);
    let pages = |from, to| Action::MigratePages {
        pid: process.pid(),
        from: NodeId(from),
        to: NodeId(to),
        pages: Pages(10),
        select: PageSelection::AroundSamples,
        for_thread: None,
        reason: "a test".into(),
    };
    plan.actions.extend([pages(0, 0), pages(0, 1000)]);
    drop(process);
    let outcome = machine.apply(&plan).unwrap();
    assert_eq!(outcome.actions[0], ActionOutcome::Vanished);
    assert!(left_alone(&outcome.actions[1], "not in the last sample"));
    assert!(left_alone(&outcome.actions[2], "on node 0 already"));
    assert_eq!(outcome.actions[3], ActionOutcome::Vanished);
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_manages_until_told_to_stop() {
    if !is_helper() {
        return;
    }
    let pid = Pid(told("ISOBAR_TEST_PID").parse().unwrap());
    let options = alone(Path::new(&told("ISOBAR_TEST_STATE")));
    let watch = watch(vec![pid], Tid(std::process::id()));
    let mut machine = LinuxMachine::open(watch, Box::new(|| Err("none".into())), options).unwrap();
    machine.sample().unwrap();
    let cpu = CpuId(told("ISOBAR_TEST_CPU").parse().unwrap());
    let action = Action::MoveThread { pid, tid: Tid(pid.0), cpu, reason: "a test".into() };
    machine.apply(&Plan { actions: vec![action], ..Plan::nothing("test") }).unwrap();
    println!("moved");
    let wake = machine.wait(Seconds(30.0)).unwrap();
    assert_eq!(wake, Wake::Interrupted);
    machine.restore().unwrap();
    println!("restored");
}

#[test]
fn a_signal_ends_the_wait_and_everything_is_put_back() {
    let Some((_, second)) = two_cpus() else { return };
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM, rustix::process::Signal::HUP] {
        let (_folder, state) = place();
        let process = sleeper();
        let before = process.mask();
        let (pid, cpu) = (process.pid().to_string(), second.to_string());
        let variables =
            [("ISOBAR_TEST_PID", &*pid), ("ISOBAR_TEST_CPU", &*cpu), ("ISOBAR_TEST_STATE", state.to_str().unwrap())];
        let mut helper = Helper::start("helper_manages_until_told_to_stop", &variables);
        helper.hear("moved");
        assert_eq!(process.mask(), only(second));
        let raw = i32::try_from(helper.process.pid().0).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(raw).unwrap(), signal).unwrap();
        helper.hear("restored");
        assert_eq!(process.mask(), before, "{signal:?}");
        assert!(!state.exists());
    }
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_observes_as_nobody() {
    if !is_helper() {
        return;
    }
    let pid = Pid(told("ISOBAR_TEST_PID").parse().unwrap());
    let options = alone(Path::new(&told("ISOBAR_TEST_STATE")));
    let watch = watch(vec![pid], Tid(pid.0));
    let mut machine = LinuxMachine::open(watch, Box::new(|| Err("none".into())), options).unwrap();
    let sample = machine.sample().unwrap();
    println!("remark {}", sample.capabilities.remarks[0]);
    println!("sees {}", sample.processes.len());
    let action = Action::MoveThread { pid, tid: Tid(pid.0), cpu: CpuId(0), reason: "a test".into() };
    let outcome = machine.apply(&Plan { actions: vec![action], ..Plan::nothing("test") }).unwrap();
    println!("outcome {:?}", outcome.actions[0]);
    machine.restore().unwrap();
}

#[test]
fn without_privilege_and_a_place_for_state_the_machine_is_observed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut nobody) = as_nobody(&public_copy(folder.path())) else { return };
    let process = sleeper();
    let state = folder.path().join("not-theirs/state.json");
    let pid = process.pid().to_string();
    let variables = [("ISOBAR_TEST_PID", &*pid), ("ISOBAR_TEST_STATE", state.to_str().unwrap())];
    let mut helper = Helper::start_as(&mut nobody, "helper_observes_as_nobody", &variables);
    let remark = helper.hear("remark ");
    assert!(
        remark.contains("isobar goes on observing: without CAP_SYS_NICE it cannot move the threads of others,"),
        "{remark}"
    );
    assert_eq!(helper.hear("sees "), "1");
    let outcome = helper.hear("outcome ");
    assert!(outcome.starts_with("Refused") && outcome.contains("cannot make the folder"), "{outcome}");
}
