//! Describes another process as far as it matters to an isobar: which user owns it, whether it is
//! an isobar and what it may do, and how a message names it. Everything comes from the kernel
//! (`proc_pid_status(5)`) or is escaped.

use super::capability;
use super::{identity, names};
use isobar_model::Pid;
use rustix::process::geteuid;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The length to which a command line in a message is cut.
const LONGEST_COMMAND: usize = 100;

/// A process that exists, or existed a moment ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Its id.
    pub pid: u32,
    /// When it started, in ticks since boot.
    pub start: u64,
    /// Whether it runs isobar.
    pub isobar: bool,
    /// Whether it may move the threads of every user.
    pub privileged: bool,
    /// Whether it may move our threads because it is of the same user.
    pub ours: bool,
    /// Its user.
    user: u32,
    /// Its command line, escaped.
    command: String,
}

impl Other {
    /// Looks at a process; `None` if there is none (any more), or if we may not see it.
    pub fn look(pid: u32) -> Option<Self> {
        let status = fs::read(format!("/proc/{pid}/status")).ok()?;
        let status = String::from_utf8_lossy(&status);
        let user = effective_user(&status)?;
        Some(Self {
            pid,
            start: identity::process(Pid(pid))?.start,
            isobar: runs_isobar(pid, &status),
            privileged: user == 0 || (may_move_others(&status) && shares_our_users(pid)),
            ours: user == geteuid().as_raw(),
            user,
            command: command(pid, &status),
        })
    }

    /// Orders processes by age, the oldest first; ties break by pid.
    pub const fn age(&self) -> (u64, u32) {
        (self.start, self.pid)
    }
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}, user {}, `{}`", self.pid, names::user(self.user), self.command)
    }
}

/// `Uid:` real, effective, saved, file system.
fn effective_user(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().nth(1)?.parse().ok()
}

fn may_move_others(status: &str) -> bool {
    capability::effective(status).is_some_and(|set| capability::has(set, capability::SYS_NICE))
}

/// Whether a process has our map of users. Capabilities count only over the users that both
/// processes know: a user who makes a user namespace has all capabilities in it. Such a namespace
/// has another map of users, because an unprivileged user cannot map all of them.
fn shares_our_users(pid: u32) -> bool {
    let map = |process: &str| fs::read_to_string(format!("/proc/{process}/uid_map")).ok();
    map(&pid.to_string()) == map("self")
}

/// Whether a process runs isobar: judged by its executable, which a process cannot forge; if that
/// is hidden from us, by the name that the process shows.
fn runs_isobar(pid: u32, status: &str) -> bool {
    let executable = format!("/proc/{pid}/exe");
    let inode = |path: &str| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    match fs::read_link(&executable) {
        Ok(path) => is_named_so(&path) || inode(&executable) == inode("/proc/self/exe"),
        Err(_) => status.lines().next().is_some_and(|name| name.contains("isobar")),
    }
}

fn is_named_so(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("isobar"))
}

fn command(pid: u32, status: &str) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
    let name = status.lines().next().and_then(|line| line.strip_prefix("Name:")).unwrap_or_default();
    names::printable(if line.is_empty() { name.trim() } else { &line }, LONGEST_COMMAND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::privilege;
    use std::process::{Command, Stdio};

    #[test]
    fn we_see_ourselves_as_we_are() {
        let own = Other::look(std::process::id()).unwrap();
        assert!(own.isobar && own.ours, "{own:?}");
        assert_eq!(own.privileged, geteuid().is_root() || privilege::may_move_others());
        assert!(own.to_string().starts_with(&format!("pid {}, user ", std::process::id())), "{own}");
    }

    #[test]
    fn a_stranger_is_no_isobar_and_its_words_are_escaped() {
        let words = ["-c", "read line", "\u{1b}[2J\n"];
        let mut child = Command::new("sh").args(words).stdin(Stdio::piped()).spawn().unwrap();
        let stranger = Other::look(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        let stranger = stranger.unwrap();
        assert!(!stranger.isobar, "{stranger:?}");
        assert!(!stranger.to_string().contains(char::is_control), "{stranger}");
        assert_eq!(Other::look(child.id()), None);
    }

    #[test]
    fn the_effective_user_and_capabilities_count() {
        let status = "Name:\tisobar\nUid:\t1000\t0\t0\t0\nCapEff:\t0000000000800000\n";
        assert_eq!(effective_user(status), Some(0));
        assert!(may_move_others(status));
        assert!(!may_move_others("CapEff:\t0000000000000000\n"));
        assert!(is_named_so(Path::new("/usr/bin/isobar (deleted)")) && !is_named_so(Path::new("/usr/bin/isobar/su")));
    }
}
