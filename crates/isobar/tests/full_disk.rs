//! `isobar manage` whose state file's disk fills up while it runs: it ends with the reason, and
//! every mask is what it was.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::command;

/// A tmpfs of 64 KiB, unmounted with this.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let small = Self(tempfile::tempdir().unwrap());
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs"]).arg(small.0.path()).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(small);
        }
        eprintln!("SKIPPED: needs root to mount a tmpfs; a full file system was not tested");
        None
    }

    fn fill(&self) {
        let mut file = fs::File::create(self.0.path().join("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0.path()).status());
    }
}

/// A process that is ended with the test.
struct Kept(Child);

impl Kept {
    fn mask(&self) -> String {
        mask(&self.0.id().to_string())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn mask(process: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
}

fn sleeper(program: &Path) -> Kept {
    Kept(Command::new(program).arg("60").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
}

/// For half a minute at most.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what} did not come true");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// `sleep` under a name of its own.
fn program(folder: &Path) -> PathBuf {
    let program = folder.join("isotest-full");
    support::copy_program("/bin/sleep", &program);
    program
}

#[test]
fn what_was_changed_is_put_back_when_the_disk_is_full() {
    let Some(small) = Small::mount() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    let all = mask("self");
    let Some(cpu) = all.split(['-', ',']).next().filter(|first| *first != all) else {
        eprintln!("SKIPPED: needs two CPUs, this process may use {all}");
        return;
    };
    let first = sleeper(&program);
    let state = small.0.path().join("state.json");
    let settings = [
        format!("manage.state_file={}", state.display()),
        format!("fixed.threads=isotest-full={cpu}"),
        "manage.min_cpu_percent=0".to_owned(),
    ];
    let mut args = vec!["manage", "--policy", "fixed", "--only", "isotest-full", "--interval", "0.2", "--for", "60"];
    settings.iter().for_each(|setting| args.extend(["--set", setting]));
    let mut manage = Kept(command(&args).stdout(Stdio::null()).spawn().unwrap());
    eventually("the first process bound", || first.mask() == cpu);
    small.fill();
    let second = sleeper(&program);
    let mut ended = None;
    eventually("its end", || {
        ended = manage.0.try_wait().unwrap();
        ended.is_some()
    });
    let mut err = String::new();
    manage.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(ended.unwrap().code(), Some(1), "{err}");
    assert!(err.contains("state.json") && err.contains("No space left on device"), "{err}");
    assert_eq!((first.mask(), second.mask()), (all.clone(), all));
    assert!(!state.exists());
}
