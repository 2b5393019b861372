//! What is said on the control socket of `isobar daemon`: one JSON document a line, a request and
//! its answer. Pure: sockets, peers and what a request does are others'.
//!
//! ```text
//! {"isobar":1,"ask":"status"}             {"isobar":1,"answer":"status","status":{...}}
//! {"isobar":1,"ask":"undo","id":12}       {"isobar":1,"answer":"done","words":"..."}
//! {"isobar":1,"ask":"pause"}              {"isobar":1,"answer":"refused","why":"..."}
//! ```
//!
//! `isobar` is the version of the protocol and comes with every line: a line of another version is
//! refused with both numbers, whatever else it says. Lines are bounded ([`MOST_REQUEST`],
//! [`MOST_ANSWER`]), so that no peer can have the other keep much.

#![forbid(unsafe_code)]

mod framing;
mod status;
mod words;

pub use framing::{Lines, TooLong};
pub use status::{ActionLine, GroupLine, Status};
pub use words::{Answer, Request, WordsError};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// Bytes of a request at most, with the end of its line.
pub const MOST_REQUEST: usize = 4096;

/// Bytes of an answer at most, with the end of its line.
pub const MOST_ANSWER: usize = 1 << 20;
