//! Which structure a page belongs to. Regions come in the order in which they were created; if two
//! overlap, the later one covers the earlier one.

use crate::trace::{Region, RegionKind};
use crate::usage::Page;
use isobar_model::num;
use std::collections::BTreeMap;

/// Something that pages belong to: a matrix, a heap, the stack of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Name for people, unique within the profile: `stack of T1`, `heap`, `matrix_b`, `libc.so.6`.
    pub name: String,
    /// `file:line` where the structure is defined or allocated, if known.
    pub line: Option<String>,
    /// How to find the structure in another run, which has other addresses; `None` for an imported
    /// profile.
    pub region: Option<Region>,
}

/// The structure of pages outside all regions.
const UNKNOWN: &str = "unknown";

/// The address space: which region lies where.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    regions: Vec<Region>,
    /// Start, end and region of parts that do not overlap.
    parts: BTreeMap<u64, (u64, usize)>,
}

impl Space {
    /// Adds a new region, which covers earlier ones.
    pub(super) fn cover(&mut self, region: Region) {
        let (start, end) = (region.start, region.end);
        let inside = |from: u64, until: u64| from < end && until > start;
        let overlapping: Vec<_> = self
            .parts
            .range(..end)
            .rev()
            .take_while(|(_, (until, _))| *until > start)
            .map(|(from, (until, region))| (*from, *until, *region))
            .collect();
        for (from, until, region) in overlapping.into_iter().filter(|(from, until, _)| inside(*from, *until)) {
            self.parts.remove(&from);
            if from < start {
                self.parts.insert(from, (start, region));
            }
            if until > end {
                self.parts.insert(end, (until, region));
            }
        }
        self.parts.insert(start, (end, self.regions.len()));
        self.regions.push(region);
    }

    /// The region that holds the most bytes from `start` to `end`; the first of several equal ones.
    fn most(&self, start: u64, end: u64) -> Option<usize> {
        let mut bytes: Vec<(usize, u64)> = Vec::new();
        for (from, (until, region)) in self.parts.range(..end).rev().take_while(|(_, (until, _))| *until > start) {
            let here = (*until).min(end) - (*from).max(start);
            match bytes.iter_mut().find(|(known, _)| known == region) {
                Some((_, sum)) => *sum += here,
                None => bytes.push((*region, here)),
            }
        }
        bytes.into_iter().max_by_key(|(region, bytes)| (*bytes, std::cmp::Reverse(*region))).map(|(region, _)| region)
    }

    /// The structures, in the order of first touch, and for each page the structure that it belongs
    /// to.
    pub(super) fn structures(&self, pages: &[Page], page_bytes: u64) -> (Vec<Structure>, Vec<u32>) {
        let (mut structures, mut known) = (Vec::new(), BTreeMap::new());
        let mut of = |page: &Page| {
            let start = page.number.saturating_mul(page_bytes);
            let region = self.most(start, start.saturating_add(page_bytes)).and_then(|at| self.regions.get(at));
            let name = region.map_or_else(|| UNKNOWN.to_owned(), name);
            *known.entry(name.clone()).or_insert_with(|| {
                structures.push(Structure { name, line: region.and_then(line), region: region.cloned() });
                num::narrow(structures.len() - 1)
            })
        };
        let of_pages = pages.iter().map(&mut of).collect();
        (structures, of_pages)
    }
}

/// The name of a region for people. Regions with the same name are one structure, for example the
/// parts of a file.
fn name(region: &Region) -> String {
    match &region.kind {
        RegionKind::Stack(thread) => format!("stack of T{thread}"),
        RegionKind::Heap => "heap".to_owned(),
        RegionKind::File { path, .. } => path.rsplit('/').next().unwrap_or(path).to_owned(),
        RegionKind::Anonymous { order } => format!("anonymous {order}"),
        RegionKind::Named { name, .. } => name.clone(),
    }
}

fn line(region: &Region) -> Option<String> {
    match &region.kind {
        RegionKind::Named { line, .. } => line.clone(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(regions: &[(u64, u64, RegionKind)]) -> Space {
        let mut space = Space::default();
        for (start, end, kind) in regions {
            space.cover(Region { start: *start, end: *end, kind: kind.clone() });
        }
        space
    }

    fn named(name: &str) -> RegionKind {
        RegionKind::Named { name: name.to_owned(), line: Some("matrix.c:7".to_owned()) }
    }

    #[test]
    fn a_later_region_covers_an_earlier_one_and_most_bytes_decide() {
        let file = RegionKind::File { path: "/usr/bin/matrix".to_owned(), offset: 0 };
        // The file spans pages 1 to 9. In it, A spans the middle of page 2 to a quarter of page 4,
        // then B follows up to page 6.
        let space = space(&[
            (0x1000, 0x9000, file),
            (0x2800, 0x4400, named("A")),
            (0x4400, 0x6000, named("B")),
            (0x10_000, 0x12_000, RegionKind::Stack(2)),
        ]);
        let pages: Vec<Page> = [16, 1, 2, 3, 4, 5, 8, 30].map(|number| Page { number, first: 0 }).to_vec();
        let (structures, of) = space.structures(&pages, 4096);
        let names: Vec<&str> = structures.iter().map(|structure| structure.name.as_str()).collect();
        assert_eq!(names, ["stack of T2", "matrix", "A", "B", "unknown"]);
        // Half of page 2 belongs to the file: the earlier of two equals.
        assert_eq!(of, [0, 1, 1, 2, 3, 3, 1, 4]);
        assert_eq!(structures[2].line.as_deref(), Some("matrix.c:7"));
        assert_eq!(structures[4].region, None);
    }

    #[test]
    fn a_region_within_another_leaves_both_its_ends() {
        let space = space(&[(0x1000, 0x4000, RegionKind::Heap), (0x2000, 0x3000, named("x"))]);
        assert_eq!([1, 2, 3].map(|page| space.most(page << 12, (page + 1) << 12)), [Some(0), Some(1), Some(0)]);
        assert_eq!(space.most(0x4000, 0x5000), None);
    }
}
