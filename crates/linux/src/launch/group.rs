//! Ends a command with all that it started, as far as that is still in its process group.

use procfs::process::{Stat, all_processes};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// Pause between two looks at the group.
const PAUSE: Duration = Duration::from_millis(20);

/// How long killed processes may take to end.
const KILLED: Duration = Duration::from_secs(1);

/// Ends the process group that a child leads: SIGTERM, and SIGKILL for what still runs after
/// `patience`. The child must not have been waited for: until then the kernel gives the number of
/// its group to no other. Afterwards it has been.
///
/// # Errors
/// The kernel's error, such as that the processes belong to another user by now.
pub fn end_group(child: &mut Child, patience: Duration) -> io::Result<()> {
    let leader = number(child).ok_or(io::ErrorKind::InvalidInput)?;
    signal(leader, Signal::TERM)?;
    wait_for_all(child, leader, patience);
    signal(leader, Signal::KILL)?;
    // The child may have left its group.
    child.kill()?;
    wait_for_all(child, leader, KILLED);
    child.wait().map(drop)
}

/// Kills the process group that a child leads. The child must not have been waited for.
pub fn kill_group(child: &Child) {
    if let Some(leader) = number(child) {
        let _ = signal(leader, Signal::KILL);
    }
}

/// Whether a child has ended. It is not waited for, so the numbers of its process and of its group
/// remain its own.
#[must_use]
pub fn has_ended(child: &Child) -> bool {
    let Some(number) = number(child) else { return true };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(number), options), Ok(None))
}

fn number(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Waits until the whole group has ended, `patience` at most.
fn wait_for_all(child: &Child, leader: Pid, patience: Duration) {
    let until = Instant::now() + patience;
    while (!has_ended(child) || has_members(leader)) && Instant::now() < until {
        thread::sleep(PAUSE);
    }
}

/// Signals a group. Its processes may all have ended.
fn signal(leader: Pid, signal: Signal) -> io::Result<()> {
    match kill_process_group(leader, signal) {
        Err(Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}

/// Whether a process of the group still runs, as far as `/proc` shows it.
fn has_members(leader: Pid) -> bool {
    let stats = all_processes().into_iter().flatten().filter_map(|process| process.ok()?.stat().ok());
    stats.into_iter().any(|stat| stat.pgrp == leader.as_raw_nonzero().get() && is_running(&stat))
}

/// Whether a process runs. Its main thread may have ended before the others.
fn is_running(stat: &Stat) -> bool {
    !matches!(stat.state, 'Z' | 'X') || stat.num_threads > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    /// Starts a shell that leads a group and starts a process in the background, whose id it
    /// prints.
    fn started(script: &str) -> (Child, i32) {
        let mut command = Command::new("sh");
        let mut shell = command.args(["-c", script]).process_group(0).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (shell, line.trim().parse().unwrap())
    }

    fn runs(pid: i32) -> bool {
        procfs::process::Process::new(pid).and_then(|process| process.stat()).is_ok_and(|stat| stat.state != 'Z')
    }

    #[test]
    fn what_a_command_left_in_the_background_ends_with_it() {
        let (mut shell, left) = started("sleep 60 & echo $!");
        assert!(runs(left));
        let begun = Instant::now();
        end_group(&mut shell, Duration::from_secs(50)).unwrap();
        assert!(!runs(left) && begun.elapsed() < Duration::from_secs(40));
    }

    #[test]
    fn what_ignores_the_request_is_killed_and_what_heeds_it_has_time() {
        let (mut stubborn, left) = started("trap '' TERM; sleep 60 & echo $!; wait");
        end_group(&mut stubborn, Duration::from_millis(200)).unwrap();
        assert!(!runs(left));
        let (mut orderly, left) = started("trap 'sleep 0.3; exit 7' TERM; sleep 60 & echo $!; while :; do wait; done");
        end_group(&mut orderly, Duration::from_secs(50)).unwrap();
        assert_eq!((orderly.wait().unwrap().code(), runs(left)), (Some(7), false));
    }
}
