//! The program: mounts, ends at SIGTERM and after its time, keeps a journal, refuses bad input in
//! one line.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const PROGRAM: &str = env!("CARGO_BIN_EXE_isobar-resctrl-double");

/// Starts it and waits until the mount is there.
fn start(folder: &Path, arguments: &[&str]) -> Option<Child> {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
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
    let arguments = ["--for", "60", "--machine", "domains=2:0;closids=2", "--fault", "write:*/schemata:1:EIO"];
    let Some(mut child) = start(folder.path(), &[&arguments[..], &["--journal", journal.to_str().unwrap()]].concat())
    else {
        return;
    };
    fs::create_dir(folder.path().join("a")).unwrap();
    let refused = fs::write(folder.path().join("a/schemata"), "L3:2=1\n").unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(ended(&mut child));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "unmounted");
    let lines = fs::read_to_string(journal).unwrap();
    assert_eq!(lines, "mkdir \"a\" \"\" ok \"ok\"\nwrite \"a/schemata\" \"L3:2=1\\n\" EIO \"ok\"\n");
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
        (vec!["--mount", "/nonexistent"], 1, "name an existing folder"),
        (vec!["--mount", "/tmp", "--machine", "wais=3"], 2, "a machine is made of"),
        (vec!["--mount", "/tmp", "--fault", "write:x"], 2, "OPERATION:PATH:NTH:MISHAP"),
        (vec!["--mount", "/tmp", "--pseudo-locked", "3"], 2, "DOMAIN=HEX"),
    ] {
        let output = Command::new(PROGRAM).args(&arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}
