//! Tasks that inherit a mask of ours and tasks that their owner bound: live tests, with shells that
//! fork, daemonise and call taskset.

// A test program: a failed expectation is its purpose.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;

use isobar_linux::actuators::{Actuators, ThreadMove, restore};
use isobar_linux::kernel::affinity;
use isobar_linux::kernel_events::KernelEvents;
use isobar_model::{CpuId, CpuSet, Tid};
use live::helper::{Helper, orders};
use live::shell::{CHILD, Orphan, Shell};
use live::{Scene, eventually, move_one, only, request, sleeper, try_move};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A shell that is moved to a CPU, and the mask that it had before.
fn moved(actuators: &mut Actuators, cpu: CpuId) -> (Shell, CpuSet) {
    let shell = Shell::start();
    let before = shell.process.mask();
    move_one(actuators, shell.process.request(cpu));
    (shell, before)
}

/// A daemon: its parents have ended, and it has a session of its own.
const DAEMON: &str = "(setsid sh -c 'sleep 30 >/dev/null & echo $!')";

fn parent(process: &Orphan) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.0)).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

/// Waits until the process has finished its own preparations: it is `sleep` by then.
fn is_sleeping(process: &Orphan) {
    let name = || std::fs::read_to_string(format!("/proc/{}/comm", process.0)).unwrap_or_default();
    eventually("the process became sleep", || name() == "sleep\n");
}

/// The scene for one test at a time: to the recognition by likeness, the daemons of one test look
/// like those of another.
fn alone() -> Option<(Scene, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    Some((Scene::set()?, ALONE.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Actuators with the kernel's events, if these are available; otherwise says that the test is
/// skipped.
fn with_events(scene: &Scene, which: fn(&KernelEvents) -> bool) -> Option<Actuators> {
    let events = KernelEvents::open(&affinity::get(Tid(std::process::id())).unwrap(), true);
    if !which(&events) {
        eprintln!("SKIPPED: {}", events.remarks().join("; "));
        return None;
    }
    let mut actuators = scene.actuators();
    actuators.listen(events);
    Some(actuators)
}

#[test]
fn a_daemon_that_forked_twice_is_freed_by_the_kernels_word() {
    let Some((scene, _alone)) = alone() else { return };
    let Some(mut actuators) = with_events(&scene, KernelEvents::forks_complete) else { return };
    let (mut shell, before) = moved(&mut actuators, scene.second);
    let daemon = shell.makes(DAEMON);
    assert_eq!(daemon.mask(), only(scene.second), "the trap");
    let report = actuators.restore().unwrap();
    // One of its parents may not have ended yet.
    assert!(report.restored == 1 && report.inherited >= 1, "{report}");
    assert_eq!(report.remarks, [""; 0], "nothing is left to doubt");
    assert_eq!(daemon.mask(), before);
}

#[test]
fn a_daemon_that_forked_twice_is_freed_by_likeness_and_reported() {
    let Some((scene, _alone)) = alone() else { return };
    let mut actuators = scene.actuators();
    let (mut shell, before) = moved(&mut actuators, scene.second);
    let daemon = shell.makes(DAEMON);
    is_sleeping(&daemon);
    let made_by = parent(&daemon);
    eventually("its maker ended", || parent(&daemon) != made_by || made_by == 1);
    let report = actuators.restore().unwrap();
    if parent(&daemon) != 1 {
        eprintln!("SKIPPED: orphans here are not taken in by process 1");
        return;
    }
    assert!(report.restored == 1 && report.inherited >= 1, "{report}");
    assert_eq!(daemon.mask(), before);
    let named = format!("the CPU binding of process {} (sleep) was removed because the process looks like", daemon.0);
    assert!(report.remarks.iter().any(|remark| remark.contains(&named)), "{:?}", report.remarks);
}

#[test]
fn what_may_have_been_missed_is_reported_and_left_alone() {
    let Some((scene, _alone)) = alone() else { return };
    let mut actuators = scene.actuators();
    let moved = sleeper();
    move_one(&mut actuators, moved.request(scene.second));
    // Its parent made it, so it did not inherit from the process that was moved. Without the
    // kernel's events that is a guess.
    let stranger = sleeper();
    stranger.pin(scene.second);
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, report.inherited, stranger.mask()), (1, 0, only(scene.second)));
    let named = format!("process {} (sleep) stays bound to CPUs that isobar had given", stranger.pid());
    assert!(report.remarks.iter().any(|remark| remark.contains(&named)), "{:?}", report.remarks);
}

#[test]
fn a_binding_of_the_owner_to_the_very_same_cpu_stays() {
    let Some((scene, _alone)) = alone() else { return };
    let Some(mut actuators) = with_events(&scene, KernelEvents::pins_complete) else { return };
    let (mut shell, before) = moved(&mut actuators, scene.second);
    let bound = shell.makes(&format!("taskset -c {} {CHILD}", scene.second));
    let child = shell.makes(CHILD);
    let daemon = shell.makes(&format!("taskset -c {} {DAEMON}", scene.second).replace(['(', ')'], ""));
    is_sleeping(&bound);
    is_sleeping(&daemon);
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, report.inherited), (1, 1), "{report}");
    assert_eq!((shell.process.mask(), child.mask()), (before.clone(), before));
    assert_eq!((bound.mask(), daemon.mask()), (only(scene.second), only(scene.second)));
}

#[test]
fn an_owner_who_binds_the_moved_thread_itself_has_the_last_word() {
    let Some((scene, _alone)) = alone() else { return };
    let Some(mut actuators) = with_events(&scene, KernelEvents::pins_complete) else { return };
    let mut shell = Shell::start();
    move_one(&mut actuators, shell.process.request(scene.second));
    drop(shell.makes(&format!("taskset -pc {} $$ >/dev/null; {CHILD}", scene.second)));
    let child = shell.makes(CHILD);
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, report.inherited), (0, 0), "{report}");
    assert_eq!((shell.process.mask(), child.mask()), (only(scene.second), only(scene.second)));
    assert!(report.changed_by_owner >= 2, "the shell and its child: {report}");
}

#[test]
fn the_last_binding_counts_ours_or_the_owners() {
    let Some((scene, _alone)) = alone() else { return };
    let Some(mut actuators) = with_events(&scene, KernelEvents::pins_complete) else { return };
    let mut shell = Shell::start();
    let before = shell.process.mask();
    // The owner lifts the mask and sets what was there, before isobar moves the shell.
    drop(shell.makes(&format!("taskset -pc {before} $$ >/dev/null; {CHILD}")));
    for cpu in [scene.first, scene.second] {
        move_one(&mut actuators, shell.process.request(cpu));
    }
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, shell.process.mask()), (1, before));
}

/// A shell below the moved one, which its owner had bound before. It makes a process when it gets a
/// line.
#[test]
fn what_a_shell_that_was_bound_before_makes_is_its_owners() {
    let Some((scene, _alone)) = alone() else { return };
    let events =
        [KernelEvents::open(&affinity::get(Tid(std::process::id())).unwrap(), true), KernelEvents::none("a test")];
    for events in events {
        let mut actuators = scene.actuators();
        actuators.listen(events);
        let mut shell = Shell::start();
        let before = shell.process.mask();
        let fifo = scene.folder.path().join("lines");
        let _ = std::fs::remove_file(&fifo);
        let inner = format!("read line < {}; {CHILD}", fifo.display());
        shell.run(&format!("mkfifo {}", fifo.display()));
        let pinned = shell.makes(&format!("taskset -c {} sh -c '{inner}; wait' & echo $!", scene.second));
        eventually("the inner shell is bound", || pinned.mask() == only(scene.second));
        // Start times count in ticks of 10 ms, so the shell must be older than the first change.
        std::thread::sleep(std::time::Duration::from_millis(50));
        move_one(&mut actuators, shell.process.request(scene.second));
        let child = shell.makes(&format!("echo now > {}", fifo.display()));
        let report = actuators.restore().unwrap();
        assert_eq!((report.restored, report.inherited), (1, 0), "{report}: {:?}", report.remarks);
        assert_eq!((shell.process.mask(), pinned.mask()), (before, only(scene.second)));
        assert_eq!(child.mask(), only(scene.second));
    }
}

#[test]
fn daemons_that_are_made_while_everything_is_put_back_are_freed() {
    let Some((scene, _alone)) = alone() else { return };
    let Some(mut actuators) = with_events(&scene, KernelEvents::forks_complete) else { return };
    let (mut shell, before) = moved(&mut actuators, scene.second);
    let token = format!("7.{}", shell.process.pid());
    let storm = format!("i=0; while [ $i -lt 300 ]; do (sleep {token} >/dev/null &); i=$((i+1)); done & echo $!");
    let storm = shell.makes(&storm);
    std::thread::sleep(std::time::Duration::from_millis(150));
    let report = actuators.restore().unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{}/status", storm.0)).unwrap_or_default();
    eventually("the storm is over", || state().is_empty() || state().contains("State:\tZ"));
    let remarks = report.remarks.join("; ");
    let unnamed = |tid: &Tid| !remarks.contains(&format!("process {tid} ")) && !remarks.contains("created faster than");
    let bound = sleepers(&token).into_iter().filter(|tid| affinity::get(*tid).is_ok_and(|mask| mask != before));
    assert_eq!(bound.filter(unnamed).collect::<Vec<_>>(), [], "{report}: {remarks}");
}

/// The processes that sleep for this unusual time.
fn sleepers(token: &str) -> Vec<Tid> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let sleeps = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words == format!("sleep\0{token}\0").into_bytes()
    };
    pids.filter(sleeps).map(Tid).collect()
}

/// A process whose second thread takes it over when it gets a line.
#[test]
#[ignore = "a helper of the tests, not a test"]
fn helper_executes_from_a_thread() {
    let Some([]) = orders() else { return };
    let thread = std::thread::spawn(|| {
        println!("tid {}", rustix::thread::gettid().as_raw_nonzero());
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        std::os::unix::process::CommandExt::exec(Command::new("sleep").arg("30"))
    });
    panic!("no exec: {:?}", thread.join());
}

#[test]
fn a_thread_that_takes_over_its_process_is_put_back() {
    let Some((scene, _alone)) = alone() else { return };
    let mut actuators = scene.actuators();
    let mut helper = Helper::start("helper_executes_from_a_thread", &[]);
    let (pid, main) = (helper.process.pid(), helper.process.tid());
    let thread = Tid(helper.hear("tid ").parse().unwrap());
    let before = affinity::get(thread).unwrap();
    move_one(&mut actuators, request(pid, thread, scene.second));
    helper.send("now");
    let taken_over = Orphan(main);
    is_sleeping(&taken_over);
    assert_eq!(affinity::get(main).unwrap(), only(scene.second), "the trap");
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, affinity::get(main).unwrap()), (1, before), "{report}");
}

#[test]
fn an_owner_who_was_faster_is_left_alone() {
    let Some((scene, _alone)) = alone() else { return };
    let mut actuators = scene.actuators();
    // Observed as free, but bound before isobar acts.
    let late = scene.process.request(scene.second);
    scene.process.pin(scene.first);
    let outcome = try_move(&mut actuators, late).unwrap();
    assert!(format!("{outcome:?}").contains("changed its affinity just now"), "{outcome:?}");
    assert_eq!(scene.process.mask(), only(scene.first));
}

#[test]
fn each_heir_is_counted_once() {
    let Some((scene, _alone)) = alone() else { return };
    let mut actuators = scene.actuators();
    let mut shell = Shell::start();
    shell.process.pin(scene.second);
    for cpu in [scene.first, scene.second] {
        move_one(&mut actuators, ThreadMove { pinned: true, ..shell.process.request(cpu) });
    }
    // The mask that it inherits and the mask that it gets back are the same.
    let _heir = shell.makes(CHILD);
    assert_eq!(actuators.restore().unwrap().inherited, 1);
    assert_eq!(restore(&scene.state).unwrap(), None);
}
