//! Reads the mappings of a process: `/proc/PID/maps` for where they are, `/proc/PID/numa_maps` for
//! how many of their pages are on which node (`proc_pid_maps(5)`,
//! `Documentation/filesystems/proc.rst`).
//!
//! Only what the choice of pages needs is read. Lines that do not parse are left out: the files
//! change while they are read, and no line can make another wrong. Two kinds of mappings are left
//! out, too: pages that the kernel made itself (`[vdso]`, `[vvar]`, ...), and mappings without any
//! access right (reserved address space).

use super::map_line::{MapLine, in_order};
use super::numa_maps;
use super::page_range::PageRange;
use isobar_model::NodeId;
use std::collections::BTreeMap;

/// A mapping of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its pages.
    pub pages: PageRange,
    /// Whether no file backs it. Such mappings hold the data of a program: heap, stacks, large
    /// arrays.
    pub anonymous: bool,
}

/// Reads `maps`, with pages of `page_size` bytes. The result is ascending, as the kernel writes it;
/// a line out of order is left out.
#[must_use]
pub fn parse_maps(text: &str, page_size: u64) -> Vec<Mapping> {
    let movable = in_order(text).filter(|line| !line.is_reserved() && !line.is_kernels());
    let mapping = |line: MapLine<'_>| Mapping { pages: line.pages(page_size), anonymous: line.is_anonymous() };
    movable.map(mapping).filter(|mapping| !mapping.pages.is_empty()).collect()
}

/// The number of base pages that each mapping has on a node, by first page, from `numa_maps`.
/// Mappings without pages there are left out.
#[must_use]
pub fn pages_on(numa_maps: &str, node: NodeId, page_size: u64) -> BTreeMap<u64, u64> {
    let on_node = |mapping: numa_maps::Mapping| {
        let (_, pages) = mapping.base_pages(page_size / 1024).find(|(other, _)| *other == node)?;
        (pages.0 > 0).then_some((mapping.start / page_size, pages.0))
    };
    numa_maps::lines(numa_maps.as_bytes()).flatten().filter_map(on_node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAPS: &str = "\
555555554000-555555556000 r-xp 00000000 08:01 131   /usr/bin/some name
555555600000-555555700000 rw-p 00000000 00:00 0     [heap]
7f0000000000-7f0000100000 ---p 00000000 00:00 0
7ffff7fc1000-7ffff7fc5000 r--p 00000000 00:00 0     [vvar]
7ffff7fc5000-7ffff7fc7000 r-xp 00000000 00:00 0     [vdso]
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0     [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
";

    #[test]
    fn what_can_move_is_kept() {
        let mappings = parse_maps(MAPS, 4096);
        let brief: Vec<_> = mappings.iter().map(|m| (m.pages.len(), m.anonymous)).collect();
        // 0x2000 / 4096 = 2, 0x100000 / 4096 = 256, 0x21000 / 4096 = 33
        assert_eq!(brief, [(2, false), (256, true), (33, true)]);
        assert_eq!(mappings[1].pages.start, 0x5_5555_5600);
    }

    #[test]
    fn pages_by_node_are_base_pages() {
        let text = "7f0000000000 default anon=9 dirty=9 N0=7 N1=2 kernelpagesize_kB=4\n\
                    7f1000000000 default file=/huge huge anon=3 N1=3 kernelpagesize_kB=2048\n\
                    7f2000000000 default stack:N1=5 anon=1 N10=1 kernelpagesize_kB=4\n\
                    garbage\n";
        let on_1 = pages_on(text, NodeId(1), 4096);
        assert_eq!(on_1, BTreeMap::from([(0x7_f000_0000, 2), (0x7_f100_0000, 3 * 512)]));
        assert_eq!(pages_on(text, NodeId(10), 4096).len(), 1);
    }

    #[test]
    fn our_own_files_are_read() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let here = std::ptr::from_ref(&maps).addr() as u64 / procfs::page_size();
        let mappings = parse_maps(&maps, procfs::page_size());
        assert!(mappings.iter().any(|m| m.anonymous && m.pages.contains(here)), "our own stack");
    }

    proptest! {
        #[test]
        fn lines_round_trip(pairs in prop::collection::vec((1u64..1000, 1u64..1000, any::<bool>()), 0..20)) {
            let mut at = 16;
            let mut made = Vec::new();
            let mut text = String::new();
            for (gap, len, anonymous) in pairs {
                let pages = PageRange { start: at + gap, end: at + gap + len };
                at = pages.end;
                let inode = u64::from(!anonymous) * 77;
                text += &format!("{:x}-{:x} rw-p 00000000 00:00 {inode} \n", pages.start * 4096, pages.end * 4096);
                made.push(Mapping { pages, anonymous });
            }
            prop_assert_eq!(parse_maps(&text, 4096), made);
        }

    }
}
