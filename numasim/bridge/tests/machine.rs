//! The Linux machine on a page in a file, with a stand-in for the plugin that counts and applies,
//! and real threads of a child process.

// Helpers of tests also fail by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../crates/linux/tests/live/mod.rs"]
mod live;
#[path = "../../../crates/linux/tests/sensors_child/mod.rs"]
mod sensors_child;
#[path = "../../page/tests/stand_in/mod.rs"]
mod stand_in;

use isobar_linux::machine::{LinuxMachine, LinuxOptions};
use isobar_linux::sensors::{Sensing, SensorOptions, Sensors};
use isobar_model::topology::{Cpu, Llc, Node, Parts};
use isobar_model::{
    Action, ActionOutcome, CoreId, CpuId, LlcId, Machine, NodeId, Observation, Pid, Plan, Sensor, Tid, Topology,
};
use numasim_bridge::{Page, PageCounters, PageWays, page};
use numasim_page::{Mapping, Words, layout};
use sensors_child::{Observed, machine};
use stand_in::{Plugin, RATE, WAYS};
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

const FULL: u64 = (1 << WAYS) - 1;

#[test]
#[ignore = "a helper of the tests, not a test"]
fn child_role() {
    sensors_child::obey();
}

/// The running machine's CPUs, with one LLC and one node.
fn topology() -> Arc<Topology> {
    let cpu = |id: CpuId| Cpu { id, core: CoreId(id.0), llc: Some(LlcId(0)), node: Some(NodeId(0)) };
    let node = Node { id: NodeId(0), memory: None, max_bandwidth: None };
    let llc = Llc { id: LlcId(0), level: 3, size: None, ways: None };
    let cpus = machine().online().iter().map(cpu).collect();
    Arc::new(Topology::new(Parts { nodes: vec![node], llcs: vec![llc], cpus, ..Parts::default() }).unwrap())
}

/// A stand-in for the plugin, its page, and the folder of both.
fn plugin() -> (Plugin, Arc<Page>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let plugin = Plugin::start(folder.path());
    let page = page_of(&plugin);
    (plugin, page, folder)
}

fn page_of(plugin: &Plugin) -> Arc<Page> {
    page::open(Some(&plugin.path), "counters").unwrap()
}

fn sensors(page: &Arc<Page>) -> Sensors {
    let counters = Box::new(PageCounters::new(Arc::clone(page)));
    Sensors::with_counters(SensorOptions::default(), topology(), counters).unwrap()
}

#[test]
fn counts_go_to_threads_that_ran_and_no_more_than_there_are() {
    let mut child = Observed::start();
    let (spinning, asleep) = (child.threads("spin", 1)[0], child.threads("sleep", 1)[0]);
    let (_plugin, page, _folder) = plugin();
    let mut sensors = sensors(&page);
    let capabilities = sensors.capabilities();
    assert!(!capabilities.missing.contains_key(&Sensor::LlcMisses));
    assert!(capabilities.remarks.iter().any(|remark| remark.starts_with("counters of the numasim test machine")));
    sensors.sample().unwrap();
    sleep(Duration::from_millis(300));
    let before = page.snapshot().unwrap();
    let first = sensors.sample().unwrap();
    sleep(Duration::from_millis(700));
    let second = sensors.sample().unwrap();
    let counted = page.snapshot().unwrap().since(&before);
    let seen = Observation::between(&first, &second);
    let of = |tid: Tid| seen.threads().find(|(_, thread)| thread.tid == tid).unwrap().1;
    let spun = of(spinning);
    let instructions = spun.instructions.unwrap();
    // The thread shares its CPU with whatever else runs here, and its CPU time is counted in ticks.
    assert!(instructions > RATE / 200, "{spun:?}");
    assert!(spun.llc_misses.unwrap().abs_diff(instructions / 100) <= 2, "{spun:?}");
    assert!(spun.llc_references.unwrap().abs_diff(instructions / 10) <= 2, "{spun:?}");
    assert!(spun.bandwidth.unwrap().0 > 0.0, "{spun:?}");
    assert_eq!(of(asleep).instructions, Some(0));
    let all: u64 = seen.threads().filter_map(|(_, thread)| thread.instructions).sum();
    let there_were: u64 = counted.cpus.iter().map(|cpu| cpu.instructions).sum();
    assert!(instructions <= all && all <= there_were, "{all} of {there_were}");
}

#[test]
fn a_page_that_stands_still_measures_nothing_and_says_so() {
    let mut child = Observed::start();
    let spinning = child.threads("spin", 1)[0];
    let (mut plugin, page, _folder) = plugin();
    let mut sensors = sensors(&page);
    sensors.sample().unwrap();
    sleep(Duration::from_millis(100));
    plugin.end();
    let first = sensors.sample().unwrap();
    sleep(Duration::from_millis(300));
    let second = sensors.sample().unwrap();
    let seen = Observation::between(&first, &second);
    let (_, thread) = seen.threads().find(|(_, thread)| thread.tid == spinning).unwrap();
    assert_eq!((thread.instructions, thread.llc_misses), (None, None), "not measured is not 0");
    let remarks = second.capabilities.remarks.join("\n");
    assert!(remarks.contains("the page has not changed since guest time"), "{remarks}");
    // A page that cannot be read gives the reason instead.
    Mapping::file(&plugin.path).unwrap().store(layout::MODELLING, 0);
    let third = sensors.sample().unwrap();
    let remarks = third.capabilities.remarks.join("\n");
    assert!(remarks.contains("not modelling yet") && !remarks.contains("has not changed"), "{remarks}");
}

#[test]
fn a_page_that_cannot_be_used_is_refused_with_the_remedy() {
    let (plugin, _page, _folder) = plugin();
    let refused = |path: &Path, key| page::open(Some(path), key).unwrap_err().to_string();
    let none = refused(Path::new("/nonexistent/page"), "ways");
    assert!(none.contains("/nonexistent/page") && none.ends_with("elsewhere remove the key"), "{none}");
    assert!(none.contains("manage.ways = \"numasim\"") && none.lines().count() == 1, "{none}");
    let words = Mapping::file(&plugin.path).unwrap();
    words.store(layout::PAGE_VERSION, 7);
    assert!(refused(&plugin.path, "counters").contains("version 7, and this program knows version 4"));
    words.store(layout::MAGIC, 0);
    assert!(refused(&plugin.path, "counters").contains("QEMU runs without the plugin"));
    if Mapping::device().is_ok() {
        eprintln!("SKIPPED: this machine is a numasim guest itself");
        return;
    }
    let no_device = page::open(None, "counters").unwrap_err().to_string();
    assert!(no_device.contains("1af4:1110") && no_device.contains("works only in a numasim guest"), "{no_device}");
}

fn set_ways(cluster: &str, way_mask: u64, threads: &[Tid]) -> Action {
    Action::SetWays {
        llc: LlcId(0),
        cluster: cluster.into(),
        way_mask,
        memory_bandwidth_percent: None,
        threads: threads.to_vec(),
        reason: "a test".into(),
    }
}

/// The machine with ways by the page, and the child's threads as last seen.
fn with_ways(plugin: &Plugin, folder: &Path) -> LinuxMachine<Sensors> {
    let page = page_of(plugin);
    let state = folder.join("state.json");
    let options = LinuxOptions { state, manager_lock: None, catch_signals: false, ..LinuxOptions::default() };
    let read = Box::new(|| -> Result<Topology, Box<dyn std::error::Error + Send + Sync>> { Ok((*topology()).clone()) });
    let mut machine = LinuxMachine::open(sensors(&page), read, options).unwrap();
    machine.give_ways_by(Box::new(PageWays::new(page, &topology()).unwrap()));
    machine
}

fn apply(machine: &mut LinuxMachine<Sensors>, actions: Vec<Action>) -> Vec<ActionOutcome> {
    machine.apply(&Plan { actions, ..Plan::default() }).unwrap().actions
}

#[track_caller]
fn why(outcome: &ActionOutcome) -> &str {
    match outcome {
        ActionOutcome::Refused { why, .. } | ActionOutcome::LeftAlone { why } => why,
        other => panic!("{other:?}"),
    }
}

fn classes_of_cpus(page: &Page) -> Vec<usize> {
    (0..page.header().cpus.len()).map(|cpu| page.class(cpu)).collect()
}

#[test]
fn ways_are_classes_of_the_page_and_go_back() {
    let mut child = Observed::start();
    let spinning = child.threads("spin", 1);
    let (plugin, page, folder) = plugin();
    let mut machine = with_ways(&plugin, folder.path());
    machine.sample().unwrap();
    sleep(Duration::from_millis(200));
    machine.sample().unwrap();
    assert_eq!(apply(&mut machine, vec![set_ways("a", 0b11, &spinning)]), [ActionOutcome::Done]);
    assert_eq!((page.mask(0, 1), page.mask(0, 0), page.mask(0, 2)), (0b11, FULL, FULL));
    // A CPU has the class of the threads that used most of it, and on a busy machine these may be
    // foreign threads for a while.
    let has_class = |_| {
        sleep(Duration::from_millis(100));
        machine.sample().unwrap();
        classes_of_cpus(&page).contains(&1)
    };
    if !(0..50).any(has_class) {
        eprintln!("SKIPPED: others use more of the CPU than the thread of the test does");
    }
    let remarks = machine.sample().unwrap().capabilities.remarks.join("\n");
    assert!(remarks.contains("cache ways of the numasim test machine"), "{remarks}");

    // Requests that cannot be carried out are refused, and the previous state stays in force.
    let gone = [Tid(u32::MAX - 1)];
    let outcomes = apply(
        &mut machine,
        vec![
            set_ways("b", 0, &spinning),
            set_ways("c", 0x1ff, &spinning),
            set_ways("d", 1, &gone),
            Action::SetWays {
                llc: LlcId(0),
                cluster: "e".into(),
                way_mask: 1,
                memory_bandwidth_percent: Some(50),
                threads: spinning.clone(),
                reason: "a test".into(),
            },
        ],
    );
    assert!(why(&outcomes[0]).contains("one way at least"), "{outcomes:?}");
    assert!(why(&outcomes[1]).contains("beyond the ways"), "{outcomes:?}");
    assert_eq!(outcomes[2], ActionOutcome::Vanished);
    assert!(why(&outcomes[3]).contains("no memory-bandwidth allocation"), "{outcomes:?}");
    assert_eq!(page.mask(0, 1), 0b11);

    // There are two classes beside the default, so the third cluster is refused.
    let more = child.threads("sleep", 2);
    machine.sample().unwrap();
    let outcomes = apply(&mut machine, vec![set_ways("x", 0b100, &more[..1]), set_ways("y", 0b1000, &more[1..])]);
    assert_eq!(outcomes[0], ActionOutcome::Done);
    assert!(why(&outcomes[1]).contains("2 classes of service besides the default"), "{outcomes:?}");
    assert_eq!((page.mask(0, 1), page.mask(0, 2)), (0b11, 0b100));

    // A cluster whose threads end gives its class back.
    child.send("end");
    sleep(Duration::from_millis(50));
    machine.sample().unwrap();
    assert_eq!((page.mask(0, 1), page.mask(0, 2)), (FULL, FULL));
    assert!(classes_of_cpus(&page).iter().all(|class| *class == 0));

    let again = child.threads("spin", 1);
    machine.sample().unwrap();
    assert_eq!(apply(&mut machine, vec![set_ways("a", 0b1, &again)]), [ActionOutcome::Done]);
    machine.restore().unwrap();
    machine.restore().unwrap();
    assert_eq!(page.mask(0, 1), FULL);
    assert!(classes_of_cpus(&page).iter().all(|class| *class == 0));
}

#[test]
fn a_plugin_that_does_not_answer_refuses_and_one_that_is_dropped_puts_back() {
    let mut child = Observed::start();
    let spinning = child.threads("spin", 1);
    let (mut plugin, page, folder) = plugin();
    {
        let mut machine = with_ways(&plugin, folder.path());
        machine.sample().unwrap();
        assert_eq!(apply(&mut machine, vec![set_ways("a", 0b11, &spinning)]), [ActionOutcome::Done]);
        assert_eq!(page.mask(0, 1), 0b11);
    }
    assert_eq!(page.mask(0, 1), FULL, "dropped without restore");
    let mut machine = with_ways(&plugin, folder.path());
    machine.sample().unwrap();
    plugin.end();
    let outcomes = apply(&mut machine, vec![set_ways("a", 0b11, &spinning)]);
    assert!(why(&outcomes[0]).contains("has not applied generation"), "{outcomes:?}");
    let failed = machine.restore().unwrap_err().to_string();
    assert!(failed.starts_with("numasim: cache ways are not put back"), "{failed}");
    assert_eq!(page.mask(0, 1), FULL, "written, though no plugin applies it");
}

/// A dry run changes no word of the page.
#[test]
fn a_dry_run_changes_nothing() {
    let mut child = Observed::start();
    let spinning = child.threads("spin", 1);
    let (plugin, page, _folder) = plugin();
    let options = LinuxOptions { dry_run: true, catch_signals: false, ..LinuxOptions::default() };
    let read = Box::new(|| -> Result<Topology, Box<dyn std::error::Error + Send + Sync>> { Ok((*topology()).clone()) });
    let mut machine = LinuxMachine::open(sensors(&page), read, options).unwrap();
    machine.give_ways_by(Box::new(PageWays::new(Arc::clone(&page), &topology()).unwrap()));
    let sample = machine.sample().unwrap();
    assert!(sample.processes.iter().any(|process| process.pid == Pid(child.pid().0)));
    let outcomes = apply(&mut machine, vec![set_ways("a", 0b11, &spinning)]);
    assert_eq!(why(&outcomes[0]), "dry run");
    machine.restore().unwrap();
    let words = Mapping::file(&plugin.path).unwrap();
    assert_eq!((page.mask(0, 1), words.load(layout::WISHED)), (FULL, 0));
}
