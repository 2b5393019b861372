//! The regions of the program's address space, derived from the system calls that create them.

use crate::orders::allocation;
use isobar_pages::trace::{Region, RegionKind};
use std::collections::BTreeMap;

/// System calls of x86-64 that matter (include/uapi/asm/unistd_64.h).
pub mod number {
    pub const MMAP: i64 = 9;
    pub const BRK: i64 = 12;
    pub const MREMAP: i64 = 25;
    pub const CLONE: i64 = 56;
    pub const FORK: i64 = 57;
    pub const VFORK: i64 = 58;
    pub const EXECVE: i64 = 59;
    pub const EXECVEAT: i64 = 322;
    /// Linux has no such call: `isobar-tracer-names` reports allocations with it (pointer, bytes,
    /// caller).
    pub const REPORT: i64 = 0x6973_6f62;
}

const MAP_ANONYMOUS: u64 = 0x20;
const PAGE: u64 = 4096;

/// A system call with its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: i64,
    /// Its first six arguments.
    pub arguments: [u64; 6],
}

/// The address space so far.
#[derive(Debug, Default)]
pub struct Space {
    /// Regions that have not been taken yet.
    fresh: Vec<Region>,
    /// Anonymous mappings by start, with their ends. Stacks of threads lie in them.
    anonymous: BTreeMap<u64, u64>,
    order: u32,
    /// Where the heap ends.
    heap: Option<u64>,
}

impl Space {
    /// The regions added since the last call.
    pub fn take(&mut self) -> Vec<Region> {
        std::mem::take(&mut self.fresh)
    }

    /// Adds a region.
    pub fn add(&mut self, start: u64, end: u64, kind: RegionKind) {
        if start < end {
            self.fresh.push(Region { start, end, kind });
        }
    }

    /// A call returned `result`; `path` gives the file of a descriptor.
    pub fn returned(&mut self, call: Call, result: i64, path: impl FnOnce(u64) -> Option<String>) {
        let Ok(result) = u64::try_from(result) else { return };
        let [_, length, new_length, flags, file, offset] = call.arguments;
        match call.number {
            number::MMAP => {
                let end = result.saturating_add(length.next_multiple_of(PAGE));
                let file = if flags & MAP_ANONYMOUS == 0 { path(file) } else { None };
                match file {
                    Some(path) => self.add(result, end, RegionKind::File { path, offset }),
                    None => self.map_anonymous(result, end),
                }
            }
            number::MREMAP => self.map_anonymous(result, result.saturating_add(new_length.next_multiple_of(PAGE))),
            number::BRK => {
                // Only the new part: allocations in the rest have names.
                let end = self.heap.replace(result).unwrap_or(result);
                self.add(end, result, RegionKind::Heap);
            }
            _ => {}
        }
    }

    /// The program has made a large allocation. Until the trace is completed, the allocation's name
    /// says which code made it. If the allocation is a mapping of its own, its region begins at the
    /// start of the page, before the allocator's bookkeeping.
    pub fn allocated(&mut self, call: Call) {
        let [start, length, caller, ..] = call.arguments;
        let page = start & !(PAGE - 1);
        let start = if self.anonymous.contains_key(&page) { page } else { start };
        let end = call.arguments[0].saturating_add(length);
        self.add(start, end, RegionKind::Named { name: allocation(caller), line: None });
    }

    fn map_anonymous(&mut self, start: u64, end: u64) {
        self.anonymous.insert(start, end);
        self.add(start, end, RegionKind::Anonymous { order: self.order });
        self.order += 1;
    }

    /// A thread starts with this stack pointer: the mapping below the pointer is its stack.
    pub fn stack(&mut self, pointer: u64, thread: u32) {
        let below = pointer.saturating_sub(1);
        let found = self.anonymous.range(..=below).next_back().filter(|(_, end)| **end > below);
        if let Some((start, end)) = found.map(|(start, end)| (*start, *end)) {
            self.add(start, end, RegionKind::Stack(thread));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, arguments: [u64; 6]) -> Call {
        Call { number, arguments }
    }

    #[test]
    fn mappings_heaps_and_stacks_become_regions() {
        let mut space = Space::default();
        let none = |_| None;
        space.returned(call(number::BRK, [0; 6]), 0x5000, none);
        space.returned(call(number::BRK, [0x9000, 0, 0, 0, 0, 0]), 0x9000, none);
        space.returned(call(number::MMAP, [0, 100, 0, 2, 5, 8192]), 0x2_0000, |file| Some(format!("/lib/{file}")));
        space.returned(call(number::MMAP, [0, 0x3000, 0, 0x22, u64::MAX, 0]), 0x3_0000, none);
        space.returned(call(number::MMAP, [0, 0x3000, 0, 0x22, u64::MAX, 0]), -12, none);
        space.stack(0x3_3000, 4);
        space.stack(0x8_0000, 5);
        space.returned(call(number::MREMAP, [0x3_0000, 0x3000, 0x5000, 1, 0, 0]), 0x7_0000, none);
        let kinds: Vec<_> = space.take().into_iter().map(|region| (region.start, region.end, region.kind)).collect();
        let expected = [
            (0x5000, 0x9000, RegionKind::Heap),
            (0x2_0000, 0x2_1000, RegionKind::File { path: "/lib/5".to_owned(), offset: 8192 }),
            (0x3_0000, 0x3_3000, RegionKind::Anonymous { order: 0 }),
            (0x3_0000, 0x3_3000, RegionKind::Stack(4)),
            (0x7_0000, 0x7_5000, RegionKind::Anonymous { order: 1 }),
        ];
        assert_eq!(kinds, expected);
        assert!(space.take().is_empty());
        // When the heap grows, the names in it stay, and an allocation begins with its mapping.
        space.returned(call(number::BRK, [0xb000, 0, 0, 0, 0, 0]), 0xb000, none);
        space.allocated(call(number::REPORT, [0x7_0010, 0x4000, 0x40_1234, 0, 0, 0]));
        space.allocated(call(number::REPORT, [0x9010, 0x1000, 0x40_1234, 0, 0, 0]));
        let named = || RegionKind::Named { name: "allocated at 0x401234".to_owned(), line: None };
        let kinds: Vec<_> = space.take().into_iter().map(|region| (region.start, region.end, region.kind)).collect();
        let expected = [(0x9000, 0xb000, RegionKind::Heap), (0x7_0000, 0x7_4010, named()), (0x9010, 0xa010, named())];
        assert_eq!(kinds, expected);
    }
}
