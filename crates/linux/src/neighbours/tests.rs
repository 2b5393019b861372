//! Trees of files as machines have them, and the remarks for each.

use super::*;
use crate::test_kit::folder;

const RESCTRL: &str = "/sys/fs/resctrl";

fn read(files: &[(&str, &str)]) -> Neighbours {
    Neighbours::read(folder(files).path(), Path::new(RESCTRL))
}

#[test]
fn a_machine_of_its_own_has_no_neighbours() {
    assert_eq!(read(&[]), Neighbours::default());
    let quiet = read(&[
        ("proc/sys/kernel/numa_balancing", "0\n"),
        ("sys/kernel/sched_ext/state", "disabled\n"),
        ("sys/kernel/debug/sched/features", "GENTLE NO_SCHED_CACHE SIS_UTIL\n"),
        ("sys/kernel/debug/sched/llc_balancing/enabled", "0\n"),
        ("sys/devices/system/cpu/isolated", "\n"),
        ("sys/fs/resctrl/schemata", "L3:0=ff\n"),
        ("sys/fs/resctrl/info/L3/cbm_mask", "ff\n"),
        ("sys/fs/resctrl/mon_groups/isobar-1/tasks", ""),
        ("sys/fs/resctrl/isobar-A/schemata", ""),
    ]);
    assert_eq!(quiet, Neighbours { numa_balancing: Some(0), ..Neighbours::default() });
    assert_eq!(remarks(&quiet), [""; 0]);
}

#[test]
fn each_neighbour_is_found_and_told_in_a_line() {
    let mut found = read(&[
        ("proc/sys/kernel/numa_balancing", "3\n"),
        ("sys/kernel/sched_ext/state", "enabled\n"),
        ("sys/kernel/sched_ext/root/ops", "rusty\n"),
        ("sys/kernel/debug/sched/llc_balancing/enabled", "1\n"),
        ("sys/kernel/debug/sched/llc_balancing/aggr_tolerance", "1\n"),
        ("sys/devices/system/cpu/isolated", "2-3,7\n"),
        ("sys/fs/resctrl/schemata", ""),
        ("sys/fs/resctrl/COS1/schemata", ""),
        ("sys/fs/resctrl/mon_groups/pod1/tasks", ""),
        ("etc/tuned/active_profile", "mine\n"),
        ("etc/tuned/mine/tuned.conf", "[main]\ninclude=throughput-performance\n"),
        (
            "usr/lib/tuned/profiles/throughput-performance/tuned.conf",
            "[sysctl]\n# kernel.numa_balancing=7\nkernel.numa_balancing = 0\n",
        ),
    ]);
    found.daemons = ["numad", "irqbalance", "tuned", "bash"].into_iter().filter_map(Daemon::called).collect();
    found.cpusets = true;
    let told = remarks(&found);
    let words = [
        "tiering",
        "tuned's profile mine sets kernel.numa_balancing=0",
        "numad is running",
        "irqbalance is running",
        "scheduler (rusty)",
        "cache-aware scheduling is on",
        "another program (COS1 and 1 more)",
        "CPUs 2-3,7 are isolated",
        "cpusets confine",
    ];
    assert_eq!(told.len(), words.len(), "{told:?}");
    for (line, word) in told.iter().zip(words) {
        assert!(line.contains(word) && !line.contains("  ") && !line.contains('\n'), "{line}");
    }
}

#[test]
fn cache_awareness_has_two_switches_and_an_older_name() {
    let enabled = "sys/kernel/debug/sched/llc_balancing/enabled";
    let tolerance = "sys/kernel/debug/sched/llc_balancing/aggr_tolerance";
    assert!(read(&[(enabled, "Y\n")]).cache_aware);
    assert!(!read(&[(enabled, "1\n"), (tolerance, "0\n")]).cache_aware);
    assert!(read(&[("sys/kernel/debug/sched/features", "A SCHED_CACHE B\n")]).cache_aware);
}

#[test]
fn a_profile_that_includes_itself_ends_and_a_path_is_no_profile() {
    let of = |conf: &str| {
        let files = [("etc/tuned/active_profile", "a b\n"), ("etc/tuned/profiles/a/tuned.conf", conf)];
        read(&files).tuned.unwrap().numa_balancing
    };
    assert_eq!(of("include=a\nkernel.numa_balancing=>1\n").as_deref(), Some("1"));
    assert_eq!(of("include=../../../etc/x, a\n"), None);
    assert_eq!(of("[kernel.numa_balancing=0]\n"), None);
    assert_eq!(read(&[("etc/tuned/active_profile", "\n")]).tuned, None);
}

#[test]
fn names_of_others_stay_on_the_line() {
    let found = read(&[("sys/kernel/sched_ext/state", "enabled"), ("sys/kernel/sched_ext/root/ops", "a\u{1b}[2J\nb")]);
    assert!(remarks(&found).iter().all(|line| !line.contains(char::is_control)), "{found:?}");
}
