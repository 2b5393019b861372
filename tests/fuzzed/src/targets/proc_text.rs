//! The text of `/proc` files, and of the node files. Every parser is given every input, because all
//! of these files have lines that look alike. What is printable is printed and read back; sums do
//! not overflow and shares stay within the whole.

use crate::check::found;
use isobar_linux::actuators::pages::mappings::{pages_on, parse_maps};
use isobar_linux::kernel::{capability, cgroup, cpu_model, numa_maps, parse, stat};
use isobar_model::NodeId;

/// Checks one input.
pub fn run(bytes: &[u8]) {
    check_stat(bytes);
    check_numa_maps(bytes);
    let text = String::from_utf8_lossy(bytes);
    check_maps(&text);
    check_cgroup(&text);
    let _ = (parse::meminfo(&text, "MemFree:"), capability::effective(&text), cpu_model::parse(&text));
}

fn check_stat(line: &[u8]) {
    if let Some((stat, name)) = found(stat::parse(line)) {
        assert!(name.len() < line.len());
        let _ = (stat.kernel, stat.has_ended());
    }
    if let Some(number) = stat::number(line) {
        let digits = String::from_utf8_lossy(line);
        assert_eq!(digits.trim_start_matches('0'), number.to_string().trim_start_matches('0'));
    }
}

fn check_numa_maps(text: &[u8]) {
    let Some(mappings) = found(numa_maps::parse(text)) else { return };
    for mapping in &mappings {
        let printed = mapping.to_string();
        let again = numa_maps::parse(printed.as_bytes()).unwrap_or_else(|| panic!("{printed}"));
        assert_eq!(again, std::slice::from_ref(mapping), "the printed mapping is another");
    }
    let total = numa_maps::total(&mappings, 4);
    for mapping in &mappings {
        for (node, pages) in mapping.base_pages(4) {
            assert!(total.get(node).is_some_and(|sum| *sum >= pages), "the sum of node {node} is less than a part");
        }
    }
    let _ = numa_maps::total(&mappings, 0);
}

fn check_maps(text: &str) {
    for page_size in [4096, 65_536] {
        let maps = parse_maps(text, page_size);
        assert!(maps.is_sorted_by(|a, b| a.pages.end <= b.pages.start), "mappings overlap");
        assert!(maps.iter().all(|mapping| !mapping.pages.is_empty()));
        assert!(pages_on(text, NodeId(0), page_size).values().all(|pages| *pages > 0));
    }
}

/// Takes the first line as `/proc/PID/cgroup`, and the rest as the mount table.
fn check_cgroup(text: &str) {
    let (cgroup, mounts) = text.split_once('\n').unwrap_or((text, text));
    let Some(hierarchy) = found(cgroup::hierarchy(mounts)) else { return };
    assert!(matches!(hierarchy.version, 1 | 2));
    if let Some(path) = cgroup::path_in(&hierarchy, cgroup) {
        assert!(cgroup.contains(path));
    }
}
