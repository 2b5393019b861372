//! Affinity and the state file on the running kernel, with processes of the tests.

use crate::live::helper::{Helper, as_nobody, orders, public_copy};
use crate::live::{Scene, eventually, move_one, only, place, request, sleeper, try_move};
use isobar_linux::actuators::{ActuatorError, Actuators, RestoreReport, missing_capabilities, restore};
use isobar_linux::kernel::{affinity, identity};
use isobar_model::{ActionOutcome, CpuId, Pid, Tid};
use std::fs;
use std::io::BufRead;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A report without its remarks: tests that run at the same time make processes that look alike,
/// which appear in the remarks.
fn counts(report: RestoreReport) -> RestoreReport {
    RestoreReport { remarks: Vec::new(), ..report }
}

#[test]
fn what_was_there_is_on_disk_before_a_thread_is_moved_and_put_back_after() {
    let Some(scene) = Scene::set() else { return };
    let (mut actuators, recovered) = Actuators::open(&scene.state).unwrap();
    assert_eq!(recovered, None);
    assert!(!scene.state.exists(), "nothing to record yet");

    let intent = actuators.intend(&[scene.process.request(scene.second)]).unwrap().pop().unwrap();
    let text = fs::read_to_string(&scene.state).unwrap();
    assert!(text.contains(&format!("\"cpus\":\"{}\"", scene.before)), "{text}");
    assert_eq!(scene.process.mask(), scene.before, "written, not acted on");

    assert_eq!(actuators.carry_out(intent), ActionOutcome::Done);
    assert_eq!(scene.process.mask(), only(scene.second));

    let report = actuators.restore().unwrap();
    assert_eq!(counts(report), RestoreReport { restored: 1, ..RestoreReport::default() });
    assert_eq!(scene.process.mask(), scene.before);
    assert!(!scene.state.exists());
    assert_eq!(counts(actuators.restore().unwrap()), RestoreReport::default(), "twice is harmless");
}

#[test]
fn without_a_state_file_nothing_is_changed() {
    let Some(scene) = Scene::set() else { return };
    let mut actuators = scene.actuators();
    fs::remove_dir_all(scene.state.parent().unwrap()).unwrap();
    let error = actuators.intend(&[scene.process.request(scene.second)]).unwrap_err();
    assert!(matches!(error, ActuatorError::State { .. }), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
    assert_eq!(scene.process.mask(), scene.before);
}

#[test]
fn what_ended_between_look_and_act_has_vanished() {
    let Some(mut scene) = Scene::set() else { return };
    let mut actuators = scene.actuators();
    let late = scene.process.request(scene.second);
    let intent = actuators.intend(std::slice::from_ref(&late)).unwrap().pop().unwrap();
    scene.process.end();
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
    let Some(scene) = Scene::set() else { return };
    let mut actuators = scene.actuators();
    move_one(&mut actuators, scene.process.request(scene.second));
    scene.process.pin(scene.first);
    let outcome = try_move(&mut actuators, scene.process.request(scene.second)).unwrap();
    assert!(matches!(outcome, ActionOutcome::LeftAlone { .. }), "{outcome:?}");
    assert_eq!(scene.process.mask(), only(scene.first));
    let report = actuators.restore().unwrap();
    assert_eq!(counts(report), RestoreReport { changed_by_owner: 1, ..RestoreReport::default() });
    assert_eq!(scene.process.mask(), only(scene.first));
}

#[test]
fn a_panic_puts_everything_back() {
    let Some(scene) = Scene::set() else { return };
    let result = std::panic::catch_unwind(|| {
        let mut actuators = scene.actuators();
        move_one(&mut actuators, scene.process.request(scene.second));
        assert_eq!(scene.process.mask(), only(scene.second));
        panic!("on purpose");
    });
    assert!(result.is_err());
    assert_eq!(scene.process.mask(), scene.before);
    assert!(!scene.state.exists());
}

/// Starts an isobar that moves the process and is then killed; returns once it is dead.
fn killed_after_moving(Scene { process, second, state, .. }: &Scene) {
    let mut helper = Helper::start("threads::helper_moves_and_waits", &[&process.pid(), second, &state.display()]);
    helper.hear("moved");
    let message = restore(state).unwrap_err().to_string();
    assert!(message.contains(&format!("another isobar is running (pid {},", helper.process.pid())), "{message}");
    assert!(matches!(Actuators::open(state), Err(ActuatorError::Locked { .. })));
    helper.process.end();
    assert_eq!(process.mask(), only(*second), "a kill -9 leaves it where it is");
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_moves_and_waits() {
    let Some([pid, cpu, state]) = orders() else { return };
    let (mut actuators, _) = Actuators::open(Path::new(&state)).unwrap();
    let pid = Pid(pid.parse().unwrap());
    move_one(&mut actuators, request(pid, Tid(pid.0), CpuId(cpu.parse().unwrap())));
    println!("moved");
    std::thread::sleep(Duration::from_secs(30));
}

#[test]
fn after_a_kill_9_restore_puts_back() {
    let Some(scene) = Scene::set() else { return };
    killed_after_moving(&scene);
    let report = counts(restore(&scene.state).unwrap().unwrap());
    assert_eq!(report, RestoreReport { restored: 1, ..RestoreReport::default() });
    assert_eq!(report.to_string(), "1 threads put back");
    assert_eq!(scene.process.mask(), scene.before);
    assert_eq!(restore(&scene.state).unwrap(), None, "nothing is left to put back");
}

#[test]
fn the_next_isobar_puts_back_what_a_dead_one_left() {
    let Some(scene) = Scene::set() else { return };
    killed_after_moving(&scene);
    let (_actuators, recovered) = Actuators::open(&scene.state).unwrap();
    assert_eq!(recovered.unwrap().restored, 1);
    assert_eq!(scene.process.mask(), scene.before);
}

#[test]
fn a_reused_id_is_another_thread_and_left_alone() {
    let Some(scene) = Scene::set() else { return };
    killed_after_moving(&scene);
    let start = format!("\"start\":{}", scene.process.start());
    let text = fs::read_to_string(&scene.state).unwrap();
    assert_eq!(text.matches(&start).count(), 2, "of the process and of its thread: {text}");
    fs::write(&scene.state, text.replace(&start, "\"start\":1")).unwrap();
    let report = restore(&scene.state).unwrap().unwrap();
    assert_eq!(counts(report), RestoreReport { reused: 1, ..RestoreReport::default() });
    assert_eq!(scene.process.mask(), only(scene.second));
    assert!(!scene.state.exists());
}

#[test]
fn the_state_of_an_earlier_boot_is_dropped() {
    let Some(scene) = Scene::set() else { return };
    killed_after_moving(&scene);
    let boot = identity::boot_id().unwrap();
    fs::write(&scene.state, fs::read_to_string(&scene.state).unwrap().replace(&boot, "another")).unwrap();
    let report = restore(&scene.state).unwrap().unwrap();
    assert!(report.earlier_boot && report.restored == 0);
    assert_eq!(scene.process.mask(), only(scene.second));
    assert!(!scene.state.exists());
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
    let Some([]) = orders() else { return };
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
        let mut helper = Helper::start("threads::helper_makes_tasks", &[]);
        let tid = Tid(helper.hear("tid ").parse().unwrap());
        let pid = helper.process.pid();
        Self { helper, pid, tid }
    }

    fn make(&mut self, what: &str) -> Tid {
        self.helper.send(what);
        Tid(self.helper.hear("made ").parse().unwrap())
    }
}

#[test]
fn threads_and_children_that_inherit_our_mask_are_freed_at_restore() {
    let Some(scene) = Scene::set() else { return };
    let mut actuators = scene.actuators();
    let mut maker = Maker::start();
    let before = affinity::get(maker.tid).unwrap();
    let older = maker.make("thread");
    move_one(&mut actuators, request(maker.pid, maker.tid, scene.first));
    let early = maker.make("thread");
    move_one(&mut actuators, request(maker.pid, maker.tid, scene.second));
    let (thread, child) = (maker.make("thread"), maker.make("child"));
    let bound_by_owner = maker.make("child");
    affinity::set(bound_by_owner, &before).unwrap();

    eventually("the trap", || affinity::get(child).unwrap() == only(scene.second));
    assert_eq!(affinity::get(early).unwrap(), only(scene.first), "bound where its maker was then");
    assert_eq!(affinity::get(thread).unwrap(), only(scene.second));
    assert_eq!(affinity::get(older).unwrap(), before);

    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, report.inherited), (1, 3), "{report}");
    for tid in [maker.tid, older, early, thread, child] {
        assert_eq!(affinity::get(tid).unwrap(), before, "{tid:?}");
    }
}

#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_tries_as_nobody() {
    let Some([pid, cpu, state]) = orders() else { return };
    println!("lacks {}", missing_capabilities().join(" "));
    let (mut actuators, _) = Actuators::open(Path::new(&state)).unwrap();
    let pid = Pid(pid.parse().unwrap());
    let outcome = try_move(&mut actuators, request(pid, Tid(pid.0), CpuId(cpu.parse().unwrap()))).unwrap();
    println!("outcome {outcome:?}");
    let own = sleeper();
    move_one(&mut actuators, own.request(own.mask().first().unwrap()));
    println!("own moved");
}

#[test]
fn another_users_thread_is_refused_with_the_missing_capability() {
    let Some(Scene { ref process, ref before, second, ref folder, .. }) = Scene::set() else { return };
    let Some(mut nobody) = as_nobody(&public_copy(folder.path(), "test-program")) else { return };
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    assert!(Command::new("chown").arg("65534").arg(&theirs).status().unwrap().success());
    let state = theirs.join("state.json");
    let orders: [&dyn std::fmt::Display; 3] = [&process.pid(), &second, &state.display()];
    let mut helper = Helper::start_as(&mut nobody, "threads::helper_tries_as_nobody", &orders);
    assert_eq!(helper.hear("lacks "), "CAP_SYS_NICE CAP_SYS_PTRACE CAP_PERFMON CAP_NET_ADMIN");
    let outcome = helper.hear("outcome ");
    assert!(outcome.starts_with("Refused { errno: Some(1)") && outcome.contains("without CAP_SYS_NICE"), "{outcome}");
    helper.hear("own moved");
    assert_eq!(process.mask(), *before);
}
