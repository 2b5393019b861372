//! Which files there are, what `info` says, and with which modes (fs/resctrl/rdtgroup.c:
//! res_common_files, rdtgroup_create_info_dir).

use isobar_resctrl_double::{Cdp, Errno, Kernel, Machine, Node};

use crate::Double;

/// Every path below a folder.
fn tree(double: &Double, folder: Node, found: &mut Vec<String>) {
    for (_, node) in double.state.children(folder) {
        found.push(double.state.path(node));
        tree(double, node, found);
    }
}

fn names(double: &Double, folder: &str) -> Vec<String> {
    let mut names: Vec<String> = double.state.children(double.node(folder)).into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

#[test]
fn the_tree_is_the_kernels() {
    let double = Double::with_groups();
    let control = ["cpus", "cpus_list", "mode", "mon_data", "mon_groups", "schemata", "size", "tasks"];
    assert_eq!(names(&double, "a"), control);
    assert_eq!(names(&double, "a/mon_groups/m"), ["cpus", "cpus_list", "mon_data", "tasks"]);
    let mut root: Vec<&str> = control.into_iter().chain(["a", "b", "info"]).collect();
    root.sort_unstable();
    assert_eq!(names(&double, ""), root);
    assert_eq!(names(&double, "info"), ["L3", "L3_MON", "MB", "last_cmd_status"]);
    assert_eq!(
        names(&double, "info/L3"),
        ["bit_usage", "cbm_mask", "min_cbm_bits", "num_closids", "shareable_bits", "sparse_masks"]
    );
    assert_eq!(
        names(&double, "info/MB"),
        ["bandwidth_gran", "delay_linear", "min_bandwidth", "num_closids", "thread_throttle_mode"]
    );
    assert_eq!(names(&double, "info/L3_MON"), ["max_threshold_occupancy", "mon_features", "num_rmids"]);
    assert_eq!(names(&double, "a/mon_data"), ["mon_L3_00", "mon_L3_03"]);
    assert_eq!(names(&double, "mon_data/mon_L3_03"), ["llc_occupancy", "mbm_local_bytes", "mbm_total_bytes"]);
}

#[test]
fn every_path_leads_to_its_node_and_every_file_can_be_read() {
    let mut double = Double::with_groups();
    let mut paths = Vec::new();
    tree(&double, Node::ROOT, &mut paths);
    assert!(paths.len() > 70);
    for path in paths {
        let node = double.node(&path);
        assert_eq!(double.state.path(node), path);
        match node.is_folder() {
            true => assert_eq!((double.state.read(node), node.mode()), (Err(Errno::ISDIR), 0o755), "{path}"),
            false => assert!(double.state.read(node).is_ok(), "{path}"),
        }
    }
}

#[test]
fn what_may_be_written_has_the_bit() {
    let writable = ["cpus", "cpus_list", "max_threshold_occupancy", "mode", "schemata", "tasks"];
    let mut double = Double::with_groups();
    let mut paths = Vec::new();
    tree(&double, Node::ROOT, &mut paths);
    for path in paths.iter().filter(|path| !double.node(path).is_folder()) {
        let name = path.rsplit('/').next().unwrap();
        let expected = if writable.contains(&name) { 0o644 } else { 0o444 };
        assert_eq!(double.node(path).mode(), expected, "{path}");
    }
    for path in ["size", "info/last_cmd_status", "info/L3/cbm_mask", "mon_data/mon_L3_00/llc_occupancy"] {
        assert_eq!(double.write(path, "1\n"), Err(Errno::INVAL), "{path}");
    }
}

#[test]
fn info_tells_the_hardware() {
    let mut machine = Machine::with_domains(&[(0, &[0]), (1, &[1])]).with_bandwidth();
    let cache = &mut machine.caches[0];
    (cache.ways, cache.min_bits, cache.shareable, cache.sparse, cache.cdp) = (20, 2, 0xc0000, true, Cdp::Absent);
    let mut double = Double::of(machine);
    for (path, text) in [
        ("info/L3/cbm_mask", "fffff\n"),
        ("info/L3/min_cbm_bits", "2\n"),
        ("info/L3/shareable_bits", "c0000\n"),
        ("info/L3/sparse_masks", "1\n"),
        ("info/L3/num_closids", "16\n"),
        ("info/MB/num_closids", "8\n"),
        ("info/MB/min_bandwidth", "10\n"),
        ("info/MB/bandwidth_gran", "10\n"),
        ("info/MB/delay_linear", "1\n"),
        ("info/MB/thread_throttle_mode", "max\n"),
        ("info/L3_MON/num_rmids", "64\n"),
        ("info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n"),
        ("info/last_cmd_status", "ok\n"),
        ("schemata", "MB:0=  100;1=  100\nL3:0=fffff;1=fffff\n"),
        ("cpus", "3\n"),
    ] {
        assert_eq!(double.read(path), text, "{path}");
    }
}

#[test]
fn old_kernels_have_fewer_files() {
    let rows = [
        ((4, 14), vec!["info/last_cmd_status", "mode", "size", "info/L3/bit_usage", "info/L3/sparse_masks"]),
        ((4, 15), vec!["mode", "size", "info/L3/bit_usage", "info/L3/sparse_masks"]),
        ((4, 19), vec!["info/L3/sparse_masks"]),
        ((6, 6), vec!["info/L3/sparse_masks"]),
        ((6, 7), vec![]),
    ];
    let all = ["info/last_cmd_status", "mode", "size", "info/L3/bit_usage", "info/L3/sparse_masks"];
    for ((major, minor), missing) in rows {
        let mut machine = Machine::with_domains(&[(0, &[0])]);
        machine.kernel = Kernel::of_version(major, minor);
        let double = Double::of(machine);
        let gone: Vec<&str> = all.into_iter().filter(|path| double.state.at(path).is_none()).collect();
        assert_eq!(gone, missing, "{major}.{minor}");
    }
}

#[test]
fn what_is_longer_than_a_page_is_refused() {
    let mut double = Double::usual();
    let page = format!("{}\n", "1,".repeat(2047)) + " ";
    assert_eq!(page.len(), 4096);
    assert_eq!(double.write("tasks", &page), Ok(()));
    assert_eq!(double.write("tasks", &(page + " ")), Err(Errno::TOOBIG));
}

#[test]
fn the_journal_has_everything_but_reads() {
    let mut double = Double::with_groups();
    let before = double.state.journal().len();
    double.read("schemata");
    let _ = double.write("a/schemata", "L3:0=0\n");
    let _ = double.rename("a", "c");
    let lines: Vec<String> = double.state.journal()[before..].iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            r#"write "a/schemata" "L3:0=0\n" EINVAL "Mask out of range""#,
            r#"rename "a" "c" EPERM "Source must be a MON group""#,
        ]
    );
}
