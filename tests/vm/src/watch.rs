//! Ends a check that hangs, so that it fails as other checks do and reports where it was. The
//! programs that the check started, and their descendants, are shown and killed, so that the check
//! stops waiting for them.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// Several times as long as any check takes while a build runs beside it, and less than the time
/// limit of a guest.
pub const LIMIT: Duration = Duration::from_secs(500);

/// Watches until it is dropped.
pub struct Watch(Option<(Sender<()>, JoinHandle<()>)>);

impl Watch {
    /// Watches a check from now on, which should end within a time limit.
    pub fn over(name: &str, limit: Duration) -> Self {
        let name = name.to_owned();
        let (done, waits) = channel();
        let watcher = spawn(move || {
            while waits.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                println!("  {name}: no end after {} s; what runs, each thread with where it waits:", limit.as_secs());
                let started = descendants(std::process::id());
                started.iter().for_each(|pid| show(*pid));
                started.iter().for_each(|pid| kill(*pid));
            }
        });
        Self(Some((done, watcher)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some((done, watcher)) = self.0.take() else { return };
        drop(done);
        let _ = watcher.join();
    }
}

/// All descendants of a process.
fn descendants(pid: u32) -> BTreeSet<u32> {
    let parents: Vec<(u32, u32)> = numbers("/proc").filter_map(|one| Some((one, parent(one)?))).collect();
    let mut found = BTreeSet::from([pid]);
    loop {
        let more: Vec<u32> = parents.iter().filter(|(_, of)| found.contains(of)).map(|(one, _)| *one).collect();
        let before = found.len();
        found.extend(more);
        if found.len() == before {
            break;
        }
    }
    found.remove(&pid);
    found
}

/// The entries of a folder whose names are numbers.
fn numbers(folder: &str) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The parent of a process, from `/proc/PID/stat`: the second word after its name in brackets.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Prints the threads of a process: the state of each, and the kernel functions that it is in.
fn show(pid: u32) {
    for tid in numbers(&format!("/proc/{pid}/task")) {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/task/{tid}/{file}")).unwrap_or_default();
        let stat = read("stat");
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.get(..1)).unwrap_or("?").to_owned();
        let stack: Vec<String> = read("stack").lines().take(8).map(|line| line.trim().to_owned()).collect();
        println!("  {pid}/{tid} {} {state}: {} {}", read("comm").trim(), read("syscall").trim(), stack.join(" "));
    }
}

fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Instant;

    /// A shell waits for a program that it started. Both are ended, so the check continues.
    #[test]
    fn what_a_check_waits_for_is_ended() {
        let begun = Instant::now();
        let watch = Watch::over("a check that hangs", Duration::from_millis(300));
        // It ends when no process can write to its output any more.
        let output = Command::new("sh").args(["-c", "sleep 60 & wait"]).output().unwrap();
        drop(watch);
        assert!(!output.status.success() && begun.elapsed() < Duration::from_secs(30));
    }
}
