//! Readers that do not read: a full pipe, a stopped program, a terminal after Ctrl-S. In all cases
//! a signal ends `manage` in order and soon.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support::processes::{Kept, eventually, state_in};
use crate::support::{command, documents};
use rustix::fs::{Mode, OFlags};
use rustix::io::ioctl_fionread;
use rustix::pipe::{fcntl_setpipe_size, pipe};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Far longer than an orderly end takes on a loaded machine. A loop that is stuck in a write never
/// ends.
const SOON: Duration = Duration::from_secs(60);

/// A run that fills a small pipe at once. It ends by itself, so that a failed test leaves nothing
/// behind.
fn manage(folder: &tempfile::TempDir, rest: &[&str]) -> Command {
    let state = state_in(folder.path());
    let args = ["manage", "--interval", "0.05", "--for", "120", "--set", &state];
    let linux: &[&str] = if rest.contains(&"--policy") { &[] } else { &["--policy", "linux"] };
    let args = [&args[..], &["--set", "manage.min_cpu_percent=0"], linux, rest].concat();
    command(&args)
}

/// A pipe with a capacity of one page.
fn small_pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = pipe().unwrap();
    fcntl_setpipe_size(&writer, 4096).unwrap();
    (reader, writer)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Its exit code. A child that does not end is killed, and the test fails.
#[track_caller]
fn ends_soon(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < SOON {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("it did not end");
}

/// Waits until the stall has lasted some epochs.
fn a_while() {
    sleep(Duration::from_millis(500));
}

#[test]
fn a_signal_ends_it_though_nobody_reads_the_pipe() {
    for rest in [&["--json"][..], &["--verbose"]] {
        let (folder, (reader, writer)) = (tempfile::tempdir().unwrap(), small_pipe());
        let mut child = manage(&folder, rest).stdout(writer).spawn().unwrap();
        if rest == ["--json"] {
            eventually("the pipe is full", || ioctl_fionread(&reader).unwrap() >= 4096);
        }
        a_while();
        signal(&child, Signal::TERM);
        assert_eq!(ends_soon(&mut child), Some(0));
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let expected = if rest == ["--json"] { "the reader did not keep up" } else { "" };
        assert!(said.contains(expected) && said.lines().count() <= 1, "{said}");
    }
}

#[test]
fn what_was_moved_is_put_back_though_nobody_reads_the_pipe() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("SKIPPED: a thread has nowhere to move on one CPU");
        return;
    }
    let (folder, (_reader, writer)) = (tempfile::tempdir().unwrap(), small_pipe());
    let shell = folder.path().join("isobar-stalled");
    crate::support::copy_program("/bin/sh", &shell);
    let busy = Kept::busy(&shell);
    let before = busy.cpus();
    let cpu = before.split([',', '-']).next().unwrap();
    let place = format!("fixed.threads=isobar-stalled={cpu}");
    let mut child = manage(&folder, &["--json", "--policy", "fixed", "--set", &place]).stdout(writer).spawn().unwrap();
    eventually("the thread is bound", || busy.cpus() == cpu);
    a_while();
    signal(&child, Signal::TERM);
    eventually("the thread is free", || busy.cpus() == before);
    assert_eq!(ends_soon(&mut child), Some(0));
}

#[test]
fn a_reader_that_reads_again_gets_whole_lines() {
    let (folder, (reader, writer)) = (tempfile::tempdir().unwrap(), small_pipe());
    let mut child = manage(&folder, &["--json"]).stdout(writer).spawn().unwrap();
    eventually("the pipe is full", || ioctl_fionread(&reader).unwrap() >= 4096);
    a_while();
    signal(&child, Signal::TERM);
    let mut text = String::new();
    File::from(reader).read_to_string(&mut text).unwrap();
    assert_eq!(ends_soon(&mut child), Some(0));
    let lines = documents(&text);
    let (summary, epochs) = lines.split_last().unwrap();
    assert_eq!(summary["summary"]["epochs"], epochs.len(), "nothing was dropped: so little fits into the queue");
    assert_eq!(summary["summary"]["dropped_lines"], 0);
    assert_eq!(summary["summary"]["interrupted"], true);
}

#[test]
fn a_signal_ends_it_though_the_reader_is_stopped() {
    let (folder, (reader, writer)) = (tempfile::tempdir().unwrap(), small_pipe());
    let mut cat = Command::new("cat").stdin(reader).stdout(Stdio::null()).spawn().unwrap();
    signal(&cat, Signal::STOP);
    let mut child = manage(&folder, &["--json"]).stdout(writer).spawn().unwrap();
    a_while();
    signal(&child, Signal::TERM);
    let code = ends_soon(&mut child);
    cat.kill().unwrap();
    cat.wait().unwrap();
    assert_eq!(code, Some(0));
}

/// A terminal: the end of the person who looks at it, and the end of the programs.
fn terminal() -> (File, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (master.into(), slave)
}

#[test]
fn a_signal_ends_it_though_the_terminal_is_stopped_or_not_read() {
    const CTRL_S: &[u8] = b"\x13";
    for (rest, keys) in [(&[][..], CTRL_S), (&["--json"], b"")] {
        let folder = tempfile::tempdir().unwrap();
        let (mut master, slave) = terminal();
        let mut manage = manage(&folder, rest);
        let mut child = manage.stdout(slave.try_clone().unwrap()).stderr(slave).spawn().unwrap();
        let mut first = [0; 1];
        master.read_exact(&mut first).unwrap();
        master.write_all(keys).unwrap();
        a_while();
        signal(&child, Signal::INT);
        assert_eq!(ends_soon(&mut child), Some(0), "{rest:?}");
    }
}

#[test]
fn a_terminal_shows_a_live_table() {
    let folder = tempfile::tempdir().unwrap();
    let (mut master, slave) = terminal();
    let mut child = manage(&folder, &[]).stdout(slave.try_clone().unwrap()).stderr(slave).spawn().unwrap();
    let mut text = String::new();
    eventually("the table is redrawn", || {
        let mut read = [0; 4096];
        let bytes = master.read(&mut read).unwrap();
        text.push_str(&String::from_utf8_lossy(&read[..bytes]));
        text.matches("A\x1b[J").count() >= 3
    });
    signal(&child, Signal::INT);
    let mut rest = Vec::new();
    // Reading from a terminal without programs is an input error.
    drop(master.read_to_end(&mut rest));
    assert_eq!(ends_soon(&mut child), Some(0));
    text.push_str(&String::from_utf8_lossy(&rest));
    assert!(text.contains("pid  name") && text.contains("busiest processes at the end:"), "{text}");
    assert!(text.contains("stopped by a signal"), "{text}");
}

#[test]
fn a_message_does_not_wait_for_a_stuck_stderr() {
    let (_reader, writer) = small_pipe();
    let mut full = File::from(writer);
    full.write_all(&[b'x'; 4096]).unwrap();
    let mut child = command(&["manage", "--no-such-flag"]).stderr(full).spawn().unwrap();
    assert_eq!(ends_soon(&mut child), Some(2));
}

#[test]
fn a_full_disk_ends_it_with_one_line_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut child = manage(&folder, &["--json"]).stdout(full).spawn().unwrap();
    assert_eq!(ends_soon(&mut child), Some(1));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.starts_with("isobar: standard output: No space left on device"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
