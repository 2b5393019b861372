//! Tests a daemon whose disks are full or read-only, at its start or while it runs. It changes
//! nothing that it cannot record, says so in one line, goes on, and leaves nothing changed.

use crate::support::daemon::Daemon;
use crate::support::isobar;
use crate::support::processes::{Kept, cpus_of, eventually};
use crate::support::small_disk::Small;
use std::fs;
use std::path::{Path, PathBuf};

/// A small disk for the state file, and a program whose processes are all to be bound to the last
/// CPU.
struct Scene {
    small: Small,
    _folder: tempfile::TempDir,
    program: PathBuf,
    all: String,
    last: String,
}

impl Scene {
    fn set(name: &str) -> Option<Self> {
        let small = Small::mount()?;
        let all = cpus_of("self");
        let last = all.split(['-', ',']).next_back().unwrap().to_owned();
        if all == last {
            eprintln!("SKIPPED: needs two CPUs, this process may use one");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(name);
        crate::support::copy_program("/bin/sleep", &program);
        Some(Self { small, _folder: folder, program, all, last })
    }

    fn start(&self) -> Kept {
        Kept::start(&self.program, &["60"])
    }

    fn state(&self) -> PathBuf {
        self.small.path().join("state.json")
    }

    fn config(&self) -> String {
        let name = self.program.file_name().unwrap().to_str().unwrap();
        format!(
            "[manage]\npolicy = \"fixed\"\ninterval_seconds = 0.1\nmin_cpu_percent = 0\nonly = [\"{name}\"]\n\
             state_file = {:?}\n[fixed]\nthreads = \"{name}={}\"\n",
            self.state(),
            self.last
        )
    }

    fn daemon(&self) -> Daemon {
        Daemon::start(&self.config(), &[])
    }

    /// Starts a daemon in the folder of an earlier one, whose socket may still be there.
    fn daemon_again(&self, mut before: Daemon) -> Daemon {
        Daemon::start_in(std::mem::replace(&mut before.folder, tempfile::tempdir().unwrap()), &[])
    }
}

/// The remarks in the daemon's status, one line each.
fn remarks(daemon: &Daemon) -> Vec<String> {
    let status = daemon.status();
    status["remarks"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// Whether one of these remarks contains these words.
fn remarked(daemon: &Daemon, words: &str) -> bool {
    remarks(daemon).iter().any(|one| one.contains(words))
}

fn goes_on(daemon: &Daemon) {
    let epochs = daemon.status()["epochs"].as_u64().unwrap();
    eventually("it goes on", || daemon.status()["epochs"].as_u64().unwrap() > epochs + 3);
}

const FULL: &str = "No space left on device";
const READ_ONLY: &str = "Read-only file system";

#[test]
fn a_state_folder_that_fills_up_refuses_changes_until_there_is_room() {
    let Some(scene) = Scene::set("isotest-filling") else { return };
    let first = scene.start();
    let daemon = scene.daemon();
    eventually("the first process bound", || first.cpus() == scene.last);
    scene.small.fill();
    let second = scene.start();
    eventually("it says so", || remarked(&daemon, FULL));
    assert!(remarks(&daemon).iter().any(|one| one.contains("state.json") && one.contains("nothing is changed")));
    goes_on(&daemon);
    assert_eq!((first.cpus(), second.cpus()), (scene.last.clone(), scene.all.clone()));
    scene.small.free();
    eventually("the second process bound", || second.cpus() == scene.last);
    eventually("it says that no more", || !remarked(&daemon, FULL));
    scene.small.fill();
    let (code, log, _) = daemon.stop();
    assert_eq!((code, first.cpus(), second.cpus()), (Some(0), scene.all.clone(), scene.all.clone()), "{log}");
    assert!(log.contains("refused: ") && log.contains(FULL), "{log}");
    assert!(!scene.state().exists());
}

#[test]
fn a_state_folder_that_is_full_at_the_start_is_written_to_once_there_is_room() {
    let Some(scene) = Scene::set("isotest-full-start") else { return };
    let process = scene.start();
    scene.small.fill();
    let daemon = scene.daemon();
    eventually("it says so", || remarked(&daemon, FULL));
    goes_on(&daemon);
    assert_eq!(process.cpus(), scene.all);
    scene.small.free();
    eventually("the process bound", || process.cpus() == scene.last);
    let (code, log, _) = daemon.stop();
    assert_eq!((code, process.cpus()), (Some(0), scene.all.clone()), "{log}");
    assert!(!scene.state().exists());
}

/// At the end the record cannot be deleted. That is an error, whose message says that everything is
/// put back.
#[test]
fn a_state_folder_that_becomes_read_only_keeps_the_record_and_all_is_put_back() {
    let Some(scene) = Scene::set("isotest-read-only") else { return };
    let first = scene.start();
    let daemon = scene.daemon();
    eventually("the first process bound", || first.cpus() == scene.last);
    scene.small.remount("ro");
    let second = scene.start();
    eventually("it says so", || remarked(&daemon, READ_ONLY));
    goes_on(&daemon);
    assert_eq!(second.cpus(), scene.all);
    let (code, log, _) = daemon.stop();
    assert_eq!((code, first.cpus(), second.cpus()), (Some(1), scene.all.clone(), scene.all.clone()), "{log}");
    assert!(log.contains("everything is put back, but the file cannot be deleted"), "{log}");
    scene.small.remount("rw");
    let state = scene.state().display().to_string();
    isobar(&["restore", "--state", &state]).done();
    assert!(!scene.state().exists());
}

/// The daemon is killed, and its record cannot be deleted. The next daemon puts everything back,
/// and then only watches.
#[test]
fn a_state_folder_that_is_read_only_at_the_start_is_put_back_from_and_watched() {
    let Some(scene) = Scene::set("isotest-ro-start") else { return };
    let process = scene.start();
    let mut daemon = scene.daemon();
    eventually("the process bound", || process.cpus() == scene.last);
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    scene.small.remount("ro");
    let again = scene.daemon_again(daemon);
    assert_eq!(process.cpus(), scene.all);
    goes_on(&again);
    assert!(remarked(&again, READ_ONLY), "{:?}", remarks(&again));
    assert_eq!(process.cpus(), scene.all);
    let (code, log, _) = again.stop();
    assert_eq!((code, process.cpus()), (Some(0), scene.all.clone()), "{log}");
    assert!(scene.state().exists());
}

/// A configuration that records to this folder.
fn recording_to(folder: &Path) -> String {
    format!(
        "[manage]\npolicy = \"linux\"\ninterval_seconds = 0.05\n[daemon]\nrecord = true\nrecord_folder = {folder:?}\n"
    )
}

#[test]
fn a_recording_that_cannot_be_begun_or_go_on_is_reported_and_the_rest_goes_on() {
    let Some(small) = Small::of("512k") else { return };
    small.fill();
    let daemon = Daemon::start(&recording_to(small.path()), &[]);
    assert!(remarked(&daemon, "nothing is recorded: "), "{:?}", remarks(&daemon));
    assert!(daemon.status()["recording"].is_null());
    goes_on(&daemon);
    let (code, log, _) = daemon.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("warning: nothing is recorded: "), "{log}");
    let names = || fs::read_dir(small.path()).unwrap().map(|one| one.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(names(), ["filler"], "nothing is left of the try");

    small.free();
    let daemon = Daemon::start(&recording_to(small.path()), &[]);
    let file = daemon.status()["recording"].as_str().unwrap().to_owned();
    goes_on(&daemon);
    small.fill();
    eventually("it says so", || remarked(&daemon, "the recording ended early, and isobar continues without it: "));
    assert!(daemon.status()["recording"].is_null());
    goes_on(&daemon);
    let (code, log, _) = daemon.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("warning: the recording ended early") && log.contains(&file), "{log}");
    small.free();
    assert!(isobar(&["replay", &file]).done().contains("linux"), "what was recorded before can be read");
}
