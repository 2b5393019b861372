//! The daemon of a run, a program that moves threads, pages or ways beside the jobs. It is started
//! before the jobs and ended after them, and its log is kept. It runs at the real machine's speed.

use crate::job::Child;
use crate::procfs;
use anyhow::Context;
use numasim_guest::wire::{Daemon, DaemonRan, MOST_LOG};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::time::Duration;

/// Guest seconds that a daemon may take to put everything back after SIGTERM.
const ENDS_WITHIN: f64 = 20.0;
/// Guest seconds within which a daemon that leaves the foreground must report its pid.
const TELLS_PID_WITHIN: f64 = 5.0;
/// `USER_HZ`, the unit of times in `/proc/PID/stat`.
const TICKS_PER_SECOND: f64 = 100.0;

/// The command that runs another command at the real machine's speed
/// (numasim/programs/numasim-ctl.c).
const AT_ITS_OWN_SPEED: [&str; 2] = ["numasim-ctl", "daemon"];

/// A daemon that runs.
pub struct Running<'a> {
    asked: &'a Daemon,
    child: Child,
    /// Its pid, if it has left the foreground.
    apart: Option<u32>,
}

/// Starts a daemon; `pids` are the process ids of the jobs.
pub fn start<'a>(asked: &'a Daemon, pids: &[u32], run: &Path) -> anyhow::Result<Running<'a>> {
    for (path, content) in &asked.files {
        std::fs::write(path, content).with_context(|| path.clone())?;
    }
    let argv = AT_ITS_OWN_SPEED.map(str::to_owned).into_iter().chain(with_pids(&asked.argv, pids)).collect::<Vec<_>>();
    let mut child = Child::start("daemon", &argv, run)?;
    let apart = asked.pid_file.as_deref().and_then(|file| left(&mut child, file));
    Ok(Running { asked, child, apart })
}

/// Replaces `{pids}` by `-p PID` for each process.
fn with_pids(argv: &[String], pids: &[u32]) -> Vec<String> {
    let each = || pids.iter().flat_map(|pid| ["-p".to_owned(), pid.to_string()]).collect();
    argv.iter().flat_map(|word| if word == "{pids}" { each() } else { vec![word.clone()] }).collect()
}

/// The pid of a daemon that leaves the foreground, once the daemon has reported it.
fn left(child: &mut Child, file: &str) -> Option<u32> {
    let until = procfs::now() + TELLS_PID_WITHIN;
    while procfs::now() < until {
        let pid = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
        if pid.is_some() && child.ended() {
            return pid;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

impl Running<'_> {
    /// Ends the daemon, and reports how it ended.
    pub fn end(mut self) -> DaemonRan {
        let cpu = procfs::stat(self.pid()).map(|stat| stat.ticks);
        let problem = self.stop();
        let mut log = self.child.output();
        if let Some(file) = &self.asked.log_file {
            log.push_str(&std::fs::read_to_string(file).unwrap_or_default());
            let _ = std::fs::remove_file(file);
        }
        let cpu_seconds =
            cpu.and_then(|ticks| u32::try_from(ticks).ok()).map(|ticks| f64::from(ticks) / TICKS_PER_SECOND);
        DaemonRan { problem, log: last(&log), errors: last(&self.child.errors()), cpu_seconds }
    }

    fn pid(&self) -> u32 {
        self.apart.unwrap_or_else(|| self.child.pid())
    }

    fn stop(&mut self) -> Option<String> {
        match (&self.asked.pid_file, self.apart) {
            (Some(file), None) => return Some(format!("it wrote no pid to {file}: {}", self.child.errors().trim())),
            (_, Some(pid)) => return stop_apart(pid),
            (None, None) => {}
        }
        if self.child.ended() {
            return Some(format!("it ended before the jobs did: {}", self.child.how()));
        }
        self.child.signal(Signal::TERM);
        if self.child.wait_until(procfs::now() + ENDS_WITHIN) {
            return self.child.problem();
        }
        self.child.kill();
        Some(format!("it did not end within {ENDS_WITHIN} s of SIGTERM"))
    }
}

/// Stops a process that is not a child of the director: it has ended when its `/proc` folder is
/// gone.
fn stop_apart(pid: u32) -> Option<String> {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    let there = || Path::new(&format!("/proc/{pid}")).exists();
    if !there() {
        return Some("it ended before the jobs did".to_owned());
    }
    let _ = kill_process(id, Signal::TERM);
    let until = procfs::now() + ENDS_WITHIN;
    while there() && procfs::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    there().then(|| {
        let _ = kill_process(id, Signal::KILL);
        format!("it did not end within {ENDS_WITHIN} s of SIGTERM")
    })
}

/// The last [`MOST_LOG`] bytes of a text, from the beginning of a line.
pub fn last(text: &str) -> String {
    let Some(cut) = text.len().checked_sub(MOST_LOG) else { return text.to_owned() };
    let from = text.as_bytes().iter().skip(cut).position(|byte| *byte == b'\n').map_or(text.len(), |at| cut + at + 1);
    text.get(from..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_are_put_in_their_place() {
        let argv = ["numad", "{pids}", "-v"].map(str::to_owned);
        assert_eq!(with_pids(&argv, &[7, 9]), ["numad", "-p", "7", "-p", "9", "-v"]);
    }

    #[test]
    fn a_long_log_keeps_whole_lines_of_its_end() {
        let line = "x".repeat(1023) + "\n";
        let long = line.repeat(1025);
        assert_eq!(last(&long).len(), MOST_LOG - 1024);
        assert_eq!(last("short\n"), "short\n");
    }
}
