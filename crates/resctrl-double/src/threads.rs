//! The tasks of the system. The double keeps groups of this system's real tasks; which tasks exist,
//! their parents and their owners come through the [`Threads`] seam, so that the state machine does
//! no I/O and tests can invent tasks.

use std::collections::BTreeMap;
use std::fs;

/// A task, as `find_task_by_vpid` and `for_each_process_thread` see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// The thread-group leader.
    pub leader: u32,
    /// The leader of the parent process.
    pub parent: u32,
    /// When it started, in the kernel's ticks: a reused id has another.
    pub started: u64,
}

/// Where tasks are looked up.
pub trait Threads: Send {
    /// Every task of the system by its id.
    fn all(&self) -> BTreeMap<u32, Task>;
    /// The real and the saved user of a task (`rdtgroup_task_write_permission` compares with both);
    /// None when it is gone.
    fn owner(&self, tid: u32) -> Option<(u32, u32)>;
}

/// The tasks of this system, from `/proc`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcThreads;

impl Threads for ProcThreads {
    fn all(&self) -> BTreeMap<u32, Task> {
        numbered("/proc").into_iter().flat_map(threads_of).collect()
    }

    fn owner(&self, tid: u32) -> Option<(u32, u32)> {
        let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        let mut users = line.split_whitespace().map(|user| user.parse().ok());
        // Real, effective, saved (proc_pid_status(5)).
        Some((users.next()??, users.nth(1)??))
    }
}

/// The threads of a process; one that ends meanwhile is left out.
fn threads_of(leader: u32) -> Vec<(u32, Task)> {
    let folder = format!("/proc/{leader}/task");
    let task = |tid: u32| {
        let (parent, started) = parent_and_start(&fs::read_to_string(format!("{folder}/{tid}/stat")).ok()?)?;
        Some((tid, Task { leader, parent, started }))
    };
    numbered(&folder).into_iter().filter_map(task).collect()
}

/// Fields 4 and 22 of a `stat` line; the name before them may hold blanks and brackets
/// (proc_pid_stat(5)).
fn parent_and_start(stat: &str) -> Option<(u32, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some((fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?))
}

fn numbered(folder: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_past_an_awkward_name() {
        let stat = "12 (a) b (c) S 7 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        assert_eq!(parent_and_start(stat), Some((7, 4711)));
        assert_eq!(parent_and_start("12 (a"), None);
    }

    #[test]
    fn this_process_is_found_with_its_parent_and_owner() {
        let all = ProcThreads.all();
        let own = all[&std::process::id()];
        assert_eq!(own.leader, std::process::id());
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert!(own.started > 0 && ProcThreads.owner(std::process::id()).is_some());
        assert_eq!(ProcThreads.owner(u32::MAX), None);
    }
}
