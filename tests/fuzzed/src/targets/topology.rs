//! The text of sysfs files: each parser alone, and all of them together as a machine. An input is a
//! list of files, `PATH=TEXT`, separated by `;`. They become an archive in memory, so any set of
//! files is tried, including impossible ones. An accepted machine survives the round trip through
//! its document.

use crate::check::{accepted, archive};
use isobar_linux::kernel::parse;
use isobar_linux::topology;
use isobar_linux::tree::Tree;
use isobar_model::wire::machine_to_doc;
use isobar_model::{CpuId, Topology};
use std::path::Path;

/// Checks one input.
pub fn run(text: &str) {
    check_parsers(text);
    let Ok(tree) = Tree::from_archive_bytes(Path::new("input"), &archive(text, place)) else { return };
    accepted(topology::read(&tree)).iter().for_each(check_machine);
}

fn check_parsers(text: &str) {
    if let Some(size) = parse::cache_size(text) {
        assert_eq!(parse::cache_size(&size.0.to_string()), Some(size));
    }
    if let Some(mask) = parse::bit_mask(text) {
        assert_eq!(parse::bit_mask(&format!("{mask:#x}")), Some(mask));
    }
    if let Some(row) = parse::distances(text) {
        assert_eq!(row.len(), text.split_whitespace().count());
    }
    if let Some(number) = parse::numbered(text, "cpu") {
        assert!(text.ends_with(&number.to_string()));
    }
    let _ = (parse::meminfo(text, "MemTotal:"), parse::decimal(text));
}

/// Paths are below `sys/devices/system/`, except those that start with `/`.
fn place(path: &str) -> String {
    path.strip_prefix('/').map_or_else(|| format!("sys/devices/system/{path}"), str::to_owned)
}

fn check_machine(machine: &Topology) {
    let doc = machine_to_doc(machine, None);
    let printed = serde_json::to_string(&doc).unwrap_or_else(|error| panic!("{error}"));
    let again: isobar_model::wire::MachineDoc =
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let again = again.to_topology().unwrap_or_else(|error| panic!("{error}: {printed}"));
    assert_eq!(&again, machine, "the printed machine is another: {printed}");
    let cpus: Vec<CpuId> = machine.cpus().iter().map(|cpu| cpu.id).collect();
    assert!(!cpus.is_empty(), "a machine without a CPU");
    for llc in machine.llcs() {
        let sharing = machine.cpus_of_llc(llc.id);
        assert!(sharing.is_some_and(|set| set.iter().all(|cpu| cpus.contains(&cpu))), "llc {} of no CPU", llc.id);
    }
}
