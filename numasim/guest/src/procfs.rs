//! What the kernel says about processes and about itself. Pure functions below parse the texts. A
//! file that is gone gives `None`, because processes end.

use anyhow::Context;
use std::collections::BTreeMap;
use std::time::Duration;

/// The counts of `/proc/vmstat` that are reported: pages that NUMA balancing moved, pages that were
/// moved for any reason, and faults by which the kernel learns which thread touches which page
/// (Documentation/admin-guide/sysctl/kernel.rst, `numa_balancing`).
const VMSTAT: [&str; 6] = [
    "numa_pages_migrated",
    "pgmigrate_success",
    "pgmigrate_fail",
    "numa_hint_faults",
    "numa_hint_faults_local",
    "numa_pte_updates",
];

/// Seconds of the guest's `CLOCK_MONOTONIC`.
pub fn now() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let whole = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    (whole + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))).as_secs_f64()
}

/// The counts of [`VMSTAT`] that this kernel has.
pub fn vmstat() -> anyhow::Result<BTreeMap<String, u64>> {
    let text = std::fs::read_to_string("/proc/vmstat").context("/proc/vmstat")?;
    Ok(of_vmstat(&text))
}

fn of_vmstat(text: &str) -> BTreeMap<String, u64> {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let wanted = pairs.filter(|(name, _)| VMSTAT.contains(name));
    wanted.filter_map(|(name, count)| Some((name.to_owned(), count.trim().parse().ok()?))).collect()
}

/// The processes of each process group, in ascending order. Processes with a lower pid than this
/// one are left out: nearly all of them are the kernel's, and reading one costs as much as reading
/// a job's. (Pids wrap around to 300, which few guests reach before this process starts.)
pub fn groups() -> BTreeMap<u32, Vec<u32>> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in pids.filter(|pid| *pid > std::process::id()) {
        if let Some(stat) = stat(pid) {
            groups.entry(stat.group).or_default().push(pid);
        }
    }
    groups.values_mut().for_each(|pids| pids.sort_unstable());
    groups
}

/// The processes of one process group.
pub fn group(leader: u32) -> Vec<u32> {
    groups().remove(&leader).unwrap_or_default()
}

/// Threads of a process, in ascending order; none if the process is gone.
pub fn threads(pid: u32) -> Vec<u32> {
    let all = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut tids: Vec<u32> = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable();
    tids
}

/// How often a thread changed its CPU. A zombie still has this count.
pub fn migrations(pid: u32, tid: u32) -> Option<u64> {
    of_sched(&std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/sched")).ok()?)
}

/// The number in a line such as `se.nr_migrations      :       12` (`proc_sched_show_task` in
/// kernel/sched/debug.c).
fn of_sched(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

/// The CPU on which a thread ran last.
pub fn cpu(pid: u32, tid: u32) -> Option<u32> {
    of_stat(&std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?)?.cpu
}

/// The fields of `/proc/PID/stat` that are used.
#[derive(Debug, PartialEq)]
pub struct Stat {
    /// Process group.
    pub group: u32,
    /// CPU time, user and system, in clock ticks.
    pub ticks: u64,
    /// The CPU on which it ran last.
    pub cpu: Option<u32>,
}

/// Reads group, CPU time and CPU of a process.
pub fn stat(pid: u32) -> Option<Stat> {
    of_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields are counted after the name, which may contain anything (proc_pid_stat(5)): the third is
/// the group, the twelfth and thirteenth are the times, the 37th is the processor.
fn of_stat(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        group: u32::try_from(number(2)?).ok()?,
        ticks: number(11)? + number(12)?,
        cpu: number(36).and_then(|cpu| u32::try_from(cpu).ok()),
    })
}

/// Pages of a process by node, from `/proc/PID/numa_maps`: the sums of `N0=`, `N1=` ... in base
/// pages.
pub fn pages(pid: u32, nodes: usize) -> Option<Vec<u64>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/numa_maps")).ok()?;
    (!text.is_empty()).then(|| of_numa_maps(&text, nodes))
}

fn of_numa_maps(text: &str, nodes: usize) -> Vec<u64> {
    let mut sums = vec![0; nodes];
    for word in text.split_whitespace() {
        let parts = word.strip_prefix('N').and_then(|word| word.split_once('='));
        let Some((node, count)) = parts.and_then(|(node, count)| Some((node.parse().ok()?, count.parse().ok()?)))
        else {
            continue;
        };
        let (node, count): (usize, u64) = (node, count);
        if let Some(sum) = sums.get_mut(node) {
            *sum += count;
        }
    }
    sums
}

/// Number of nodes: the highest number in `/sys/devices/system/node`, plus one.
pub fn nodes() -> usize {
    let all = std::fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse::<usize>().ok());
    numbers.max().map_or(1, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_read() {
        assert_eq!(
            of_sched("chase (71, #threads: 1)\n----\nse.nr_migrations      :   12\nnr_switches : 9\n"),
            Some(12)
        );
        assert_eq!(of_sched("nothing"), None);
        let stat = "71 (a ) name) S 1 70 1 0 -1 4194304 105 0 0 0 30 12 0 0 20 0 1 0 500";
        assert_eq!(of_stat(stat), Some(Stat { group: 70, ticks: 42, cpu: None }));
        let whole = format!("9 (x) S 1 9 {} 5 0 0", "0 ".repeat(33).trim());
        assert_eq!(of_stat(&whole).unwrap().cpu, Some(5));
        assert_eq!(of_stat("71 (half"), None);
        let maps = "00400000 default file=/bin/chase mapped=4 N0=4\n7f00 default anon=9 dirty=9 N0=3 N1=6 \
                    kernelpagesize_kB=4\n";
        assert_eq!(of_numa_maps(maps, 2), [7, 6]);
        let vmstat = of_vmstat("nr_free_pages 5\nnuma_pages_migrated 17\npgmigrate_success 20\n");
        assert_eq!((vmstat.len(), vmstat["numa_pages_migrated"]), (2, 17));
    }
}
