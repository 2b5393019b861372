//! What Linux reports about processes and threads: parents, names, start times, and the CPUs that
//! each may use (procfs and `sched_getaffinity`).

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// CPUs.
pub type Cpus = BTreeSet<usize>;

/// A process or a thread, from `/proc/.../stat`.
#[derive(Clone, Debug)]
pub struct Stat {
    pub name: String,
    pub state: char,
    pub parent: i32,
    /// Ticks since boot.
    pub start: u64,
}

/// A living thread and its CPUs.
#[derive(Clone, Debug)]
pub struct Task {
    pub pid: i32,
    pub tid: i32,
    pub start: u64,
    pub parent: i32,
    pub cpus: Cpus,
}

/// Reads a `stat` file; `None` if the process or thread does not exist any more.
pub fn stat(path: &str) -> Option<Stat> {
    let text = String::from_utf8_lossy(&fs::read(path).ok()?).into_owned();
    let (before, after) = text.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(Stat {
        name,
        state: field(3)?.chars().next()?,
        parent: field(4)?.parse().ok()?,
        start: field(22)?.parse().ok()?,
    })
}

/// The process with this id.
pub fn process(pid: i32) -> Option<Stat> {
    stat(&format!("/proc/{pid}/stat"))
}

/// All descendants of a process.
pub fn descendants(root: i32) -> BTreeMap<i32, Stat> {
    let all: BTreeMap<i32, Stat> = numbers("/proc").into_iter().filter_map(|pid| Some((pid, process(pid)?))).collect();
    let mut found = BTreeSet::from([root]);
    loop {
        let known = found.len();
        found.extend(
            all.iter().filter(|(_, stat)| found.contains(&stat.parent)).map(|(pid, _)| *pid).collect::<Vec<_>>(),
        );
        if found.len() == known {
            break;
        }
    }
    all.into_iter().filter(|(pid, _)| *pid != root && found.contains(pid)).collect()
}

/// The living threads of a process.
pub fn tasks(pid: i32) -> Vec<Task> {
    numbers(&format!("/proc/{pid}/task")).into_iter().filter_map(|tid| task(pid, tid)).collect()
}

fn task(pid: i32, tid: i32) -> Option<Task> {
    let stat = stat(&format!("/proc/{pid}/task/{tid}/stat"))?;
    let set = sched_getaffinity(Pid::from_raw(tid)).ok()?;
    let alive = !matches!(stat.state, 'Z' | 'X');
    alive.then(|| Task { pid, tid, start: stat.start, parent: stat.parent, cpus: members(&set) })
}

/// The CPUs that this program may use.
pub fn own_cpus() -> Cpus {
    sched_getaffinity(None).map(|set| members(&set)).unwrap_or_default()
}

/// CPUs in list form, `0-3,8`.
pub fn listed(cpus: &Cpus) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range =
        |(first, last): &(usize, usize)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

fn members(set: &CpuSet) -> Cpus {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_written_as_the_kernel_does() {
        assert_eq!(listed(&Cpus::from([0, 1, 2, 8, 10, 11])), "0-2,8,10-11");
        assert_eq!(listed(&Cpus::new()), "");
    }

    #[test]
    fn this_process_has_a_parent_a_thread_and_cpus() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert!(process(pid).unwrap().parent > 0);
        assert!(tasks(pid).iter().any(|task| task.tid == pid && !task.cpus.is_empty()));
        assert!(descendants(pid).iter().all(|(child, _)| *child != pid));
    }
}
