//! CPU lists and masks. Accepted text is printed and read back as the same set; a list and a mask
//! of the same set agree.

use crate::check::found;
use isobar_linux::kernel::parse;
use isobar_model::{CpuId, CpuSet};

/// Checks one input.
pub fn run(text: &str) {
    if let Some(set) = found(text.parse::<CpuSet>().ok()) {
        assert_eq!(set.to_string().parse::<CpuSet>().as_ref(), Ok(&set), "the printed list is another set");
        check_members(&set);
    }
    if let Some(set) = found(parse::cpu_mask(text)) {
        assert_eq!(parse::cpu_list(&set.to_string()).as_ref(), Some(&set), "list and mask differ");
        assert_eq!(parse::cpu_mask(&mask(&set)), Some(set), "the printed mask is another set");
    }
    if let Some(nodes) = found(parse::node_list(text)) {
        assert!(nodes.is_sorted_by(|a, b| a < b), "nodes are not ascending");
    }
}

fn check_members(set: &CpuSet) {
    let ids: Vec<CpuId> = set.iter().collect();
    assert_eq!(ids.len(), set.len());
    assert_eq!(ids.is_empty(), set.is_empty());
    assert!(ids.is_sorted_by(|a, b| a < b), "members are not ascending");
    assert_eq!(&ids.iter().copied().collect::<CpuSet>(), set);
    let Some(&last) = ids.last() else { return };
    assert!(set.contains(last));
    let mut less = set.clone();
    assert!(less.remove(last) && !less.contains(last) && less.is_subset(set));
    assert!(less.insert(last) && &less == set);
}

/// The kernel's mask text: groups of 32 bits, the highest first.
fn mask(set: &CpuSet) -> String {
    let groups = set.iter().last().map_or(1, |last| last.0 / 32 + 1);
    let mut bits = vec![0u32; usize::try_from(groups).unwrap_or(1)];
    for cpu in set.iter() {
        bits[usize::try_from(cpu.0 / 32).unwrap_or(0)] |= 1 << (cpu.0 % 32);
    }
    bits.iter().rev().map(|bits| format!("{bits:08x}")).collect::<Vec<_>>().join(",")
}
