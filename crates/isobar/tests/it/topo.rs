//! `isobar topo` on this machine and on a tree that the test writes.

use crate::support::{isobar, run};
use std::path::Path;

/// Two nodes of one CPU each, each with an L3 of its own.
fn write_tree(root: &Path) {
    let put = |path: &str, text: &str| {
        let path = root.join("sys/devices/system").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("cpu/online", "0-1\n");
    put("cpu/possible", "0-1\n");
    put("cpu/present", "0-1\n");
    put("node/online", "0-1\n");
    for id in 0..2 {
        put(&format!("node/node{id}/cpulist"), &format!("{id}\n"));
        put(&format!("node/node{id}/distance"), if id == 0 { "10 21\n" } else { "21 10\n" });
        put(&format!("node/node{id}/meminfo"), &format!("Node {id} MemTotal:       1048576 kB\n"));
        put(&format!("cpu/cpu{id}/topology/core_id"), &format!("{id}\n"));
        put(&format!("cpu/cpu{id}/topology/physical_package_id"), &format!("{id}\n"));
        put(&format!("cpu/cpu{id}/topology/thread_siblings_list"), &format!("{id}\n"));
        let cache = format!("cpu/cpu{id}/cache/index3");
        put(&format!("{cache}/level"), "3\n");
        put(&format!("{cache}/type"), "Unified\n");
        put(&format!("{cache}/size"), "8192K\n");
        put(&format!("{cache}/ways_of_associativity"), "16\n");
        put(&format!("{cache}/shared_cpu_list"), &format!("{id}\n"));
        put(&format!("{cache}/id"), &format!("{id}\n"));
    }
}

#[test]
fn a_captured_tree_is_told_by_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    write_tree(folder.path());
    let root = folder.path().to_str().unwrap();
    let machine = isobar(&["topo", "--root", root, "--json"]).document();
    assert_eq!(machine["distances"], serde_json::json!([[10, 21], [21, 10]]));
    assert_eq!(machine["nodes"][1]["cpus"], serde_json::json!([1]));
    assert_eq!(machine["nodes"][1]["memory_bytes"], 1u64 << 30);
    assert_eq!(machine["llcs"][0]["size_bytes"], 8 << 20);
    assert_eq!(machine["cpus"][1]["llc"], 1);
    let drawn = isobar(&["topo", "--root", root]).done().to_owned();
    assert!(drawn.contains("node 1") && drawn.contains("21"), "{drawn}");
}

#[test]
fn this_machine_is_drawn_and_told() {
    let machine = run("topo --json").document();
    let online = std::thread::available_parallelism().unwrap().get();
    assert!(machine["cpus"].as_array().unwrap().len() >= online, "{machine}");
    assert!(run("topo").done().contains("CPU"));
}
