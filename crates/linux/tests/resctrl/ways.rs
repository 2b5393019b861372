//! Clusters on a resctrl that follows the kernel's rules: what `set_ways` does, and that nothing of
//! it remains afterwards.

use crate::live::Kept;
use crate::live::shell::{CHILD, Shell};
use crate::support::{Stage, alone, group_of, picture, plan, schemata, sleepers, slowed, two_llcs, ways, why};
use isobar_model::{ActionOutcome, CpuId, Machine as _, Observation};
use isobar_resctrl_double::Machine;
use std::fs;

#[test]
fn clusters_of_two_llcs_share_groups_and_all_is_put_back() {
    let Some(([a, b, c], mut stage)) = Stage::set(two_llcs()) else { return };
    let before = picture(&stage.root(), &[&a, &b, &c]);
    stage.done(vec![ways(0, "stream", 0x3, &[&a]), ways(0, "rest", 0x7fc, &[&b]), ways(1, "stream", 0x1, &[&c])]);
    assert_eq!(stage.groups().len(), 2, "the most on one llc, not the sum of all");
    assert_eq!((stage.mask(&a, 0), stage.mask(&b, 0), stage.mask(&c, 1)), (0x3, 0x7fc, 0x1));
    assert_eq!(stage.mask(&a, 1), 0x1, "namesakes meet");
    assert_eq!(stage.mask(&b, 1), 0x7ff, "where a group has no cluster it has what the default group has");
    assert!(fs::read_to_string(&stage.state).unwrap().contains("isobar-"));
    stage.machine.restore().unwrap();
    assert_eq!(picture(&stage.root(), &[&a, &b, &c]), before);
    assert!(!stage.state.exists());
    stage.machine.restore().unwrap();
}

#[test]
fn the_same_plan_again_writes_nothing_and_a_change_only_its_difference() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    let wanted = || vec![ways(0, "x", 0x3, &[&a]), ways(0, "y", 0x7fc, &[&b])];
    stage.done(wanted());
    let asked = stage.mounted.journal().len();
    stage.done(wanted());
    assert_eq!(stage.mounted.journal().len(), asked);
    stage.done(vec![ways(0, "x", 0x7, &[&a])]);
    let journal = stage.mounted.journal();
    let texts: Vec<_> = journal[asked..].iter().map(|entry| entry.text.as_str()).collect();
    assert_eq!(texts, ["L3:0=7\n"]);
}

#[test]
fn a_thread_is_in_one_cluster_and_an_empty_cluster_gives_its_class_back() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    stage.done(vec![ways(0, "x", 0x3, &[&a]), ways(0, "y", 0xc, &[&b])]);
    stage.done(vec![ways(0, "y", 0xc, &[&a, &b])]);
    assert_eq!(stage.groups().len(), 1);
    assert_eq!((stage.mask(&a, 0), stage.mask(&b, 0)), (0xc, 0xc));
    stage.done(vec![ways(0, "y", 0xc, &[&b])]);
    assert_eq!(group_of(&stage.root(), a.tid()).0, "", "dropped from its cluster, not born in it");
    drop(b);
    stage.machine.sample().unwrap();
    assert_eq!(stage.groups(), [""; 0], "no group is left");
}

#[test]
fn classes_that_a_plan_gives_back_are_there_for_the_same_plan() {
    let Some(([a, b, c], mut stage)) = Stage::set(Machine { closids: 3, ..two_llcs() }) else { return };
    stage.done(vec![ways(0, "x", 0x1, &[&a]), ways(0, "y", 0x2, &[&b])]);
    // The new cluster is set first, and takes the class that `x` frees later.
    stage.done(vec![ways(0, "z", 0x4, &[&c]), ways(0, "x", 0x1, &[])]);
    assert_eq!((stage.mask(&c, 0), stage.mask(&b, 0), stage.mask(&a, 0)), (0x4, 0x2, 0x7ff));
    let outcomes = stage.apply(vec![ways(0, "z", 0x8, &[&c]), ways(0, "w", 0x10, &[&a])]);
    assert_eq!(outcomes[0], ActionOutcome::Done);
    let said = why(&outcomes[1]);
    for word in ["llc 0 needs 3 classes of service, but 2 of 3 are left", "the default group", "fewer clusters"] {
        assert!(said.contains(word), "{said}");
    }
    assert_eq!((stage.mask(&c, 0), stage.mask(&a, 0)), (0x8, 0x7ff));
}

#[test]
fn classes_held_by_others_are_counted_and_named() {
    let Some(([a, b], mut stage)) = Stage::set(Machine { closids: 3, ..two_llcs() }) else { return };
    fs::create_dir(stage.root().join("pqos")).unwrap();
    let outcomes = stage.apply(vec![ways(0, "x", 0x1, &[&a]), ways(0, "y", 0x2, &[&b])]);
    assert_eq!(outcomes[0], ActionOutcome::Done);
    let said = why(&outcomes[1]);
    assert!(said.contains("1 to groups of other programs (pqos)") && said.contains("rmdir"), "{said}");
}

#[test]
fn what_the_kernel_refuses_comes_with_its_own_words_and_leaves_nothing() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    stage.done(vec![ways(0, "x", 0x3, &[&a])]);
    let before = picture(&stage.root(), &[&a, &b]);
    let outcomes = stage.apply(vec![ways(0, "y", 0x5, &[&b]), ways(0, "x", 0x50, &[&a]), ways(7, "z", 1, &[&b])]);
    for outcome in &outcomes[..2] {
        assert!(matches!(outcome, ActionOutcome::Refused { errno: Some(libc_einval), .. } if *libc_einval == 22));
        let said = why(outcome);
        assert!(
            said.contains("non-consecutive 1-bits") && said.contains("schemata") && said.contains("L3:0="),
            "{said}"
        );
    }
    assert!(
        why(&outcomes[2]).contains("llc 7 is not a cache domain of resctrl, whose domains are 0, 1"),
        "{}",
        why(&outcomes[2])
    );
    assert_eq!(picture(&stage.root(), &[&a, &b]), before);
}

#[test]
fn an_exclusive_group_of_another_tool_keeps_its_ways() {
    let Some(([a], mut stage)) = Stage::set(two_llcs()) else { return };
    let root = stage.root();
    fs::create_dir(root.join("db")).unwrap();
    fs::write(root.join("schemata"), "L3:0=7;1=7\n").unwrap();
    fs::write(root.join("db/schemata"), "L3:0=700;1=700\n").unwrap();
    fs::write(root.join("db/mode"), "exclusive\n").unwrap();
    let outcomes = stage.apply(vec![ways(0, "x", 0x300, &[&a])]);
    assert!(why(&outcomes[0]).contains("verlaps"), "{outcomes:?}");
    assert_eq!(stage.groups(), [""; 0]);
    stage.done(vec![ways(0, "x", 0xff, &[&a])]);
    assert_eq!(stage.mask(&a, 1), 0x7, "in the other domain as the default group, clear of the exclusive one");
    stage.machine.restore().unwrap();
    assert_eq!(fs::read_to_string(root.join("db/mode")).unwrap(), "exclusive\n");
}

#[test]
fn code_and_data_get_the_same_mask() {
    let Some(([a], mut stage)) = Stage::set(Machine { cdp: true, ..two_llcs() }) else { return };
    stage.done(vec![ways(1, "x", 0x3c, &[&a])]);
    let schemata = schemata(&stage.root(), &group_of(&stage.root(), a.tid()).0);
    assert_eq!((schemata.get("L3CODE", 1), schemata.get("L3DATA", 1)), (Some(0x3c), Some(0x3c)));
    assert_eq!(schemata.get("L3CODE", 0), Some(0x7ff));
}

#[test]
fn a_share_of_the_bandwidth_is_a_step_of_the_hardware_and_goes_with_its_cluster() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    let share = |stage: &Stage, process: &Kept, domain| {
        schemata(&stage.root(), &group_of(&stage.root(), process.tid()).0).get("MB", domain).unwrap()
    };
    stage.done(vec![slowed(0, "stream", 0x3, 33, &[&a]), slowed(1, "y", 0x3, 3, &[&b])]);
    assert_eq!((share(&stage, &a, 0), share(&stage, &b, 1)), (40, 10));
    stage.done(vec![ways(0, "stream", 0x3, &[&a])]);
    assert_eq!(share(&stage, &a, 0), 100);
    let Some(mut stage) = Stage::new(Machine { bandwidth: false, ..two_llcs() }, &[&a], |_| {}) else { return };
    let outcomes = stage.apply(vec![slowed(0, "stream", 0x3, 33, &[&a])]);
    assert!(why(&outcomes[0]).contains("no memory-bandwidth allocation"), "{outcomes:?}");
}

#[test]
fn tasks_of_another_tool_are_left_alone_unless_asked_for_and_then_go_back() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    let root = stage.root();
    fs::create_dir_all(root.join("web/mon_groups/watch")).unwrap();
    fs::create_dir(root.join("mon_groups/eye")).unwrap();
    fs::write(root.join("web/tasks"), format!("{}\n", a.tid())).unwrap();
    fs::write(root.join("web/mon_groups/watch/tasks"), format!("{}\n", a.tid())).unwrap();
    fs::write(root.join("mon_groups/eye/tasks"), format!("{}\n", b.tid())).unwrap();
    let before = picture(&root, &[&a, &b]);
    let outcomes = stage.apply(vec![ways(0, "x", 0x3, &[&a])]);
    assert!(matches!(outcomes[0], ActionOutcome::LeftAlone { .. }));
    assert!(why(&outcomes[0]).contains("group web of another tool") && why(&outcomes[0]).contains("move_grouped"));
    // One of two threads is left alone. The other is moved, and that is reported.
    stage.done(vec![ways(0, "x", 0x3, &[&a, &b])]);
    assert_eq!((stage.mask(&b, 0), group_of(&root, a.tid()).0.as_str()), (0x3, "web"));
    let remarks = stage.machine.sample().unwrap().capabilities.remarks.clone();
    assert!(remarks.iter().any(|line| line.contains("group web of another tool")), "{remarks:?}");
    stage.machine.restore().unwrap();
    assert_eq!(picture(&root, &[&a, &b]), before, "back in the monitor group of another, too");
    drop(stage.machine);
    let mut options = crate::support::options(&stage.state, &root);
    options.move_grouped = true;
    let mut machine = crate::support::open(vec![a.pid(), b.pid()], options);
    machine.sample().unwrap();
    let outcome = machine.apply(&plan(vec![ways(0, "x", 0x3, &[&a, &b])])).unwrap();
    assert_eq!(outcome.actions, [ActionOutcome::Done]);
    assert!(group_of(&root, a.tid()).0.starts_with("isobar-"));
    // Dropped from the cluster, thread `a` goes home at once. At the end everything is as before.
    let outcome = machine.apply(&plan(vec![ways(0, "x", 0x3, &[&b])])).unwrap();
    assert_eq!(outcome.actions, [ActionOutcome::Done]);
    assert_eq!(group_of(&root, a.tid()), ("web".to_owned(), Some("watch".to_owned())));
    drop(machine);
    assert_eq!(picture(&root, &[&a, &b]), before);
}

#[test]
fn who_was_moved_by_its_owner_is_its_owners() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    stage.done(vec![ways(0, "x", 0x3, &[&a, &b])]);
    fs::write(stage.root().join("tasks"), format!("{}\n", a.tid())).unwrap();
    let outcomes = stage.apply(vec![ways(0, "x", 0x3, &[&a])]);
    assert!(why(&outcomes[0]).contains("its owner moved it"), "{outcomes:?}");
    assert_eq!(group_of(&stage.root(), a.tid()).0, "");
    fs::create_dir(stage.root().join("web")).unwrap();
    fs::write(stage.root().join("web/tasks"), format!("{}\n", b.tid())).unwrap();
    stage.machine.restore().unwrap();
    assert_eq!(group_of(&stage.root(), b.tid()).0, "web", "not in a group of ours: left alone");
}

#[test]
fn children_stay_with_their_parents_cluster_and_go_home_with_it() {
    let _alone = alone();
    let mut shell = Shell::start();
    let a = &shell.process;
    let Some(mut stage) = Stage::new(two_llcs(), &[a], |options| options.move_grouped = true) else { return };
    let root = stage.root();
    fs::create_dir(root.join("web")).unwrap();
    fs::write(root.join("web/tasks"), format!("{}\n", a.tid())).unwrap();
    stage.done(vec![ways(0, "x", 0x3, &[a])]);
    let orphan = shell.makes(CHILD);
    let (a, child) = (&shell.process, orphan.0);
    assert_eq!(group_of(&root, child), group_of(&root, a.tid()));
    stage.done(vec![ways(0, "x", 0x7, &[a])]);
    assert_eq!(group_of(&root, child).0, group_of(&root, a.tid()).0, "born in the cluster, it stays there");
    stage.machine.restore().unwrap();
    assert_eq!((group_of(&root, a.tid()).0.as_str(), group_of(&root, child).0.as_str()), ("web", "web"));
}

#[test]
fn a_dry_run_touches_nothing() {
    let _alone = alone();
    let [a] = sleepers();
    let Some(mut stage) = Stage::new(two_llcs(), &[&a], |options| options.dry_run = true) else { return };
    let outcomes = stage.apply(vec![ways(0, "x", 0x3, &[&a])]);
    assert_eq!(why(&outcomes[0]), "dry run");
    stage.machine.restore().unwrap();
    assert!(stage.mounted.journal().is_empty() && !stage.state.exists());
}

#[test]
fn bandwidth_is_read_from_monitor_groups_and_survives_a_change_of_group() {
    let Some(([a, b], mut stage)) = Stage::set(two_llcs()) else { return };
    stage.machine.sensing().cpus.insert(b.tid(), CpuId(1));
    // Moves bytes of `a`, all of them on LLC 0.
    let flow = |stage: &Stage, bytes| stage.mounted.with(|state| state.move_bytes(a.tid().0, 0, bytes));
    let mut last = stage.machine.sample().unwrap();
    // Bytes per second of both in the second since the last call.
    let mut rates = |stage: &mut Stage| {
        stage.machine.sensing().time += 1.0;
        let now = stage.machine.sample().unwrap();
        let seen = Observation::between(&std::mem::replace(&mut last, now.clone()), &now);
        let rate = |process: &Kept| {
            let thread = seen.threads().find(|(_, thread)| thread.tid == process.tid()).unwrap().1;
            thread.bandwidth.map(|bandwidth| bandwidth.0)
        };
        [rate(&a), rate(&b)]
    };
    assert_eq!(rates(&mut stage), [None, None], "neither misses nor a monitor group");
    stage.done(vec![ways(0, "x", 0x3, &[&a]), ways(1, "x", 0x3, &[&b])]);
    assert_eq!(group_of(&stage.root(), a.tid()).1, Some(format!("p{}", a.pid())));
    flow(&stage, 1000);
    rates(&mut stage);
    flow(&stage, 8000);
    assert_eq!(rates(&mut stage), [Some(8000.0), Some(0.0)]);
    // 600 bytes in the old group, 30 in the new one.
    flow(&stage, 600);
    let time = stage.machine.sensing().time;
    stage.machine.apply(&plan(vec![ways(0, "other", 0x30, &[&a]), ways(0, "x", 0x3, &[&b])])).unwrap();
    assert_eq!((stage.groups().len(), stage.machine.sensing().time), (2, time));
    flow(&stage, 30);
    assert_eq!(rates(&mut stage)[0], Some(630.0));
    stage.mounted.with(|state| state.plan_reading("*/mbm_total_bytes", "Unassigned"));
    assert_eq!(rates(&mut stage), [None, None], "not measured, and not zero");
    let remarks = stage.machine.sample().unwrap().capabilities.remarks.clone();
    assert!(remarks.iter().any(|line| line.contains("mbm_total_bytes")), "{remarks:?}");
}

#[test]
fn without_monitoring_ids_clusters_go_on_and_it_is_told() {
    let Some(([a, b], mut stage)) = Stage::set(Machine { rmids: 3, ..two_llcs() }) else { return };
    stage.done(vec![ways(0, "x", 0x3, &[&a]), ways(0, "y", 0xc, &[&b])]);
    let remarks = stage.machine.sample().unwrap().capabilities.remarks.clone();
    assert!(remarks.iter().any(|line| line.contains("2 processes have no monitor group")), "{remarks:?}");
}
