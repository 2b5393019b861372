//! The program: it mounts, ends at SIGTERM and after its time, keeps a journal, and refuses bad
//! input in one line.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const PROGRAM: &str = env!("CARGO_BIN_EXE_isobar-resctrl-double");

/// Starts the program and waits until the mount is there.
fn start(folder: &Path, arguments: &[&str]) -> Option<Child> {
    if !isobar_resctrl_double::can_mount() {
        eprintln!("SKIPPED: a mount needs root and /dev/fuse; the program was not tested");
        return None;
    }
    let mut child =
        Command::new(PROGRAM).arg("--mount").arg(folder).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("mounted on "), "{line}");
    Some(child)
}

fn ended(child: &mut Child) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    false
}

#[test]
fn it_unmounts_at_sigterm_and_leaves_a_journal() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let journal = other.path().join("journal");
    let arguments = ["--for", "60", "--domains", "2,5", "--closids", "2", "--journal", journal.to_str().unwrap()];
    let Some(mut child) = start(folder.path(), &arguments) else { return };
    fs::create_dir(folder.path().join("a")).unwrap();
    let refused = fs::write(folder.path().join("a/schemata"), "L3:2=5\n").unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::INVAL.raw_os_error()));
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(ended(&mut child));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "unmounted");
    let journal = fs::read_to_string(journal).unwrap();
    let lines: Vec<_> = journal.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains(r#"path: "a""#), "{journal}");
    assert!(lines[1].contains(r#"text: "L3:2=5\n""#) && lines[1].contains("non-consecutive"), "{journal}");
}

#[test]
fn the_faults_that_were_asked_for_happen() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--for", "60", "--take-closids", "b*", "--unmount", "*/schemata"];
    let Some(mut child) = start(folder.path(), &arguments) else { return };
    fs::create_dir(folder.path().join("a")).unwrap();
    let refused = fs::create_dir(folder.path().join("b1")).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::NOSPC.raw_os_error()));
    fs::write(folder.path().join("a/schemata"), "L3:0=3\n").unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the mount has vanished");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn it_ends_after_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut child) = start(folder.path(), &["--for", "1"]) else { return };
    assert!(folder.path().join("schemata").exists());
    assert!(ended(&mut child));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn bad_input_is_refused_with_what_would_be_right() {
    for (arguments, code, words) in [
        (vec!["--mount", "/nonexistent"], 1, "an existing folder"),
        (vec!["--mount", "/tmp", "--domains", "0-3"], 2, "invalid digit"),
    ] {
        let output = Command::new(PROGRAM).args(&arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}
