//! Affinity and the state file on the running kernel, with processes of our own.

// A test program: a failed expectation is what it is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod actuators_support;

use actuators_support::{
    Helper, Kept, as_nobody, eventually, is_helper, move_one, only, place, public_copy, request, sleeper, told,
    try_move, two_cpus,
};
use isobar_linux::actuators::{ActuatorError, Actuators, RestoreReport, missing_capabilities, restore};
use isobar_linux::kernel::{affinity, identity};
use isobar_model::{ActionOutcome, CpuId, Pid, Tid};
use std::fs;
use std::io::BufRead;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A report without its remarks: tests that run at the same time make processes that look alike.
fn counts(report: RestoreReport) -> RestoreReport {
    RestoreReport { remarks: Vec::new(), ..report }
}

#[test]
fn what_was_there_is_on_disk_before_a_thread_is_moved_and_put_back_after() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    let (mut actuators, recovered) = Actuators::open(&state).unwrap();
    assert_eq!(recovered, None);
    assert!(!state.exists(), "nothing to record yet");

    let intent = actuators.intend(&[process.request(second)]).unwrap().pop().unwrap();
    let text = fs::read_to_string(&state).unwrap();
    assert!(text.contains(&format!("\"cpus\":\"{before}\"")), "{text}");
    assert_eq!(process.mask(), before, "written, not acted on");

    assert_eq!(actuators.carry_out(intent), ActionOutcome::Done);
    assert_eq!(process.mask(), only(second));

    let report = actuators.restore().unwrap();
    assert_eq!(counts(report), RestoreReport { restored: 1, ..RestoreReport::default() });
    assert_eq!(process.mask(), before);
    assert!(!state.exists());
    assert_eq!(counts(actuators.restore().unwrap()), RestoreReport::default(), "twice is harmless");
}

#[test]
fn a_second_move_keeps_the_first_original() {
    let Some((first, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    let (mut actuators, _) = Actuators::open(&state).unwrap();
    for cpu in [first, second, second, first] {
        move_one(&mut actuators, process.request(cpu));
        assert_eq!(process.mask(), only(cpu));
    }
    actuators.restore().unwrap();
    assert_eq!(process.mask(), before);
}

#[test]
fn without_a_state_file_nothing_is_changed() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    let (mut actuators, _) = Actuators::open(&state).unwrap();
    fs::remove_dir_all(state.parent().unwrap()).unwrap();
    let error = actuators.intend(&[process.request(second)]).unwrap_err();
    assert!(matches!(error, ActuatorError::State { .. }), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
    assert_eq!(process.mask(), before);
}

#[test]
fn what_ended_between_look_and_act_has_vanished() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let (mut actuators, _) = Actuators::open(&state).unwrap();
    let process = sleeper();
    let late = process.request(second);
    let intent = actuators.intend(&[late]).unwrap().pop().unwrap();
    drop(process);
    assert_eq!(actuators.carry_out(intent), ActionOutcome::Vanished);
    assert_eq!(try_move(&mut actuators, late).unwrap(), ActionOutcome::Vanished);
    assert_eq!(counts(actuators.restore().unwrap()), RestoreReport::default());
}

#[test]
fn a_cpu_that_is_not_there_is_refused_with_the_reason() {
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    let (mut actuators, _) = Actuators::open(&state).unwrap();
    let ActionOutcome::Refused { errno, why } = try_move(&mut actuators, process.request(CpuId(60_000))).unwrap()
    else {
        panic!("moved to cpu 60000");
    };
    assert_eq!(errno, Some(libc::EINVAL));
    assert!(why.contains("offline or outside the thread's cpuset"), "{why}");
    assert_eq!(process.mask(), before);
}

#[test]
fn kernel_threads_are_left_alone() {
    let kthreadd = Pid(2);
    if !identity::process(kthreadd).is_some_and(|task| task.kernel) {
        eprintln!("SKIPPED: no kernel thread to be seen here (a pid namespace)");
        return;
    }
    let (_folder, state) = place();
    let (mut actuators, _) = Actuators::open(&state).unwrap();
    let outcome = try_move(&mut actuators, request(kthreadd, Tid(2), CpuId(0))).unwrap();
    assert_eq!(outcome, ActionOutcome::LeftAlone { why: "kernel threads are not moved".into() });
}

#[test]
fn the_owner_has_the_last_word() {
    let Some((first, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    let (mut actuators, _) = Actuators::open(&state).unwrap();
    move_one(&mut actuators, process.request(second));
    affinity::set(process.tid(), &only(first)).unwrap();
    let outcome = try_move(&mut actuators, process.request(second)).unwrap();
    assert!(matches!(outcome, ActionOutcome::LeftAlone { .. }), "{outcome:?}");
    assert_eq!(process.mask(), only(first));
    let report = actuators.restore().unwrap();
    assert_eq!(counts(report), RestoreReport { changed_by_owner: 1, ..RestoreReport::default() });
    assert_eq!(process.mask(), only(first));
}

#[test]
fn a_pinned_thread_gets_back_exactly_its_mask() {
    let Some((first, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    affinity::set(process.tid(), &only(first)).unwrap();
    let (mut actuators, _) = Actuators::open(&state).unwrap();
    move_one(&mut actuators, isobar_linux::actuators::ThreadMove { pinned: true, ..process.request(second) });
    assert_eq!(process.mask(), only(second));
    actuators.restore().unwrap();
    assert_eq!(process.mask(), only(first));
}

#[test]
fn a_panic_puts_everything_back() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    let result = std::panic::catch_unwind(|| {
        let (mut actuators, _) = Actuators::open(&state).unwrap();
        move_one(&mut actuators, process.request(second));
        assert_eq!(process.mask(), only(second));
        panic!("on purpose");
    });
    assert!(result.is_err());
    assert_eq!(process.mask(), before);
    assert!(!state.exists());
}

/// An isobar that moves a process and is killed; returns once it is dead.
fn killed_after_moving(process: &Kept, cpu: CpuId, state: &Path) {
    let pid = process.pid().to_string();
    let variables = [("ISOBAR_TEST_PID", &*pid), ("ISOBAR_TEST_CPU", &*cpu.to_string())];
    let variables = [variables[0], variables[1], ("ISOBAR_TEST_STATE", state.to_str().unwrap())];
    let mut helper = Helper::start("helper_moves_and_waits", &variables);
    helper.hear("moved");
    let message = restore(state).unwrap_err().to_string();
    assert!(message.contains(&format!("another isobar is running (pid {},", helper.process.pid())), "{message}");
    assert!(matches!(Actuators::open(state), Err(ActuatorError::Locked { .. })));
    helper.process.0.kill().unwrap();
    helper.process.0.wait().unwrap();
    assert_eq!(process.mask(), only(cpu), "a kill -9 leaves it where it is");
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_moves_and_waits() {
    if !is_helper() {
        return;
    }
    let (mut actuators, _) = Actuators::open(Path::new(&told("ISOBAR_TEST_STATE"))).unwrap();
    let pid = Pid(told("ISOBAR_TEST_PID").parse().unwrap());
    move_one(&mut actuators, request(pid, Tid(pid.0), CpuId(told("ISOBAR_TEST_CPU").parse().unwrap())));
    println!("moved");
    std::thread::sleep(Duration::from_secs(30));
}

#[test]
fn after_a_kill_9_restore_puts_back() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    killed_after_moving(&process, second, &state);
    let report = counts(restore(&state).unwrap().unwrap());
    assert_eq!(report, RestoreReport { restored: 1, ..RestoreReport::default() });
    assert_eq!(report.to_string(), "1 threads put back");
    assert_eq!(process.mask(), before);
    assert_eq!(restore(&state).unwrap(), None, "nothing is left to put back");
}

#[test]
fn the_next_isobar_puts_back_what_a_dead_one_left() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    let before = process.mask();
    killed_after_moving(&process, second, &state);
    let (_actuators, recovered) = Actuators::open(&state).unwrap();
    assert_eq!(recovered.unwrap().restored, 1);
    assert_eq!(process.mask(), before);
}

#[test]
fn a_reused_id_is_another_thread_and_left_alone() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    killed_after_moving(&process, second, &state);
    let start = format!("\"start\":{}", process.start());
    let text = fs::read_to_string(&state).unwrap();
    assert_eq!(text.matches(&start).count(), 2, "of the process and of its thread: {text}");
    fs::write(&state, text.replace(&start, "\"start\":1")).unwrap();
    let report = restore(&state).unwrap().unwrap();
    assert_eq!(counts(report), RestoreReport { reused: 1, ..RestoreReport::default() });
    assert_eq!(process.mask(), only(second));
    assert!(!state.exists());
}

#[test]
fn the_state_of_an_earlier_boot_is_dropped() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let process = sleeper();
    killed_after_moving(&process, second, &state);
    let boot = identity::boot_id().unwrap();
    fs::write(&state, fs::read_to_string(&state).unwrap().replace(&boot, "another")).unwrap();
    let report = restore(&state).unwrap().unwrap();
    assert!(report.earlier_boot && report.restored == 0);
    assert_eq!(process.mask(), only(second));
    assert!(!state.exists());
}

#[test]
fn a_broken_state_file_changes_nothing_and_says_so_in_one_line() {
    let (_folder, state) = place();
    fs::create_dir_all(state.parent().unwrap()).unwrap();
    fs::write(&state, "{\"version\": 1, \"boot\": 3}").unwrap();
    for error in [Actuators::open(&state).unwrap_err(), restore(&state).unwrap_err()] {
        let message = error.to_string();
        assert!(message.contains("state.json") && message.contains("`boot`"), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
    assert!(state.exists());
}

/// A process with a thread that makes threads and children on request.
#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_makes_tasks() {
    if !is_helper() {
        return;
    }
    println!("tid {}", rustix::thread::gettid().as_raw_nonzero());
    let mut children = Vec::new();
    for line in std::io::stdin().lock().lines() {
        if line.unwrap() == "thread" {
            let (send, receive) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                send.send(rustix::thread::gettid().as_raw_nonzero()).unwrap();
                std::thread::sleep(Duration::from_secs(30));
            });
            println!("made {}", receive.recv().unwrap());
        } else {
            children.push(sleeper());
            println!("made {}", children.last().unwrap().pid());
        }
    }
}

struct Maker {
    helper: Helper,
    pid: Pid,
    tid: Tid,
}

impl Maker {
    fn start() -> Self {
        let mut helper = Helper::start("helper_makes_tasks", &[]);
        let tid = Tid(helper.hear("tid ").parse().unwrap());
        let pid = helper.process.pid();
        Self { helper, pid, tid }
    }

    fn make(&mut self, what: &str) -> Tid {
        self.helper.tell(what);
        Tid(self.helper.hear("made ").parse().unwrap())
    }
}

#[test]
fn threads_and_children_that_inherit_our_mask_are_freed_at_restore() {
    let Some((first, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let (mut actuators, _) = Actuators::open(&state).unwrap();
    let mut maker = Maker::start();
    let before = affinity::get(maker.tid).unwrap();
    let older = maker.make("thread");
    move_one(&mut actuators, request(maker.pid, maker.tid, first));
    let early = maker.make("thread");
    move_one(&mut actuators, request(maker.pid, maker.tid, second));
    let (thread, child) = (maker.make("thread"), maker.make("child"));
    let bound_by_owner = maker.make("child");
    affinity::set(bound_by_owner, &before).unwrap();

    eventually("the trap", || affinity::get(child).unwrap() == only(second));
    assert_eq!(affinity::get(early).unwrap(), only(first), "bound where its maker was then");
    assert_eq!(affinity::get(thread).unwrap(), only(second));
    assert_eq!(affinity::get(older).unwrap(), before);

    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, report.inherited), (1, 3), "{report}");
    for tid in [maker.tid, older, early, thread, child] {
        assert_eq!(affinity::get(tid).unwrap(), before, "{tid:?}");
    }
}

#[test]
fn a_stranger_on_the_same_cpu_is_no_heir() {
    let Some((_, second)) = two_cpus() else { return };
    let (_folder, state) = place();
    let (mut actuators, _) = Actuators::open(&state).unwrap();
    let managed = sleeper();
    move_one(&mut actuators, managed.request(second));
    let stranger = sleeper();
    affinity::set(stranger.tid(), &only(second)).unwrap();
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, report.inherited), (1, 0));
    assert_eq!(stranger.mask(), only(second));
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_tries_as_nobody() {
    if !is_helper() {
        return;
    }
    println!("lacks {}", missing_capabilities().join(" "));
    let (mut actuators, _) = Actuators::open(Path::new(&told("ISOBAR_TEST_STATE"))).unwrap();
    let pid = Pid(told("ISOBAR_TEST_PID").parse().unwrap());
    let outcome =
        try_move(&mut actuators, request(pid, Tid(pid.0), CpuId(told("ISOBAR_TEST_CPU").parse().unwrap()))).unwrap();
    println!("outcome {outcome:?}");
    let own = sleeper();
    move_one(&mut actuators, own.request(own.mask().first().unwrap()));
    println!("own moved");
}

#[test]
fn another_users_thread_is_refused_with_the_missing_capability() {
    let Some((_, second)) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(mut nobody) = as_nobody(&public_copy(folder.path())) else { return };
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    assert!(Command::new("chown").arg("65534").arg(&theirs).status().unwrap().success());
    let process = sleeper();
    let before = process.mask();
    let (pid, cpu, state) = (process.pid().to_string(), second.to_string(), theirs.join("state.json"));
    let variables =
        [("ISOBAR_TEST_PID", &*pid), ("ISOBAR_TEST_CPU", &*cpu), ("ISOBAR_TEST_STATE", state.to_str().unwrap())];
    let mut helper = Helper::start_as(&mut nobody, "helper_tries_as_nobody", &variables);
    assert_eq!(helper.hear("lacks "), "CAP_SYS_NICE CAP_SYS_PTRACE CAP_PERFMON CAP_NET_ADMIN");
    let outcome = helper.hear("outcome ");
    assert!(outcome.starts_with("Refused { errno: Some(1)") && outcome.contains("without CAP_SYS_NICE"), "{outcome}");
    helper.hear("own moved");
    assert_eq!(process.mask(), before);
}
