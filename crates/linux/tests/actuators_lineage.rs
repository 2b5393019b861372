//! Tasks that inherit a mask of ours and tasks that their owner bound: live, with shells that fork,
//! daemonise and call taskset.

// A test program: a failed expectation is what it is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod actuators_support;

use actuators_support::{Kept, eventually, move_one, only, place, request, two_cpus};
use isobar_linux::actuators::{Actuators, ThreadMove, restore};
use isobar_linux::kernel::affinity;
use isobar_linux::kernel_events::KernelEvents;
use isobar_model::{CpuId, CpuSet, Pid, Tid};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// A shell that runs each line that it is given, and ends with the test.
struct Shell {
    process: Kept,
    lines: BufReader<ChildStdout>,
}

impl Shell {
    fn start() -> Self {
        let script = "while read line; do eval \"$line\"; done";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Kept(shell.spawn().unwrap());
        let lines = BufReader::new(process.0.stdout.take().unwrap());
        Self { process, lines }
    }

    /// One that is moved to a CPU, and the mask that it had before.
    fn moved(actuators: &mut Actuators, cpu: CpuId) -> (Self, CpuSet) {
        let shell = Self::start();
        let before = shell.process.mask();
        move_one(actuators, shell.process.request(cpu));
        (shell, before)
    }

    /// Runs a line that prints the id of a process, which ends with the test.
    fn makes(&mut self, line: &str) -> Orphan {
        writeln!(self.process.0.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.lines.read_line(&mut answer).unwrap();
        Orphan(Tid(answer.trim().parse().unwrap_or_else(|_| panic!("no process id: {answer}"))))
    }
}

/// A process that is an orphan; ended with the test, and by itself after 30 seconds.
struct Orphan(Tid);

impl Orphan {
    fn mask(&self) -> CpuSet {
        affinity::get(self.0).unwrap()
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.0).ok().and_then(rustix::process::Pid::from_raw).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// A daemon: its parents have ended, and it has a session of its own.
const DAEMON: &str = "(setsid sh -c 'sleep 30 >/dev/null & echo $!')";

fn parent(process: &Orphan) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.0)).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

/// Waits until the process has ended its own preparations: it is `sleep` by then.
fn is_sleeping(process: &Orphan) {
    let name = || std::fs::read_to_string(format!("/proc/{}/comm", process.0)).unwrap_or_default();
    eventually("the process became sleep", || name() == "sleep\n");
}

/// One test at a time: by likeness the daemons of one test look like those of another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Two CPUs, a place for the state file, and no other test at the same time.
struct Scene {
    first: CpuId,
    second: CpuId,
    state: PathBuf,
    folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Scene {
    /// `None` where there is one CPU, which is said.
    fn set() -> Option<Self> {
        let (first, second) = two_cpus()?;
        let alone = alone();
        let (folder, state) = place();
        Some(Self { first, second, state, folder, _alone: alone })
    }
}

fn open(state: &Path) -> Actuators {
    Actuators::open(state).unwrap().0
}

/// With the kernel's events, if they can be had; else says that the test is skipped.
fn open_with_events(state: &Path, which: fn(&KernelEvents) -> bool) -> Option<Actuators> {
    let events = KernelEvents::open(&affinity::get(Tid(std::process::id())).unwrap(), true);
    if !which(&events) {
        eprintln!("SKIPPED: {}", events.remarks().join("; "));
        return None;
    }
    let mut actuators = open(state);
    actuators.listen(events);
    Some(actuators)
}

#[test]
fn a_daemon_that_forked_twice_is_freed_by_the_kernels_word() {
    let Some(Scene { second, ref state, .. }) = Scene::set() else { return };
    let Some(mut actuators) = open_with_events(state, KernelEvents::forks_complete) else { return };
    let (mut shell, before) = Shell::moved(&mut actuators, second);
    let daemon = shell.makes(DAEMON);
    assert_eq!(daemon.mask(), only(second), "the trap");
    let report = actuators.restore().unwrap();
    // One of its parents may not have ended yet.
    assert!(report.restored == 1 && report.inherited >= 1, "{report}");
    assert_eq!(report.remarks, [""; 0], "nothing is left to doubt");
    assert_eq!(daemon.mask(), before);
}

#[test]
fn a_daemon_that_forked_twice_is_freed_by_likeness_and_reported() {
    let Some(Scene { second, ref state, .. }) = Scene::set() else { return };
    let mut actuators = open(state);
    let (mut shell, before) = Shell::moved(&mut actuators, second);
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
    let named = format!("process {} (sleep) was freed because it looks like", daemon.0);
    assert!(report.remarks.iter().any(|remark| remark.contains(&named)), "{:?}", report.remarks);
}

#[test]
fn what_may_have_been_missed_is_reported_and_left_alone() {
    let Some(Scene { second, ref state, .. }) = Scene::set() else { return };
    let mut actuators = open(state);
    let moved = actuators_support::sleeper();
    move_one(&mut actuators, moved.request(second));
    // Its parent made it, so it did not inherit from the one that was moved; without the kernel's
    // word that is a guess.
    let stranger = actuators_support::sleeper();
    affinity::set(stranger.tid(), &only(second)).unwrap();
    let report = actuators.restore().unwrap();
    assert_eq!((report.inherited, stranger.mask()), (0, only(second)));
    let named = format!("process {} (sleep) stays bound to a CPU that isobar had given", stranger.pid());
    assert!(report.remarks.iter().any(|remark| remark.contains(&named)), "{:?}", report.remarks);
}

#[test]
fn a_binding_of_the_owner_to_the_very_same_cpu_stays() {
    let Some(Scene { second, ref state, .. }) = Scene::set() else { return };
    let Some(mut actuators) = open_with_events(state, KernelEvents::pins_complete) else { return };
    let (mut shell, before) = Shell::moved(&mut actuators, second);
    let bound = shell.makes(&format!("taskset -c {second} sleep 30 >/dev/null & echo $!"));
    let child = shell.makes("sleep 30 >/dev/null & echo $!");
    let daemon = shell.makes(&format!("taskset -c {second} {DAEMON}").replace(['(', ')'], ""));
    is_sleeping(&bound);
    is_sleeping(&daemon);
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, report.inherited), (1, 1), "{report}");
    assert_eq!((shell.process.mask(), child.mask()), (before.clone(), before));
    assert_eq!((bound.mask(), daemon.mask()), (only(second), only(second)));
}

#[test]
fn an_owner_who_binds_the_moved_thread_itself_has_the_last_word() {
    let Some(Scene { second, ref state, .. }) = Scene::set() else { return };
    let Some(mut actuators) = open_with_events(state, KernelEvents::pins_complete) else { return };
    let mut shell = Shell::start();
    move_one(&mut actuators, shell.process.request(second));
    drop(shell.makes(&format!("taskset -pc {second} $$ >/dev/null; sleep 30 >/dev/null & echo $!")));
    let child = shell.makes("sleep 30 >/dev/null & echo $!");
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, report.inherited), (0, 0), "{report}");
    assert_eq!((shell.process.mask(), child.mask()), (only(second), only(second)));
    assert!(report.changed_by_owner >= 2, "the shell and its child: {report}");
}

#[test]
fn the_last_binding_counts_ours_or_the_owners() {
    let Some(Scene { first, second, ref state, .. }) = Scene::set() else { return };
    let Some(mut actuators) = open_with_events(state, KernelEvents::pins_complete) else { return };
    let mut shell = Shell::start();
    let before = shell.process.mask();
    // The owner lifts and sets what was there before we come.
    drop(shell.makes(&format!("taskset -pc {before} $$ >/dev/null; sleep 30 >/dev/null & echo $!")));
    for cpu in [first, second] {
        move_one(&mut actuators, shell.process.request(cpu));
    }
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, shell.process.mask()), (1, before));
}

/// A shell below the one that is moved, which its owner had bound before; it makes a process when
/// it gets a line.
#[test]
fn what_a_shell_that_was_bound_before_makes_is_its_owners() {
    let Some(Scene { second, ref folder, ref state, .. }) = Scene::set() else { return };
    let events =
        [KernelEvents::open(&affinity::get(Tid(std::process::id())).unwrap(), true), KernelEvents::none("a test")];
    for events in events {
        let mut actuators = open(state);
        actuators.listen(events);
        let mut shell = Shell::start();
        let before = shell.process.mask();
        let fifo = folder.path().join("lines");
        let _ = std::fs::remove_file(&fifo);
        let inner = format!("read line < {0}; sleep 30 >/dev/null & echo $!", fifo.display());
        writeln!(shell.process.0.stdin.as_mut().unwrap(), "mkfifo {}", fifo.display()).unwrap();
        let pinned = shell.makes(&format!("taskset -c {second} sh -c '{inner}; wait' & echo $!"));
        eventually("the inner shell is bound", || pinned.mask() == only(second));
        // Start times count in ticks of 10 ms: it must be older than the first change.
        std::thread::sleep(std::time::Duration::from_millis(50));
        move_one(&mut actuators, shell.process.request(second));
        let child = shell.makes(&format!("echo now > {}", fifo.display()));
        let report = actuators.restore().unwrap();
        assert_eq!((report.restored, report.inherited), (1, 0), "{report}: {:?}", report.remarks);
        assert_eq!((shell.process.mask(), pinned.mask()), (before, only(second)));
        assert_eq!(child.mask(), only(second));
    }
}

#[test]
fn daemons_that_are_made_while_everything_is_put_back_are_freed() {
    let Some(Scene { second, ref state, .. }) = Scene::set() else { return };
    let Some(mut actuators) = open_with_events(state, KernelEvents::forks_complete) else { return };
    let (mut shell, before) = Shell::moved(&mut actuators, second);
    let token = format!("7.{}", shell.process.pid());
    let storm = format!("i=0; while [ $i -lt 300 ]; do (sleep {token} >/dev/null &); i=$((i+1)); done & echo $!");
    let storm = shell.makes(&storm);
    std::thread::sleep(std::time::Duration::from_millis(150));
    let report = actuators.restore().unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{}/status", storm.0)).unwrap_or_default();
    eventually("the storm is over", || state().is_empty() || state().contains("State:\tZ"));
    let remarks = report.remarks.join("; ");
    let unnamed = |tid: &Tid| !remarks.contains(&format!("process {tid} ")) && !remarks.contains("made faster than");
    let bound = sleepers(&token).into_iter().filter(|tid| affinity::get(*tid).is_ok_and(|mask| mask != before));
    assert_eq!(bound.filter(unnamed).collect::<Vec<_>>(), [], "{report}: {remarks}");
}

/// The processes that sleep for this odd time.
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
    if !actuators_support::is_helper() {
        return;
    }
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
    let Some(Scene { second, ref state, .. }) = Scene::set() else { return };
    let mut actuators = open(state);
    let mut helper = actuators_support::Helper::start("helper_executes_from_a_thread", &[]);
    let (pid, main) = (helper.process.pid(), helper.process.tid());
    let thread = Tid(helper.hear("tid ").parse().unwrap());
    let before = affinity::get(thread).unwrap();
    move_one(&mut actuators, request(pid, thread, second));
    helper.tell("now");
    let taken_over = Orphan(main);
    is_sleeping(&taken_over);
    assert_eq!(affinity::get(main).unwrap(), only(second), "the trap");
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, affinity::get(main).unwrap()), (1, before), "{report}");
}

#[test]
fn an_owner_who_was_faster_is_left_alone() {
    let Some(Scene { first, second, ref state, .. }) = Scene::set() else { return };
    let mut actuators = open(state);
    let process = actuators_support::sleeper();
    // Observed as free; bound before we act.
    let late = process.request(second);
    affinity::set(process.tid(), &only(first)).unwrap();
    let outcome = actuators_support::try_move(&mut actuators, late).unwrap();
    assert!(format!("{outcome:?}").contains("changed its affinity just now"), "{outcome:?}");
    assert_eq!(process.mask(), only(first));
}

#[test]
fn each_heir_is_counted_once() {
    let Some(Scene { first, second, ref state, .. }) = Scene::set() else { return };
    let mut actuators = open(state);
    let mut shell = Shell::start();
    affinity::set(shell.process.tid(), &only(second)).unwrap();
    let pinned =
        |cpu: CpuId| ThreadMove { pinned: true, ..request(Pid(shell.process.0.id()), shell.process.tid(), cpu) };
    for cpu in [first, second] {
        move_one(&mut actuators, pinned(cpu));
    }
    // What it inherits and what it gets back are one mask.
    let _heir = shell.makes("sleep 30 >/dev/null & echo $!");
    assert_eq!(actuators.restore().unwrap().inherited, 1);
    assert_eq!(restore(state).unwrap(), None);
}
