//! The tasks of the system. The double keeps groups of this system's real tasks. A [`Threads`]
//! function supplies which tasks exist and what their parents are, so that the state machine does
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
    /// When it started, in the kernel's ticks: a task that reuses an id has a different start.
    pub started: u64,
}

/// Every task of the system by its id.
pub type Threads = Box<dyn Fn() -> BTreeMap<u32, Task> + Send>;

/// The tasks of this system, from `/proc`.
pub fn of_this_system() -> BTreeMap<u32, Task> {
    numbered("/proc").into_iter().flat_map(threads_of).collect()
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
    fn this_process_is_found_with_its_parent() {
        let own = of_this_system()[&std::process::id()];
        assert_eq!((own.leader, own.parent), (std::process::id(), std::os::unix::process::parent_id()));
        assert!(own.started > 0);
    }
}
