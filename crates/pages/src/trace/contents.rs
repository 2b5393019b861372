//! The contents of a trace, independent of how they are written.

use serde::{Deserialize, Serialize};

/// How a trace was made. The header comes first in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The engine that saw the accesses, with its version: `qemu-user 7.2.22`, `perf mem`,
    /// `numasim`.
    pub engine: String,
    /// `Some(n)`: about one access in n was seen, and counts are counts of samples. `None`: every
    /// access.
    pub sampled: Option<u64>,
    /// Bytes of a page, a power of two.
    pub page_bytes: u64,
    /// Length of a time slice, in nanoseconds of the traced run. The traced run takes longer than
    /// the program alone, by the slowdown of the engine.
    pub slice_ns: u64,
    /// The command, as it was typed.
    pub command: Vec<String>,
}

/// A thread of the program. Threads are numbered from 0 in the order in which they started. Rows
/// contain this number, not the tid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Its number.
    pub number: u32,
    /// Its kernel id (tid).
    pub tid: u32,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// A part of the address space and what it contains. If two regions overlap, the later one covers
/// the earlier one, because address space is reused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// What it is.
    pub kind: RegionKind,
}

/// What a part of the address space contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RegionKind {
    /// The stack of a thread, by its number.
    Stack(u32),
    /// The heap, as grown by `brk`.
    Heap,
    /// A mapped file.
    File {
        /// its path
        path: String,
        /// where in the file the region begins, bytes
        offset: u64,
    },
    /// An anonymous mapping, numbered in the order of creation. The number and the size identify
    /// the mapping in another run, in which it has another address.
    Anonymous {
        /// how many anonymous mappings were created before it
        order: u32,
    },
    /// A variable of the program or one of its large allocations.
    Named {
        /// the symbol, or the function that allocated it
        name: String,
        /// `file:line` of its definition or allocation, if debug information has it
        line: Option<String>,
    },
}

/// Accesses of a thread to a page in a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Number of the page: address divided by page size.
    pub page: u64,
    /// Number of the thread.
    pub thread: u32,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
}

/// A page that was accessed for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstTouch {
    /// Number of the page.
    pub page: u64,
    /// Number of the thread.
    pub thread: u32,
}

/// A time slice. Slices without accesses are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its number, from 0; it started this many slice lengths after the start of the trace.
    pub number: u64,
    /// Pages first accessed in it, in the order of these accesses.
    pub first: Vec<FirstTouch>,
    /// Accesses, by page, then by thread; each pair appears once.
    pub rows: Vec<Row>,
}

/// Where the kernel had placed pages when it was asked. If a page appears in several of these, the
/// last one holds, because pages move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The slice that had just ended when the kernel was asked.
    pub slice: u64,
    /// Number of nodes of the machine: one more than the highest node number.
    pub nodes: u32,
    /// Page numbers, ascending, and the node of each page. Pages without memory are left out.
    pub pages: Vec<(u64, u16)>,
}

/// How the program ended. The last part of a complete file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Nanoseconds from the start of the trace to its end.
    pub ran_ns: u64,
    /// Exit status of the program; `None` if a signal ended it.
    pub status: Option<i32>,
    /// What is not in the trace, one sentence each: a program started by exec, a child that was not
    /// followed.
    pub missing: Vec<String>,
}

/// A part of a trace. A file consists of a header and then of these parts, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A thread started.
    Thread(Thread),
    /// A region of the address space came into use.
    Region(Region),
    /// A slice ended.
    Slice(Slice),
    /// Where the kernel had placed pages.
    Placed(Placed),
    /// The program ended.
    End(End),
}
