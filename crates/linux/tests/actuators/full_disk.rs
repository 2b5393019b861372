//! The state file on a file system that is full or was made read-only: nothing more is changed, and
//! earlier changes are put back.

use crate::live::{Kept, Scene, move_one, sleeper, try_move};
use isobar_linux::actuators::{ActuatorError, Actuators, restore};
use isobar_model::CpuSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tmpfs of 64 KiB, unmounted when this is dropped.
struct Small(tempfile::TempDir);

impl Small {
    /// `None`, with the reason on stderr, if it cannot be mounted.
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let small = Self(folder);
        if small.run("mount", &["-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs"]) {
            return Some(small);
        }
        eprintln!("SKIPPED: needs root to mount a tmpfs; a full file system was not tested");
        None
    }

    fn run(&self, program: &str, args: &[&str]) -> bool {
        Command::new(program).args(args).arg(self.0.path()).status().is_ok_and(|status| status.success())
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("run/state.json")
    }

    /// Fills the file system to the last byte.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.path().join("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        self.run("umount", &["-l"]);
    }
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// Two processes, of which the first is moved, with the state file on a small disk.
struct Moved {
    actuators: Actuators,
    scene: Scene,
    other: Kept,
    before: (CpuSet, CpuSet),
    small: Small,
}

impl Moved {
    fn set() -> Option<Self> {
        let (small, scene, other) = (Small::mount()?, Scene::set()?, sleeper());
        let before = (scene.before.clone(), other.mask());
        let (mut actuators, _) = Actuators::open(&small.state()).unwrap();
        move_one(&mut actuators, scene.process.request(scene.second));
        Some(Self { actuators, scene, other, before, small })
    }
}

#[test]
fn on_a_full_file_system_nothing_more_is_changed_and_everything_is_put_back() {
    let Some(Moved { small, scene, other, before, mut actuators }) = Moved::set() else { return };
    let recorded = fs::read(small.state()).unwrap();
    small.fill();

    let error = try_move(&mut actuators, other.request(scene.second)).unwrap_err();
    let ActuatorError::State { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{error}");
    assert!(error.to_string().contains("state.json") && error.to_string().lines().count() == 1, "{error}");
    assert_eq!(other.mask(), before.1, "what is not written down is not changed");
    assert_eq!(fs::read(small.state()).unwrap(), recorded, "the file is as it was");
    assert_eq!(names(small.state().parent().unwrap()), ["state.json"], "nothing is left of the write");

    assert_eq!(actuators.restore().unwrap().restored, 1);
    assert_eq!((scene.process.mask(), other.mask()), before);
    assert!(!small.state().exists());
}

#[test]
fn on_a_full_file_system_restore_puts_back_after_a_kill_9() {
    let Some(Moved { small, scene, before, actuators, .. }) = Moved::set() else { return };
    let recorded = fs::read(small.state()).unwrap();
    drop(actuators);
    // The state that a kill -9 would have left.
    scene.process.pin(scene.second);
    fs::write(small.state(), recorded).unwrap();
    small.fill();
    assert_eq!(restore(&small.state()).unwrap().unwrap().restored, 1);
    assert_eq!(scene.process.mask(), before.0);
    assert!(!small.state().exists());
}

#[test]
fn a_file_system_that_was_made_read_only_keeps_the_file_and_says_that_all_is_put_back() {
    let Some(Moved { small, scene, other, before, mut actuators }) = Moved::set() else { return };
    assert!(small.run("mount", &["-o", "remount,ro"]));
    assert!(matches!(try_move(&mut actuators, other.request(scene.second)), Err(ActuatorError::State { .. })));
    let error = actuators.restore().unwrap_err();
    assert!(matches!(error, ActuatorError::Undeleted { .. }), "{error}");
    assert_eq!((scene.process.mask(), other.mask()), before);
}
