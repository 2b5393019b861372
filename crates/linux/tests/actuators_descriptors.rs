//! Without a free descriptor, what cannot be read is not taken for ended or offline. One test in a
//! process of its own, because the limit of descriptors belongs to the process.

// Helpers of tests fail by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;

use isobar_linux::actuators::restore;
use isobar_linux::machine::{LinuxMachine, LinuxOptions, Sensing};
use isobar_model::Machine as _;
use live::watch::Watch;
use live::{Scene, move_one, only, place};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn without_descriptors_nothing_is_taken_for_gone() {
    processes_that_cannot_be_read_stay_recorded();
    cpus_that_cannot_be_read_have_not_gone_offline();
}

fn cpus_that_cannot_be_read_have_not_gone_offline() {
    let (folder, state) = place();
    let resctrl = folder.path().join("none");
    let options = LinuxOptions { state, resctrl, manager_lock: None, catch_signals: false, ..LinuxOptions::default() };
    let describe = || panic!("the machine is described anew");
    let mut machine = LinuxMachine::open(Watch::default(), Box::new(describe), options).unwrap();
    machine.sample().unwrap();
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), maximum: before.maximum }).unwrap();
    let sampled = machine.sample();
    setrlimit(Resource::Nofile, before).unwrap();
    sampled.unwrap();
}

fn processes_that_cannot_be_read_stay_recorded() {
    let Some(scene) = Scene::set() else { return };
    let mut actuators = scene.actuators();
    move_one(&mut actuators, scene.process.request(scene.second));
    // A sample without any process: the kernel is asked about each.
    let mut nothing = Watch::default().sample().unwrap();
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), maximum: before.maximum }).unwrap();
    actuators.reconcile(&mut nothing);
    let refused = actuators.restore();
    setrlimit(Resource::Nofile, before).unwrap();

    refused.unwrap_err();
    assert!(scene.state.exists(), "the record is kept");
    assert_eq!(scene.process.mask(), only(scene.second), "and the thread is still bound");
    let report = actuators.restore().unwrap();
    assert_eq!((report.restored, report.vanished), (1, 0), "{report}");
    assert_eq!(scene.process.mask(), scene.before);
    drop(actuators);
    assert_eq!(restore(&scene.state).unwrap(), None);
}
