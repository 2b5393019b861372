//! Tests of the selection: worked cases, an ASCII timeline of the hysteresis, and its properties
//! over random machines.

use super::*;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{Cgroup, Seconds};
use proptest::prelude::*;
use std::sync::Arc;

fn thread(tid: u32, share: Option<f64>) -> Thread {
    Thread {
        pinned: tid.is_multiple_of(3),
        cpu_time: share.map(|share| Seconds(share * 2.0)),
        ..Thread::unmeasured(Tid(tid))
    }
}

/// Processes `p1`, `p2`, ...; thread ids are consecutive; the interval is 2 s, so a share of 0.5 is
/// one second.
fn seen(processes: &[Vec<Option<f64>>]) -> Observation {
    let mut tids = 1..;
    let processes = processes.iter().zip(1..).map(|(shares, pid)| Process {
        pid: Pid(pid),
        name: format!("p{pid}").into(),
        threads: shares.iter().zip(&mut tids).map(|(share, tid)| thread(tid, *share)).collect(),
        ..Process::default()
    });
    let machine = Arc::new(synthetic("node:2 core:2").unwrap());
    Observation { interval: Seconds(2.0), ..Observation::bare(machine, processes.collect()) }
}

fn rules() -> Rules {
    Rules { max_threads: 100, ..Rules::default() }
}

fn cgroup(pid: Pid) -> Option<Cgroups> {
    let texts = ["0::/a/b", "0::/a/bc", "4:cpu,cpuacct:/v1\n0::/d"];
    texts.get(usize::try_from(pid.0).ok()?.checked_sub(1)?).map(|text| Cgroups::parse(text))
}

/// `p3` was started by `p2`, and the parent of `p2` has ended.
const LOOKUPS: Lookups<'static> =
    Lookups { cgroups: &cgroup, descends: &|pid, from| pid == from || (pid, from) == (Pid(3), Pid(2)) };

fn tids(seen: &Observation) -> Vec<u32> {
    seen.threads().map(|(_, thread)| thread.tid.0).collect()
}

fn chosen(seen: &Observation, rules: &Rules) -> Vec<u32> {
    tids(&select(seen, rules, &Memory::default(), LOOKUPS).0)
}

#[test]
fn a_name_a_pid_or_a_cgroup_chooses() {
    let seen = seen(&[vec![Some(0.5)], vec![Some(0.5)], vec![Some(0.5)]]);
    let only = |texts: &[&str]| Rules { only: texts.iter().map(|text| Pattern::parse(text)).collect(), ..rules() };
    assert_eq!(chosen(&seen, &only(&[])), [1, 2, 3]);
    assert_eq!(chosen(&seen, &only(&["p2"])), [2]);
    assert_eq!(chosen(&seen, &only(&["3", "p1"])), [1, 3]);
    assert_eq!(chosen(&seen, &only(&["tree:2"])), [2, 3]);
    assert_eq!(chosen(&seen, &only(&["tree:3"])), [3]);
    assert_eq!(chosen(&seen, &only(&["/a"])), [1, 2]);
    assert_eq!(chosen(&seen, &only(&["/sys/fs/cgroup/a/b/"])), [1]);
    assert_eq!(chosen(&seen, &Rules { ignore: vec![Pattern::parse("/a")], ..rules() }), [3]);
    assert_eq!(chosen(&seen, &Rules { never: [Pid(2)].into(), ..only(&["p2", "p3"]) }), [3]);
    let patterns = ["p9", "p1", "/x"].map(Pattern::parse);
    assert_eq!(without_match(&patterns, &seen, LOOKUPS), [&patterns[0], &patterns[2]]);
}

/// Groups are those that the machine observed; no file is read.
#[test]
fn a_service_a_pod_or_a_slice_chooses() {
    let mut seen = seen(&[vec![Some(0.5)], vec![Some(0.5)], vec![Some(0.5)]]);
    let pod = "/kubepods.slice/kubepods-pod0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0.slice";
    for (process, (path, name)) in seen.processes.iter_mut().zip([
        ("/system.slice/redis.service", None),
        (pod, Some("default/web")),
        ("/system.slice/redis-backup.service", None),
    ]) {
        process.cgroup = Some(Arc::new(Cgroup { path: path.to_owned(), name: name.map(str::to_owned) }));
    }
    let only = |text: &str| {
        Pattern::check(text).unwrap();
        let rules = Rules { only: vec![Pattern::parse(text)], ..rules() };
        tids(&select(&seen, &rules, &Memory::default(), Lookups::default()).0)
    };
    for (text, threads) in [
        ("unit:redis.service", &[1][..]),
        ("unit:redis", &[1]),
        ("unit:redis*", &[1, 3]),
        ("slice:system", &[1, 3]),
        ("pod:default/web", &[2]),
        ("pod:def*", &[2]),
        ("qos:guaranteed", &[2]),
        ("unit:nginx", &[]),
        ("/system.slice", &[1, 3]),
    ] {
        assert_eq!(only(text), threads, "{text}");
        assert_eq!(Pattern::parse(text).to_string(), text);
    }
    assert_eq!(chosen(&seen, &Rules { ignore: vec![Pattern::parse("slice:system")], ..rules() }), [2]);
    assert!(Pattern::check("untt:redis").unwrap_err().contains("expected one of unit, slice"));
}

#[test]
fn globs_choose_and_so_do_cgroups_of_version_1() {
    let seen = seen(&[vec![Some(0.5)], vec![Some(0.5)], vec![Some(0.5)]]);
    let only = |text: &str| chosen(&seen, &Rules { only: vec![Pattern::parse(text)], ..rules() });
    assert_eq!(only("p*"), [1, 2, 3]);
    assert_eq!(only("p[13]"), [1, 3]);
    assert_eq!(only("/a/*"), [1, 2]);
    assert_eq!(only("/a/b?"), [2]);
    assert_eq!(only("/*"), [1, 2, 3], "what is below a cgroup that fits is chosen, too");
    assert_eq!(only("/**/bc"), [2]);
    assert_eq!((only("/*b"), only("/a*b")), (vec![], vec![]), "no `*` stands for a slash");
    for path in ["/v1", "/d", "/sys/fs/cgroup/cpu/v1", "/sys/fs/cgroup/cpu,cpuacct/v?", "/sys/fs/cgroup/d"] {
        assert_eq!(only(path), [3], "{path}");
    }
    assert_eq!((only("/cpu/v1"), only("/sys/fs/cgroup/memory/v1")), (vec![], vec![]));
    assert_eq!((only("/"), only("/sys/fs/cgroup")), (vec![1, 2, 3], vec![1, 2, 3]));
    let ignored = Rules { ignore: ["p[12]", "/v1"].map(Pattern::parse).to_vec(), ..rules() };
    assert_eq!(chosen(&seen, &ignored), [] as [u32; 0]);
}

#[test]
fn a_thread_at_the_edge_does_not_come_and_go() {
    // share    0.04 0.09 0.10 0.06 0.05 0.04 0.04 0.06 0.04 0.04 0.04 0.09
    // managed    -    -    *    *    *    *    *    *    *    *    -    -
    // quiet                0    0    0    1    2    0    1    2    3
    let shares = [0.04, 0.09, 0.10, 0.06, 0.05, 0.04, 0.04, 0.06, 0.04, 0.04, 0.04, 0.09];
    let mut memory = Memory::default();
    let line: String = shares
        .map(|share| {
            let seen = seen(&[vec![Some(share)]]);
            let (part, next) = select(&seen, &rules(), &memory, LOOKUPS);
            memory = next;
            if part.processes.is_empty() { '-' } else { '*' }
        })
        .iter()
        .collect();
    assert_eq!(line, "--********--");
}

#[test]
fn a_new_thread_waits_and_a_machine_without_cpu_time_manages_all() {
    assert_eq!(chosen(&seen(&[vec![Some(0.5), None]]), &rules()), [1]);
    assert_eq!(chosen(&seen(&[vec![None, None]]), &rules()), [1, 2]);
}

#[test]
fn the_busiest_are_kept_and_ties_break_by_id() {
    let seen = seen(&[vec![Some(0.2), Some(0.9)], vec![Some(0.9), Some(0.5)]]);
    assert_eq!(chosen(&seen, &Rules { max_threads: 3, ..rules() }), [2, 3, 4]);
    assert_eq!(chosen(&seen, &Rules { max_threads: 1, ..rules() }), [2]);
}

fn shares() -> impl Strategy<Value = Vec<Vec<Option<f64>>>> {
    prop::collection::vec(prop::collection::vec(prop::option::of(0.0..1.0f64), 0..6), 0..6)
}

proptest! {
    #[test]
    fn what_is_chosen_is_a_part_and_choosing_again_changes_nothing(shares in shares(), most in 0usize..12) {
        let all = seen(&shares);
        let rules = Rules { max_threads: most, only: vec![Pattern::parse("/a"), Pattern::parse("p4")], ..rules() };
        let (part, memory) = select(&all, &rules, &Memory::default(), LOOKUPS);
        prop_assert!(part.threads().count() <= most);
        for (process, thread) in part.threads() {
            prop_assert!(process.pid.0 != 3 && process.pid.0 < 5);
            let same = all.threads().find(|(_, other)| other.tid == thread.tid).map(|(_, other)| other);
            prop_assert_eq!(same, Some(thread));
        }
        prop_assert!(tids(&part).is_sorted());
        let (again, _) = select(&part, &rules, &memory, LOOKUPS);
        prop_assert_eq!(&*again, &*part);
    }

    #[test]
    fn a_busy_thread_is_managed_whatever_was_before(share in 0.1..1.0f64, before in prop::collection::vec(0.0..1.0f64, 0..8)) {
        let mut memory = Memory::default();
        for earlier in before {
            memory = select(&seen(&[vec![Some(earlier)]]), &rules(), &memory, LOOKUPS).1;
        }
        prop_assert_eq!(tids(&select(&seen(&[vec![Some(share)]]), &rules(), &memory, LOOKUPS).0), [1]);
    }

    #[test]
    fn patterns_are_read_whatever_is_typed(text in any::<String>()) {
        let parsed = Pattern::parse(&text);
        prop_assert_eq!(matches!(parsed, Pattern::Pid(_)), text.parse::<u32>().is_ok());
    }
}
