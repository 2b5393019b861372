//! What a trace says, apart from how it is written.

use serde::{Deserialize, Serialize};

/// How a trace was made. It stands first in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// What saw the accesses, with its version: `qemu-user 7.2.22`, `perf mem`, `numasim`.
    pub engine: String,
    /// `Some(n)`: about one access in n was seen, and counts are of samples. `None`: every access.
    pub sampled: Option<u64>,
    /// Bytes of a page, a power of two.
    pub page_bytes: u64,
    /// Length of a time slice, nanoseconds of the traced run. It passes more slowly than the
    /// program's own run does, by the slowdown of the engine.
    pub slice_ns: u64,
    /// The command, as it was typed.
    pub command: Vec<String>,
}

/// A thread of the program. Threads are numbered from 0 in the order in which they began; the
/// number, not the tid, stands in rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Its number.
    pub number: u32,
    /// The kernel's id of it.
    pub tid: u32,
    /// Its name, where it has one.
    pub name: Option<String>,
}

/// Part of the address space and what it is. A later region covers an earlier one where they
/// overlap: address space is used again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// The byte behind the last.
    pub end: u64,
    /// What it is.
    pub kind: RegionKind,
}

/// What a part of the address space is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RegionKind {
    /// The stack of a thread, by its number.
    Stack(u32),
    /// What `brk` gives.
    Heap,
    /// A mapped file.
    File {
        /// its path
        path: String,
        /// where in the file the region begins, bytes
        offset: u64,
    },
    /// An anonymous mapping, counted in the order of creation: with the size what distinguishes it
    /// from others in another run, in which it has another address.
    Anonymous {
        /// how many anonymous mappings were made before it
        order: u32,
    },
    /// A variable of the program or one of its large allocations.
    Named {
        /// the symbol, or the function that allocated it
        name: String,
        /// `file:line` of its definition or allocation, where debug information has it
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
    /// Its number, from 0; it began this many slice lengths after the trace.
    pub number: u64,
    /// Pages first accessed in it, in the order in which they were.
    pub first: Vec<FirstTouch>,
    /// Accesses, by page, then thread; no pair of them stands twice.
    pub rows: Vec<Row>,
}

/// Where the kernel had pages when it was asked. Of a page that stands in several of these the last
/// holds: pages move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The slice that was over when it was asked.
    pub slice: u64,
    /// Nodes of the machine: one more than the highest number of a node.
    pub nodes: u32,
    /// Numbers of pages, ascending, and the node of each. Pages that had no memory are left out.
    pub pages: Vec<(u64, u16)>,
}

/// How the program ended. Stands last in a file that is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Nanoseconds from the begin of the trace to its end.
    pub ran_ns: u64,
    /// Exit status of the program; `None` where a signal ended it.
    pub status: Option<i32>,
    /// What is not in the trace, a sentence each: a program that it became by exec, a child that
    /// was not followed.
    pub missing: Vec<String>,
}

/// A part of a trace, in the order in which they stand in a file: a header, then these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A thread began.
    Thread(Thread),
    /// Address space became something.
    Region(Region),
    /// A slice is over.
    Slice(Slice),
    /// Where pages were.
    Placed(Placed),
    /// The program ended.
    End(End),
}
