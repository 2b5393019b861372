//! Every process that this program started, and their descendants. Daemons also become its children
//! when their parents end (`PR_SET_CHILD_SUBREAPER`), so no process is left over. No other process
//! is ever signalled.

use crate::evidence::{self, Stat};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, wait};
use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a condition is checked while waiting for it.
pub const LOOK: Duration = Duration::from_millis(5);

/// Our children, and how those that have ended did so.
pub struct Family {
    ended: BTreeMap<i32, WaitStatus>,
}

impl Family {
    /// From this call on, orphans among our descendants become our children.
    pub fn new() -> Result<Self> {
        set_child_subreaper(Some(getpid())).context("becoming the reaper of orphans")?;
        Ok(Self { ended: BTreeMap::new() })
    }

    /// Starts a program. Its id stays valid until [`Self::reap`] has seen its end.
    pub fn start(&mut self, command: &mut Command) -> Result<Child> {
        let child = command.spawn().with_context(|| command.get_program().to_string_lossy().into_owned())?;
        self.ended.remove(&pid(&child));
        Ok(child)
    }

    /// Collects children that have ended.
    pub fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            self.ended.insert(pid.as_raw_nonzero().get(), status);
        }
    }

    /// How a child ended; `None` while it lives.
    pub fn end_of(&mut self, pid: i32) -> Option<WaitStatus> {
        self.reap();
        self.ended.get(&pid).copied()
    }

    /// Signals a member of the family. Returns false if it has ended and was collected, because its
    /// id may belong to another process by then.
    pub fn signal(&self, pid: i32, signal: Signal) -> bool {
        !self.ended.contains_key(&pid) && Pid::from_raw(pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
    }

    /// Living processes below this one, by id.
    pub fn living(&mut self) -> BTreeMap<i32, Stat> {
        self.reap();
        let mut all = evidence::descendants(getpid().as_raw_nonzero().get());
        all.retain(|_, stat| !matches!(stat.state, 'Z' | 'X'));
        self.ended.retain(|pid, _| !all.contains_key(pid));
        all
    }

    /// Kills all members of the family that the filter selects, including new ones that they start
    /// meanwhile. Returns false if some do not end.
    pub fn end_all(&mut self, named: impl Fn(&Stat) -> bool) -> bool {
        let start = Instant::now();
        loop {
            let left: Vec<i32> =
                self.living().into_iter().filter(|(_, stat)| named(stat)).map(|(pid, _)| pid).collect();
            if left.is_empty() || start.elapsed() > Duration::from_secs(20) {
                return left.is_empty();
            }
            for pid in left {
                self.signal(pid, Signal::KILL);
            }
            sleep(LOOK);
        }
    }
}

/// The id of a child.
pub fn pid(child: &Child) -> i32 {
    Pid::from_child(child).as_raw_nonzero().get()
}

/// How a process ended, in words.
pub fn in_words(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("ended by signal {signal}"),
        _ => "ended".to_owned(),
    }
}

/// Checks a condition repeatedly until it is true; returns false if the time runs out.
pub fn until(limit: Duration, mut reached: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !reached() {
        if start.elapsed() > limit {
            return false;
        }
        sleep(LOOK);
    }
    true
}
