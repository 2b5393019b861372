//! Finds the parts of a process that are in huge pages, mapping by mapping, from `/proc/PID/smaps`
//! (`proc_pid_smaps(5)`). A huge page moves as a whole.

use super::identity;
use super::map_line::MapLine;
use super::page_range::PageRange;
use super::parse::{decimal, kibibytes};
use isobar_model::Pid;
use std::fs;
use std::path::PathBuf;

/// The size of a transparent huge page.
const TRANSPARENT: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";

/// A mapping with huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Huge {
    /// Its base pages.
    pub pages: PageRange,
    /// Base pages in one of its huge pages.
    pub each: u64,
}

impl Huge {
    /// The first page of the huge page that a page may be part of; `None` if that huge page does
    /// not lie within the mapping as a whole.
    #[must_use]
    pub fn first_of(&self, page: u64) -> Option<u64> {
        let first = page - page % self.each;
        (self.pages.start <= first && first + self.each <= self.pages.end).then_some(first)
    }
}

/// The mappings of a process that have huge pages, ascending; empty if they cannot be read.
#[must_use]
pub fn of(pid: Pid) -> Vec<Huge> {
    let text = identity::read_live(&PathBuf::from(format!("/proc/{pid}/smaps"))).ok().flatten().unwrap_or_default();
    let transparent = fs::read_to_string(TRANSPARENT).ok().and_then(|text| decimal(&text)).unwrap_or(2 << 20);
    parse(&String::from_utf8_lossy(&text), procfs::page_size(), transparent)
}

fn parse(smaps: &str, page_size: u64, transparent: u64) -> Vec<Huge> {
    let mut found: Vec<Huge> = Vec::new();
    let mut at = PageRange { start: 0, end: 0 };
    for line in smaps.lines() {
        if let Some(mapping) = MapLine::parse(line) {
            at = mapping.pages(page_size);
            continue;
        }
        let each = match line.split_once(':') {
            Some(("KernelPageSize", size)) => kibibytes(size).map(|bytes| bytes.0).filter(|bytes| *bytes > page_size),
            Some(("AnonHugePages", size)) => kibibytes(size).filter(|bytes| bytes.0 > 0).map(|_| transparent),
            _ => None,
        };
        let each = each.map(|bytes| bytes / page_size).filter(|each| *each > 1);
        let known = found.last().is_some_and(|last| last.pages == at);
        found.extend(each.filter(|_| !known).map(|each| Huge { pages: at, each }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f0000000000-7f0000600000 rw-p 00000000 00:00 0
Size:               6144 kB
KernelPageSize:        4 kB
MMUPageSize:           4 kB
AnonHugePages:      2048 kB
7f1000000000-7f1000001000 rw-p 00000000 00:00 0
KernelPageSize:        4 kB
AnonHugePages:         0 kB
7f2000000000-7f2000400000 rw-p 00000000 00:0f 5 /anon_hugepage (deleted)
KernelPageSize:     2048 kB
AnonHugePages:         0 kB
";

    #[test]
    fn transparent_and_explicit_huge_pages_are_found() {
        let found = parse(SMAPS, 4096, 2 << 20);
        let brief: Vec<_> = found.iter().map(|huge| (huge.pages.start, huge.pages.len(), huge.each)).collect();
        assert_eq!(brief, [(0x7_f000_0000, 1536, 512), (0x7_f200_0000, 1024, 512)]);
    }

    #[test]
    fn a_huge_page_lies_within_its_mapping() {
        let huge = Huge { pages: PageRange { start: 500, end: 1600 }, each: 512 };
        assert_eq!(
            [511, 512, 1023, 1024, 1540].map(|page| huge.first_of(page)),
            [None, Some(512), Some(512), Some(1024), None]
        );
    }
}
