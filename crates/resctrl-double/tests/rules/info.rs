//! Which files exist, with which modes, and what `info` shows (fs/resctrl/rdtgroup.c:
//! res_common_files, rdtgroup_create_info_dir).

use isobar_resctrl_double::{Entry, Errno, Node, Operation};

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
    let control = ["mode", "mon_data", "mon_groups", "schemata", "tasks"];
    assert_eq!(names(&double, "a"), control);
    assert_eq!(names(&double, "a/mon_groups/m"), ["mon_data", "tasks"]);
    let mut root: Vec<&str> = control.into_iter().chain(["a", "b", "info"]).collect();
    root.sort_unstable();
    assert_eq!(names(&double, ""), root);
    assert_eq!(names(&double, "info"), ["L3", "L3_MON", "MB", "last_cmd_status"]);
    assert_eq!(
        names(&double, "info/L3"),
        ["cbm_mask", "min_cbm_bits", "num_closids", "shareable_bits", "sparse_masks"]
    );
    assert_eq!(
        names(&double, "info/MB"),
        ["bandwidth_gran", "delay_linear", "min_bandwidth", "num_closids", "thread_throttle_mode"]
    );
    assert_eq!(names(&double, "info/L3_MON"), ["mon_features", "num_rmids"]);
    assert_eq!(names(&double, "a/mon_data"), ["mon_L3_00", "mon_L3_03"]);
    assert_eq!(names(&double, "mon_data/mon_L3_03"), ["mbm_total_bytes"]);
}

#[test]
fn every_path_leads_to_its_node_and_every_file_can_be_read() {
    let mut double = Double::with_groups();
    let mut paths = Vec::new();
    tree(&double, Node::ROOT, &mut paths);
    assert!(paths.len() > 40);
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
    let writable = ["mode", "schemata", "tasks"];
    let mut double = Double::with_groups();
    let mut paths = Vec::new();
    tree(&double, Node::ROOT, &mut paths);
    for path in paths.iter().filter(|path| !double.node(path).is_folder()) {
        let name = path.rsplit('/').next().unwrap();
        let expected = if writable.contains(&name) { 0o644 } else { 0o444 };
        assert_eq!(double.node(path).mode(), expected, "{path}");
    }
    for path in ["info/last_cmd_status", "info/L3/cbm_mask", "mon_data/mon_L3_00/mbm_total_bytes"] {
        assert_eq!(double.write(path, "1\n"), Err(Errno::INVAL), "{path}");
    }
}

#[test]
fn info_tells_the_hardware() {
    let mut double = Double::usual();
    for (path, text) in [
        ("info/L3/cbm_mask", "7ff\n"),
        ("info/L3/min_cbm_bits", "1\n"),
        ("info/L3/shareable_bits", "0\n"),
        ("info/L3/sparse_masks", "0\n"),
        ("info/L3/num_closids", "16\n"),
        ("info/MB/num_closids", "8\n"),
        ("info/MB/min_bandwidth", "10\n"),
        ("info/MB/bandwidth_gran", "10\n"),
        ("info/MB/delay_linear", "1\n"),
        ("info/MB/thread_throttle_mode", "max\n"),
        ("info/L3_MON/num_rmids", "64\n"),
        ("info/L3_MON/mon_features", "mbm_total_bytes\n"),
        ("info/last_cmd_status", "ok\n"),
    ] {
        assert_eq!(double.read(path), text, "{path}");
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
    let _ = double.rmdir("info");
    let asked: Vec<_> = double.state.journal()[before..].iter().collect();
    let said = |entry: &Entry| (entry.operation, entry.path.clone(), entry.result, entry.status.clone());
    assert_eq!(
        asked.into_iter().map(said).collect::<Vec<_>>(),
        [
            (Operation::Write, "a/schemata".to_owned(), Err(Errno::INVAL), "Mask out of range".to_owned()),
            (Operation::Rmdir, "info".to_owned(), Err(Errno::PERM), "Mask out of range".to_owned()),
        ]
    );
}
