//! The page usage of a whole run with what its pages are: what a report, a prediction and a placement
//! of pages start from. Read from a trace or imported from another tool.

use crate::trace::{End, Header};
use crate::usage::Usage;

/// Something that pages belong to: a matrix, a heap, the stack of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Name for people, unique in the profile: `stack of T1`, `heap`, `matrix_b`, `libc.so.6`.
    pub name: String,
    /// `file:line` where it is defined or allocated, where that is known.
    pub line: Option<String>,
    /// How to find it in another run, which has other addresses; `None` for an imported profile.
    pub region: Option<crate::trace::Region>,
}

/// The page usage of a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct PageProfile {
    /// How it was made; an import says so in `engine`.
    pub header: Header,
    /// Accesses by page and thread, at the page size of the trace, in the order of first touch.
    pub usage: Usage,
    /// What there is, in the order of first touch.
    pub structures: Vec<Structure>,
    /// For each page of `usage` the structure it belongs to.
    pub structure_of: Vec<u32>,
    /// Names of the threads by number: `T0` where they have none.
    pub threads: Vec<String>,
    /// How it ended; `None` where the file was cut off, or the tool that wrote it does not say.
    pub end: Option<End>,
}
