use super::{balanced, mappings};
use crate::workload::Workload;

fn workload(machine: &str, apps: &[&str]) -> Workload {
    let apps: String = apps.iter().map(|app| format!("[[app]]\nprogram = {app}\n")).collect();
    Workload::from_toml("w.toml", &format!("machine = \"{machine}\"\n{apps}")).unwrap()
}

/// N-MASS, section 4.3: four processes on two nodes have six schedules. With their memory on node
/// 0, all six differ.
#[test]
fn four_processes_on_two_nodes_have_six_schedules() {
    let apps = [
        "\"mcf\"\nmemory_node = 0",
        "\"milc\"\nmemory_node = 0",
        "\"soplex\"\nmemory_node = 0",
        "\"lbm\"\nmemory_node = 0",
    ];
    let all = balanced(&workload("nehalem-2x4", &apps), 100).unwrap();
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|one| (one.share - 1.0 / 6.0).abs() < 1e-12));
    // No application stands for another.
    assert!(all.iter().all(|one| one.parts.iter().enumerate().all(|(app, parts)| parts.keys().eq([&app]))));
    // With memory where the processes run, the two nodes may be exchanged: three schedules.
    let all = balanced(&workload("nehalem-2x4", &["\"mcf\"", "\"milc\"", "\"soplex\"", "\"lbm\""]), 100).unwrap();
    assert_eq!(all.len(), 3);
}

#[test]
fn clones_have_one_schedule_and_fare_as_both_halves_do() {
    let all = balanced(&workload("nehalem-2x4", &["\"soplex\"\nmemory_node = 0\ncount = 4"]), 100).unwrap();
    assert_eq!(all.len(), 1);
    let here = all[0].llcs.iter().filter(|llcs| llcs[0].0 == 0).count();
    assert_eq!(here, 2);
    for parts in &all[0].parts {
        assert_eq!(parts.len(), 4);
        assert!(parts.values().all(|part| (part - 0.25).abs() < 1e-12), "{parts:?}");
    }
}

/// Two clones have their home on each node. Exchanging the nodes exchanges the parts of the two
/// pairs. Of the six schedules one is all local, one is all remote, and in four each pair has one
/// clone of either kind.
#[test]
fn parts_go_over_the_symmetry_of_nodes() {
    let apps = ["\"soplex\"\nmemory_node = 0\ncount = 2", "\"soplex\"\nmemory_node = 1\ncount = 2"];
    let mut shares: Vec<f64> =
        balanced(&workload("nehalem-2x4", &apps), 9).unwrap().iter().map(|one| one.share).collect();
    shares.sort_by(f64::total_cmp);
    let expected = [1.0 / 6.0, 1.0 / 6.0, 4.0 / 6.0];
    assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{shares:?}");
}

/// Eight processes on two nodes have 70 schedules (N-MASS's eight-process workloads). Sixteen on
/// four nodes have 63 million.
#[test]
fn many_schedules_are_refused_not_listed() {
    let eight = ["\"mcf\"", "\"milc\"", "\"soplex\"", "\"lbm\"", "\"gcc\"", "\"bwaves\"", "\"namd\"", "\"povray\""];
    let home: Vec<String> = eight.iter().map(|app| format!("{app}\nmemory_node = 0")).collect();
    let home: Vec<&str> = home.iter().map(String::as_str).collect();
    assert_eq!(balanced(&workload("nehalem-2x4", &home), 100).unwrap().len(), 70);
    assert_eq!(balanced(&workload("nehalem-2x4", &eight), 100).unwrap().len(), 35);
    let error = balanced(&workload("nehalem-2x4", &home), 69).unwrap_err().to_string();
    assert!(error.starts_with("more than 69 assignments"), "{error}");
    let sixteen: Vec<String> =
        (0..16).map(|i| format!("\"{}\"\nmemory_node = {}", eight[i % 8].trim_matches('"'), i / 8)).collect();
    let sixteen: Vec<&str> = sixteen.iter().map(String::as_str).collect();
    assert!(balanced(&workload("barcelona-4x4", &sixteen), 100).is_err());
}

/// Four clones with their home on node 0: zero to four of them run there, five mappings. Without a
/// home: 4 + 0, 3 + 1, 2 + 2.
#[test]
fn mappings_of_clones_are_numbers() {
    let all = mappings(&workload("nehalem-2x4", &["\"soplex\"\nmemory_node = 0\ncount = 4"]), 100).unwrap();
    let mut here: Vec<_> = all.iter().map(|one| one.llcs.iter().filter(|llcs| llcs[0].0 == 0).count()).collect();
    here.sort_unstable();
    assert_eq!(here, [0, 1, 2, 3, 4]);
    let shares: f64 = all.iter().map(|one| one.share).sum();
    assert!((shares - 1.0).abs() < 1e-12);
    assert_eq!(mappings(&workload("nehalem-2x4", &["\"soplex\"\ncount = 4"]), 100).unwrap().len(), 3);
    // At most four fit on a node.
    let five = mappings(&workload("nehalem-2x4", &["\"soplex\"\ncount = 5"]), 100).unwrap();
    assert_eq!(five.len(), 2);
}

#[test]
fn threads_of_a_program_are_split_and_pins_are_kept() {
    let all = balanced(&workload("nehalem-2x4", &["\"mysqld\"\nthreads = 4"]), 100).unwrap();
    assert_eq!((all.len(), all[0].llcs[0].len()), (1, 4));
    let pinned = ["\"mcf\"\ncpu = 0", "\"milc\"", "\"milc\"\nstart_node = 0"];
    for one in mappings(&workload("nehalem-2x4", &pinned), 100).unwrap() {
        assert_eq!((one.llcs[0][0].0, one.llcs[2][0].0), (0, 0));
    }
    for one in balanced(&workload("nehalem-2x4", &pinned), 100).unwrap() {
        assert_eq!(one.llcs[1][0].0, 1, "node 0 has two already");
    }
}

#[test]
fn many_threads_are_refused_before_anything_is_listed() {
    let copies = |count: u32| workload("nehalem-2x4", &[&format!("\"mcf\"\ncount = {count}")]);
    assert_eq!(balanced(&copies(64), 100).unwrap().len(), 1);
    for listed in [balanced(&copies(65), 100), mappings(&copies(65), 100)] {
        let error = listed.unwrap_err().to_string();
        assert!(
            error.starts_with("65 threads are too many to try all their assignments to CPUs: at most 64"),
            "{error}"
        );
    }
}
