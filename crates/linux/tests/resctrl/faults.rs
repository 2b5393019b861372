//! Everything that can go wrong with resctrl while clusters are set: the machine ends as it was,
//! and the message names the remedy.

use crate::live::helper::{Helper, orders};
use crate::live::{Kept, sleeper};
use crate::support::{Stage, alone, group_of, mount, open, options, picture, plan, sleepers, two_llcs, ways, why};
use isobar_linux::actuators;
use isobar_model::{ActionOutcome, Machine as _, Pid};
use isobar_resctrl_double::{Errno, Fault, FaultEffect, Operation};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::Path;

/// One cluster exists, another is requested, and an operation of this kind on this path fails.
/// Afterwards nothing of the request remains, the message names path, error and remedy, and at the
/// end everything is as it was.
fn survives(operation: Operation, path: &str, errno: Errno, words: &[&str]) {
    let [a, b, c] = sleepers();
    let Some(mut stage) = Stage::new(two_llcs(), &[&a, &b, &c], |_| {}) else { return };
    let start = picture(&stage.root(), &[&a, &b, &c]);
    stage.done(vec![ways(0, "x", 0x3, &[&a])]);
    let before = picture(&stage.root(), &[&a, &b, &c]);
    stage.mounted.plan(Fault::at(operation, path, FaultEffect::Refuse(errno)));
    let outcomes = stage.apply(vec![ways(0, "y", 0xc, &[&b, &c])]);
    let ActionOutcome::Refused { errno: Some(number), why } = &outcomes[0] else { panic!("{path}: {outcomes:?}") };
    assert_eq!(*number, errno.raw_os_error());
    for word in words {
        assert!(why.contains(word) && !why.contains('\n'), "{path} {errno:?}: {why}");
    }
    assert_eq!(picture(&stage.root(), &[&a, &b, &c]), before, "{path} {errno:?}");
    stage.done(vec![ways(0, "y", 0xc, &[&b, &c])]);
    stage.machine.restore().unwrap();
    assert_eq!(picture(&stage.root(), &[&a, &b, &c]), start, "{path} {errno:?}");
}

#[test]
fn enospc_einval_and_ebusy_from_every_write_and_mkdir_leave_nothing() {
    let _alone = alone();
    for (errno, remedy) in [
        (Errno::NOSPC, "fewer clusters"),
        (Errno::INVAL, "info/"),
        (Errno::BUSY, "max_threshold_occupancy"),
        (Errno::PERM, "run as root"),
        (Errno::IO, "dmesg"),
    ] {
        survives(Operation::Mkdir, "isobar-*-1", errno, &["isobar-", "make the group", remedy]);
        survives(Operation::Write, "isobar-*-1/schemata", errno, &["schemata", "write `L3:0=c`", remedy]);
        survives(Operation::Write, "isobar-*-1/tasks", errno, &["tasks", "cannot write", remedy]);
    }
}

#[test]
fn a_refused_monitor_group_or_removal_spoils_no_cluster() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    let start = picture(&stage.root(), &[&a, &b]);
    let refuse = |operation, path| Fault::at(operation, path, FaultEffect::Refuse(Errno::BUSY));
    stage.mounted.plan(refuse(Operation::Mkdir, "isobar-*/mon_groups/*"));
    stage.done(vec![ways(0, "x", 0x3, &[&a])]);
    stage.mounted.plan(refuse(Operation::Rmdir, "isobar-*"));
    stage.done(vec![ways(0, "x", 0x3, &[])]);
    assert_eq!(stage.groups().len(), 1, "it could not be removed, and is still known");
    stage.mounted.plan(refuse(Operation::Rmdir, "isobar-*"));
    stage.done(vec![ways(0, "y", 0x3, &[&b])]);
    let said = stage.machine.restore().unwrap_err().to_string();
    assert!(said.contains("cannot remove the group") && said.contains("isobar restore"), "{said}");
    assert!(stage.state.exists());
    stage.machine.restore().unwrap();
    assert_eq!(picture(&stage.root(), &[&a, &b]), start);
    assert!(!stage.state.exists());
}

#[test]
fn another_tool_takes_the_last_class() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    stage.done(vec![ways(0, "x", 0x3, &[&a])]);
    stage.mounted.plan(Fault::at(Operation::Mkdir, "isobar-*-1", FaultEffect::TakeClosids));
    let outcomes = stage.apply(vec![ways(0, "x", 0x7, &[&a]), ways(0, "y", 0x8, &[&b])]);
    assert_eq!(outcomes[0], ActionOutcome::Done, "the rest of the plan goes on");
    assert!(matches!(outcomes[1], ActionOutcome::Refused { errno: Some(28), .. }), "{outcomes:?}");
    let said = why(&outcomes[1]);
    assert!(said.contains("Out of CLOSIDs") && said.contains("remove its groups"), "{said}");
    assert_eq!((stage.mask(&a, 0), group_of(&stage.root(), b.tid()).0.as_str()), (0x7, ""));
    // In the next epoch isobar knows this before it tries.
    let outcomes = stage.apply(vec![ways(0, "y", 0x8, &[&b])]);
    let said = why(&outcomes[0]);
    assert!(said.contains("1 of 8 are left") && said.contains("other-tool-"), "{said}");
    stage.machine.restore().unwrap();
    assert_eq!((group_of(&stage.root(), a.tid()).0.as_str(), stage.groups().len()), ("", 0));
    assert!(stage.root().join("other-tool-0").exists() || stage.root().join("other-tool-1").exists());
}

#[test]
fn tasks_that_die_while_a_group_is_filled_are_ordinary() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    let die = || Fault::at(Operation::Write, "isobar-*/tasks", FaultEffect::TasksDie);
    stage.mounted.plan(die());
    stage.done(vec![ways(0, "x", 0x3, &[&a, &b])]);
    let tasks = fs::read_to_string(stage.root().join(&stage.groups()[0]).join("tasks")).unwrap();
    assert_eq!(tasks, format!("{}\n", a.tid().max(b.tid())), "the other one died");
    stage.machine.restore().unwrap();
    let c = sleeper();
    let Some(mut stage) = Stage::new(two_llcs(), &[&c], |_| {}) else { return };
    stage.mounted.plan(die());
    assert_eq!(stage.apply(vec![ways(0, "x", 0x3, &[&c])]), [ActionOutcome::Vanished]);
    assert_eq!(stage.groups(), [""; 0]);
    // A process that has really ended.
    let (pid, tid) = (c.pid(), c.tid());
    let gone = ways(0, "x", 0x3, &[&c]);
    drop(c);
    let outcome = stage.machine.apply(&plan(vec![gone])).unwrap();
    assert_eq!(outcome.actions, [ActionOutcome::Vanished], "{pid} {tid}");
}

#[test]
fn the_mount_vanishes_in_mid_run() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    stage.done(vec![ways(0, "x", 0x3, &[&a])]);
    stage.mounted.plan(Fault::at(Operation::Mkdir, "isobar-*-1", FaultEffect::Unmount));
    let outcomes = stage.apply(vec![ways(0, "y", 0xc, &[&b]), ways(0, "x", 0x3, &[&a])]);
    for outcome in &outcomes {
        assert!(why(outcome).contains("resctrl is not mounted: `mount -t resctrl resctrl"), "{outcomes:?}");
    }
    // The kernel has removed the groups together with the mount, so there is nothing left to put
    // back.
    stage.machine.sample().unwrap();
    stage.machine.restore().unwrap();
    assert!(!stage.state.exists());
}

/// As after an unmount and a mount between two epochs. No thread was moved by its owner.
#[test]
fn groups_that_are_gone_are_made_again() {
    let Some(([a], mut stage)) = Stage::set(two_llcs()) else { return };
    stage.done(vec![ways(0, "x", 0x3, &[&a])]);
    fs::remove_dir(stage.root().join(&stage.groups()[0])).unwrap();
    let said = stage.machine.sample().unwrap().capabilities.remarks.join("; ");
    assert!(said.contains("isobar's groups are gone"), "{said}");
    stage.done(vec![ways(0, "x", 0x3, &[&a])]);
    assert_eq!(stage.mask(&a, 0), 0x3);
    stage.machine.restore().unwrap();
    assert_eq!((group_of(&stage.root(), a.tid()).0.as_str(), stage.groups().len()), ("", 0));
}

#[test]
fn the_lock_of_another_tool_is_waited_for_and_told() {
    let Some(([a], mut stage)) = Stage::set(two_llcs()) else { return };
    let other = File::open(stage.root()).unwrap();
    flock(&other, FlockOperation::LockExclusive).unwrap();
    let outcomes = stage.apply(vec![ways(0, "x", 0x3, &[&a])]);
    assert!(why(&outcomes[0]).contains("another tool has held the lock of resctrl for 500 ms"), "{outcomes:?}");
    assert!(stage.mounted.journal().is_empty());
    flock(&other, FlockOperation::Unlock).unwrap();
    stage.done(vec![ways(0, "x", 0x3, &[&a])]);
    let again = flock(&other, FlockOperation::NonBlockingLockExclusive);
    assert!(again.is_ok(), "it is not kept between changes");
}

#[test]
fn a_state_file_that_cannot_be_written_changes_nothing() {
    let Some(([a], mut stage)) = Stage::set(two_llcs()) else { return };
    stage.machine.sample().unwrap();
    let folder = stage.state.parent().unwrap();
    fs::remove_dir_all(folder).unwrap();
    let said = stage.machine.apply(&plan(vec![ways(0, "x", 0x3, &[&a])])).unwrap_err().to_string();
    assert!(said.contains("nothing is changed without it"), "{said}");
    assert!(stage.mounted.journal().is_empty());
    fs::create_dir_all(folder).unwrap();
}

#[test]
fn without_resctrl_every_request_is_refused_with_the_remedy() {
    let [a] = sleepers();
    let (folder, state) = crate::live::place();
    let mut machine = open(vec![a.pid()], options(&state, &folder.path().join("nowhere")));
    machine.sample().unwrap();
    let outcome = machine.apply(&plan(vec![ways(0, "x", 0x3, &[&a])])).unwrap();
    assert!(why(&outcome.actions[0]).contains("nowhere: resctrl is not mounted: `mount -t resctrl"), "{outcome:?}");
}

/// This program started again as a helper, which sets clusters and waits to be killed.
#[test]
#[ignore = "a helper of the test below"]
fn sets_clusters_and_waits() {
    let Some([pids, state, root, end]) = orders() else { return };
    let pids: Vec<Pid> = pids.split(',').map(|pid| Pid(pid.parse().unwrap())).collect();
    let mut options = options(Path::new(&state), Path::new(&root));
    options.move_grouped = true;
    let mut machine = open(pids.clone(), options);
    machine.sample().unwrap();
    let mut action = ways(0, "x", 0x3, &[]);
    if let isobar_model::Action::SetWays { threads, .. } = &mut action {
        *threads = pids.iter().map(|pid| isobar_model::Tid(pid.0)).collect();
    }
    println!("clusters: {:?}", machine.apply(&plan(vec![action])).unwrap().actions);
    if end == "panic" {
        panic!("on purpose");
    }
    std::thread::sleep(std::time::Duration::from_secs(60));
}

fn ends_as_it_was(end: &str, finish: impl FnOnce(&mut Helper, &Path)) {
    let _alone = alone();
    let [a, b]: [Kept; 2] = sleepers();
    let Some(mounted) = mount(two_llcs()) else { return };
    let root = mounted.folder().to_owned();
    fs::create_dir_all(root.join("web/mon_groups/watch")).unwrap();
    fs::write(root.join("web/tasks"), format!("{}\n", b.tid())).unwrap();
    fs::write(root.join("web/mon_groups/watch/tasks"), format!("{}\n", b.tid())).unwrap();
    let before = picture(&root, &[&a, &b]);
    let (_state_folder, state) = crate::live::place();
    let pids = format!("{},{}", a.pid(), b.pid());
    let orders: [&dyn std::fmt::Display; 4] = [&pids, &state.display(), &root.display(), &end];
    let mut helper = Helper::start("faults::sets_clusters_and_waits", &orders);
    assert_eq!(helper.hear("clusters:"), "[Done]");
    finish(&mut helper, &state);
    assert_eq!(picture(&root, &[&a, &b]), before, "{end}");
    assert!(!state.exists());
    assert_eq!(actuators::restore(&state).unwrap(), None, "twice is harmless");
}

#[test]
fn a_panic_puts_everything_back() {
    ends_as_it_was("panic", |helper, _| {
        helper.process.0.wait().unwrap();
    });
}

#[test]
fn what_a_killed_isobar_left_is_put_back_by_restore() {
    ends_as_it_was("kill", |helper, state| {
        helper.process.end();
        let report = actuators::restore(state).unwrap().unwrap();
        assert_eq!((report.groups, report.grouped_tasks), (1, 2));
        assert!(report.to_string().contains("1 resctrl groups removed"), "{report}");
    });
}
