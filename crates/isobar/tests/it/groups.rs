//! Selects services, containers, pods and virtual machines by name, on the shipped workload that
//! has one of each.

use crate::support::isobar;
use crate::support::processes::Kept;

const GROUPS: &str = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/groups.toml");

#[test]
fn top_shows_one_entry_a_group() {
    let document = isobar(&["top", "--machine", GROUPS, "--once", "--json", "--by", "group", "--for", "3"]).document();
    let programs = document["programs"].as_array().unwrap();
    let mut shown: Vec<(&str, u64)> =
        programs.iter().map(|one| (one["name"].as_str().unwrap(), one["processes"].as_u64().unwrap())).collect();
    shown.sort_unstable();
    let expected = [
        ("docker:search", 1),
        ("domain:web", 1),
        ("namd", 1),
        ("pod:shop/cart-7d4b", 2),
        ("unit:nightly.service", 2),
        ("unit:redis.service", 2),
    ];
    assert_eq!(shown, expected);
    let frame = isobar(&["top", "--machine", GROUPS, "--once", "--by", "group", "--size", "140x40"]).done().to_owned();
    assert!(frame.contains("pod:shop/cart-7d4b") && frame.contains("t by group"), "{frame}");
}

/// The number of threads that a selector makes managed.
fn managed(only: &str) -> usize {
    managed_by(&["--policy", "isobar", "--machine", GROUPS, "--only", only])
}

/// The number of threads that arguments of `manage` make managed.
fn managed_by(args: &[&str]) -> usize {
    let said = isobar(&[&["manage", "--dry-run", "--for", "1", "--json"], args].concat());
    let first: serde_json::Value = serde_json::from_str(said.done().lines().next().unwrap()).unwrap();
    usize::try_from(first["managed"]["threads"].as_u64().unwrap()).unwrap()
}

#[test]
fn only_takes_groups_by_name() {
    for (only, threads) in [
        ("unit:redis.service", 2),
        ("unit:redis", 2),
        ("slice:batch", 2),
        ("docker:search", 1),
        ("container:3f2a51b0", 1),
        ("pod:shop/*", 2),
        ("qos:burstable", 2),
        ("vm:web", 2),
        ("/system.slice", 3),
        ("unit:nothing", 0),
        ("namd", 1),
    ] {
        assert_eq!(managed(only), threads, "{only}");
    }
}

#[test]
fn a_tree_is_a_process_and_what_it_started() {
    let shell = Kept::start("sh", &["-c", "sh -c 'sleep 20; true' & wait"]);
    for (only, threads) in [(shell.pid(), 1), (format!("tree:{}", shell.pid()), 3)] {
        let args = ["--policy", "linux", "--only", &only, "--set", "manage.min_cpu_percent=0", "--interval", "0.3"];
        assert_eq!(managed_by(&args), threads, "{only}");
    }
}

#[test]
fn an_unknown_kind_is_one_line_that_names_the_kinds() {
    let words = ["`untt:redis`", "expected one of unit, slice, container", "domain, vm"];
    isobar(&["manage", "--policy", "isobar", "--only", "untt:redis"]).refused(&words);
    isobar(&["manage", "--policy", "isobar", "--machine", GROUPS, "--set", "isobar.protect=[\"untt:redis\"]"])
        .refused(&["isobar.protect", "`untt:redis`", "expected one of unit"]);
}
