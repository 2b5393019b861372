//! The mount itself, used as any program would use it: std::fs, two processes and one lock, a
//! process that forks in a group, a mount that vanishes. It needs root and /dev/fuse. If these are
//! missing, it says so and passes.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use isobar_resctrl_double::{Errno, Fault, FaultEffect, Machine, Mounted, Operation, can_mount};

/// A machine of two domains, whose second id is not the next number.
fn machine() -> Machine {
    Machine { bandwidth: true, ..Machine::with_domains([0, 3]) }
}

fn mount() -> Option<Mounted> {
    if !can_mount() {
        eprintln!("SKIPPED: a mount needs root and /dev/fuse; nothing of the FUSE face was tested");
        return None;
    }
    Some(Mounted::temporary(machine()).unwrap())
}

/// The errno of one write as a shell makes it: truncate, write, close.
fn write(path: &Path, text: &str) -> Result<(), Errno> {
    let mut file = File::options().write(true).truncate(true).open(path).map_err(errno)?;
    file.write_all(text.as_bytes()).map_err(errno)
}

#[allow(clippy::needless_pass_by_value)]
fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap()
}

fn ids(path: &Path) -> BTreeSet<u32> {
    fs::read_to_string(path).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

/// A child process, killed when dropped.
struct Own(Child);

impl Own {
    fn sh(script: &str) -> Self {
        Self(Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_group_lives_its_life_through_files() {
    let Some(mounted) = mount() else { return };
    let root = mounted.folder().to_owned();
    assert_eq!(fs::read_to_string(root.join("schemata")).unwrap(), "    MB:0=100;3=100\n    L3:0=7ff;3=7ff\n");
    let copy = tempfile::tempfile().unwrap();
    let sent = rustix::fs::sendfile(&copy, File::open(root.join("schemata")).unwrap(), None, 1 << 20).unwrap();
    assert_eq!(sent, 38, "as busybox's cat reads");
    fs::create_dir(root.join("web")).unwrap();
    write(&root.join("web/schemata"), "L3:0=3;3=7f0\nMB:3=15\n").unwrap();
    assert_eq!(fs::read_to_string(root.join("web/schemata")).unwrap(), "    MB:0=100;3= 20\n    L3:0=003;3=7f0\n");
    assert_eq!(write(&root.join("web/schemata"), "L3:0=5\n"), Err(Errno::INVAL));
    let status = root.join("info/last_cmd_status");
    assert_eq!(fs::read_to_string(&status).unwrap(), "The mask 5 has non-consecutive 1-bits\n");
    let subject = Own::sh("read line");
    write(&root.join("web/tasks"), &format!("{}\n", subject.0.id())).unwrap();
    assert_eq!(ids(&root.join("web/tasks")), BTreeSet::from([subject.0.id()]));
    assert!(!ids(&root.join("tasks")).contains(&subject.0.id()));
    fs::remove_dir(root.join("web")).unwrap();
    assert!(ids(&root.join("tasks")).contains(&subject.0.id()));
    let asked: Vec<_> =
        mounted.journal().iter().map(|entry| (entry.operation, entry.path.clone(), entry.result)).collect();
    let ok = |operation, path: &str| (operation, path.to_owned(), Ok(()));
    assert_eq!(asked[0], ok(Operation::Mkdir, "web"));
    assert_eq!(asked[2], (Operation::Write, "web/schemata".to_owned(), Err(Errno::INVAL)));
    assert_eq!(asked[4], ok(Operation::Rmdir, "web"));
}

#[test]
fn what_no_rule_of_resctrl_allows_is_refused_as_by_kernfs() {
    let Some(mounted) = mount() else { return };
    let root = mounted.folder();
    assert_eq!(errno(File::create(root.join("new")).unwrap_err()), Errno::ACCESS);
    assert_eq!(errno(File::options().write(true).open(root.join("info/last_cmd_status")).unwrap_err()), Errno::ACCESS);
    assert_eq!(errno(fs::remove_file(root.join("tasks")).unwrap_err()), Errno::PERM);
    assert_eq!(errno(fs::remove_dir(root.join("info")).unwrap_err()), Errno::PERM);
    assert_eq!(errno(fs::remove_dir(root.join("tasks")).unwrap_err()), Errno::NOTDIR);
    assert_eq!(errno(fs::create_dir(root.join("info")).unwrap_err()), Errno::EXIST);
    assert_eq!(errno(fs::create_dir(root.join("a\nb")).unwrap_err()), Errno::INVAL);
    assert_eq!(errno(fs::create_dir(root.join("info/a")).unwrap_err()), Errno::NODEV);
    assert_eq!(errno(fs::create_dir(root.join("mon_data/a")).unwrap_err()), Errno::PERM);
    assert_eq!(errno(std::os::unix::fs::symlink("a", root.join("b")).unwrap_err()), Errno::PERM);
    assert_eq!(errno(fs::read(root.join("nothing")).unwrap_err()), Errno::NOENT);
    assert_eq!(write(&root.join("tasks"), &"1,".repeat(3000)), Err(Errno::TOOBIG));
    fs::create_dir(root.join("gone")).unwrap();
    let mut open = File::options().write(true).open(root.join("gone/tasks")).unwrap();
    fs::remove_dir(root.join("gone")).unwrap();
    assert_eq!(errno(open.write_all(b"1\n").unwrap_err()), Errno::NODEV);
}

#[test]
fn a_child_is_born_in_its_parents_group_and_the_dead_vanish() {
    let Some(mounted) = mount() else { return };
    let root = mounted.folder();
    fs::create_dir(root.join("family")).unwrap();
    let tasks = root.join("family/tasks");
    let mut parent = Own::sh("read line; sleep 60 & wait");
    write(&tasks, &format!("{}\n", parent.0.id())).unwrap();
    let child = || ids(&tasks).into_iter().find(|tid| *tid != parent.0.id());
    assert_eq!(child(), None);
    parent.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    wait_until("the child is shown", || ids(&tasks).len() == 2);
    let child = ids(&tasks).into_iter().find(|tid| *tid != parent.0.id()).unwrap();
    drop(parent);
    wait_until("the parent is gone", || ids(&tasks) == BTreeSet::from([child]));
    let pid = rustix::process::Pid::from_raw(i32::try_from(child).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_until("the child is gone", || ids(&tasks).is_empty());
    assert_eq!(write(&tasks, &format!("{child}\n")), Err(Errno::SRCH));
    assert_eq!(
        fs::read_to_string(root.join("info/last_cmd_status")).unwrap(),
        format!("No task {child}\nError while processing task {child}\n")
    );
}

#[test]
fn zero_stands_for_the_writing_task() {
    let Some(mounted) = mount() else { return };
    let root = mounted.folder();
    fs::create_dir(root.join("self")).unwrap();
    let mut shell = Own::sh(&format!("echo 0 > {}/self/tasks; read line", root.display()));
    wait_until("the shell moved itself", || ids(&root.join("self/tasks")) == BTreeSet::from([shell.0.id()]));
    shell.0.stdin.take();
}

#[test]
fn the_root_can_be_locked_between_processes() {
    let Some(mounted) = mount() else { return };
    let root = mounted.folder();
    let held = File::open(root).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    // util-linux: with -n it fails at once with 1 if the lock is taken.
    let other = || Command::new("flock").args(["-n"]).arg(root).args(["-c", "true"]).status();
    match other() {
        Err(error) if error.kind() == ErrorKind::NotFound => eprintln!("SKIPPED: no flock(1) here"),
        status => {
            assert_eq!(status.unwrap().code(), Some(1), "two processes hold one lock");
            drop(held);
            assert_eq!(other().unwrap().code(), Some(0));
        }
    }
}

#[test]
fn a_mount_can_vanish_in_mid_run_and_is_gone_when_dropped() {
    if !can_mount() {
        return eprintln!("SKIPPED: a mount needs root and /dev/fuse; a vanishing one was not tested");
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let mounted = Mounted::on(&root, machine()).unwrap();
    fs::create_dir(root.join("a")).unwrap();
    mounted.plan(Fault::at(Operation::Write, "a/schemata", FaultEffect::Unmount));
    let mut open = File::options().write(true).open(root.join("a/schemata")).unwrap();
    open.write_all(b"L3:0=1\n").unwrap();
    assert!(!mounted.is_there());
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "the empty folder below");
    assert_eq!(write(&root.join("a/schemata"), "L3:0=1\n"), Err(Errno::NOENT));
    open.write_all(b"L3:0=2\n").unwrap();
    drop(mounted);
    // While the file is open, the old mount goes on below; a new one on the same folder is not
    // disturbed.
    let next = Mounted::on(&root, machine()).unwrap();
    drop(open);
    assert!(next.is_there() && root.join("schemata").exists());
    drop(next);
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
}
