//! `isobar restore` gives no false all-clear: what it says and how it ends, for everything that can
//! be at a path, and while another isobar manages.

use crate::stop::Manage;
use crate::support::processes::Kept;
use crate::support::{CommandOutput, command, file, isobar, said};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

fn restore(state: &Path) -> CommandOutput {
    isobar(&["restore", "--state", state.to_str().unwrap()])
}

/// A folder of mode 0700 with a state file that lists nothing to put back.
fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.json");
    fs::write(&state, r#"{"version":1,"boot_id":"another","processes":{},"pages":[]}"#).unwrap();
    (folder, state)
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn what_is_no_state_file_is_bad_input_and_stays_as_it_is() {
    let (folder, state) = place();
    let here = folder.path();
    symlink(&state, here.join("link")).unwrap();
    symlink("nowhere", here.join("dangling")).unwrap();
    fs::create_dir(here.join("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(here.join("fifo")).status().unwrap().success());
    let before = names(here).len();
    for (name, kind) in [("link", "link"), ("dangling", "link"), ("folder", "a folder"), ("fifo", "a fifo")] {
        restore(&here.join(name)).refused(&[name, kind, "not a state file"]);
    }
    restore(Path::new("/dev/zero")).refused(&["/dev/zero", "a device"]);
    restore(&state.join("below")).refused(&["state.json", "Not a directory"]);
    restore(Path::new("/")).refused(&["a folder"]);
    assert_eq!(names(here).len(), before, "nothing is made beside what it was pointed at");
    assert!(state.exists());
}

#[test]
fn a_file_that_others_could_have_written_is_bad_input() {
    let (folder, state) = place();
    let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    chmod(&state, 0o646);
    restore(&state).refused(&["state.json", "others may write", "0646"]);
    chmod(&state, 0o600);
    chmod(folder.path(), 0o1777);
    restore(&state).refused(&["others may write", "1777"]);
    chmod(folder.path(), 0o700);
    assert!(restore(&state).done().contains("earlier boot"));
    assert_eq!(names(folder.path()), [""; 0], "neither the file nor a lock");
}

#[test]
fn a_file_that_cannot_be_read_is_no_all_clear() {
    let (folder, state) = place();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o000)).unwrap();
    let copy = folder.path().join("copy-of-isobar");
    crate::support::copy_program(env!("CARGO_BIN_EXE_isobar"), &copy);
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut run = Command::new(copy);
    run.args(["restore", "--state", state.to_str().unwrap()]).env("ISOBAR_TEST_MANAGER_LOCK", "none");
    if is_root() {
        std::os::unix::process::CommandExt::uid(&mut run, 65_534);
    }
    said(&run.output().unwrap()).refused(&["state.json", "Permission denied"]);
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0
}

#[test]
fn a_mistyped_path_is_said_plainly() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("state.jsn");
    assert!(restore(&missing).done().contains("state.jsn: no such file: no record of changes to put back"));
    let path = missing.to_str().unwrap();
    let document = isobar(&["restore", "--state", path, "--json"]).document();
    assert_eq!(document, serde_json::json!({"state_file": path, "restored": null, "pages": null}));
    let missing = folder.path().join("mistyped/state.json");
    assert!(restore(&missing).done().contains("no such folder: "));
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn of_the_service_alone_pages_that_an_administrator_moved_stay() {
    let (folder, state) = place();
    let pages = folder.path().join("state.pages.json");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let gone = r#"{"start":1,"program":"/bin/gone","runs":[{"first":1,"pages":2,"node":0}]}"#;
    fs::write(&pages, format!(r#"{{"version":1,"boot_id":"{}","processes":{{"1":{gone}}}}}"#, boot.trim())).unwrap();
    let (_place, elsewhere) = file("isobar.toml", format!("[manage]\nstate_file = '{}'\n", state.display()));
    // The service manager names the usual folder.
    let usual = tempfile::tempdir().unwrap();
    let service = |config: &str| {
        let mut command = command(&["restore", "--service", "--config", config]);
        said(&command.env("RUNTIME_DIRECTORY", usual.path()).output().unwrap())
    };
    assert!(service(&elsewhere).done().contains("earlier boot"));
    assert_eq!((state.exists(), pages.exists()), (false, true));
    let (_place, nothing) = file("isobar.toml", "");
    let words = service(&nothing).done().to_owned();
    assert!(words.starts_with(&usual.path().join("state.json").display().to_string()), "{words}");
    assert!(restore(&state).done().contains("process 1 has ended"));
    assert!(!pages.exists());

    let (_place, broken) = file("isobar.toml", "[manage]\nstate_fiel = 'x'\n");
    service(&broken).refused(&["isobar.toml", "state_fiel"]);
    isobar(&["restore", "--service", "--state", "x"]).refused(&["--service", "--state"]);
    isobar(&["restore", "--config", "x"]).refused(&["--service"]);
}

/// A user who may not put a thread back can still put pages back, and reads what was done.
#[test]
fn a_thread_that_is_refused_does_not_keep_pages_from_going_back() {
    if !is_root() {
        eprintln!("SKIPPED: needs root, for a process of another user");
        return;
    }
    let Some(killed) = Manage::start(&[], &[]) else { return };
    killed.signal("KILL");
    let (_, left) = killed.end();
    let (state, pages) = (left.folder.path().join("state.json"), left.folder.path().join("state.pages.json"));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let gone = r#"{"start":1,"program":"/bin/gone","runs":[{"first":1,"pages":2,"node":0}]}"#;
    fs::write(&pages, format!(r#"{{"version":1,"boot_id":"{}","processes":{{"1":{gone}}}}}"#, boot.trim())).unwrap();
    let copy = left.folder.path().join("copy-of-isobar");
    crate::support::copy_program(env!("CARGO_BIN_EXE_isobar"), &copy);
    let owned_by = |user: u32| {
        for file in [left.folder.path(), &state] {
            std::os::unix::fs::chown(file, Some(user), Some(user)).unwrap();
        }
    };
    std::os::unix::fs::chown(&pages, Some(65_534), Some(65_534)).unwrap();
    owned_by(65_534);
    let mut run = Command::new(copy);
    run.args(["restore", "--json", "--state", state.to_str().unwrap()]).env("ISOBAR_TEST_MANAGER_LOCK", "none");
    std::os::unix::process::CommandExt::uid(&mut run, 65_534);
    let output = match run.output() {
        Ok(output) => output,
        Err(why) => {
            owned_by(0);
            restore(&state).done();
            return eprintln!("SKIPPED: the copy cannot be started as another user: {why}");
        }
    };
    let said = said(&output);
    said.failed(1, &["state.json", "1 refused by the kernel", "the file is kept"]);
    let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&document["restored"]["refused"], &document["pages"][0]["lives"]), (&1.into(), &false.into()));
    assert_eq!((state.exists(), pages.exists()), (true, false));
    owned_by(0);
    restore(&state).done();
    left.is_put_back("restore by root");
}

/// A `manage` whose lock of the machine is in this file. It ends by itself, or with the test.
fn managing(lock: &Path, state: &Path) -> Kept {
    let state = format!("manage.state_file={}", state.display());
    let args = ["manage", "--policy", "linux", "--interval", "0.2", "--for", "60", "--set", &state];
    let mut child = command(&args).env("ISOBAR_TEST_MANAGER_LOCK", lock).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "it ended at once");
    std::thread::spawn(move || reader.lines().for_each(drop));
    Kept(child)
}

#[test]
fn one_isobar_manages_a_machine_whatever_the_state_file() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    fs::write(&lock, "").unwrap();
    let state = |name: &str| folder.path().join(name).join("state.json");
    let first = managing(&lock, &state("first"));
    let named = format!("pid {},", first.pid());
    let run = |args: &[&str]| {
        let mut command = command(args);
        said(&command.env("ISOBAR_TEST_MANAGER_LOCK", &lock).stdin(Stdio::null()).output().unwrap())
    };
    let other = state("second");
    let setting = format!("manage.state_file={}", other.display());
    let manage = ["manage", "--policy", "linux", "--interval", "0.2", "--for", "0.4", "--set", &setting];
    let pieces = ["another isobar manages this machine", &*named, "--policy linux", "stop it first"];
    run(&manage).failed(1, &pieces);
    run(&["restore", "--state", other.to_str().unwrap()]).failed(1, &pieces);
    // An isobar that only watches may run beside it.
    run(&[&manage[..], &["--dry-run"]].concat()).done();
    run(&["explain", "--policy", "linux"]).done();
    drop(first);
    run(&manage).done();
}
