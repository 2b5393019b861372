//! The protocol of the control socket of `isobar daemon`: one JSON document per line, a request and
//! its answer. The crate is pure: sockets, peers and the effects of requests are handled elsewhere.
//! ```text
//! {"isobar":1,"ask":"status"}             {"isobar":1,"answer":"status","status":{...}}
//! {"isobar":1,"ask":"undo","id":12}       {"isobar":1,"answer":"done","words":"..."}
//! {"isobar":1,"ask":"pause"}              {"isobar":1,"answer":"refused","why":"..."}
//! ```
//!
//! `isobar` is the version of the protocol and comes with every line. A line of another version is
//! refused with both version numbers, whatever else it contains. The length of a line is bounded
//! ([`MOST_REQUEST`], [`MOST_ANSWER`]), so that no peer can make the other keep much.

#![forbid(unsafe_code)]

mod framing;
mod status;
mod words;

pub use framing::{Lines, TooLong};
pub use status::{ActionLine, GroupLine, Status};
pub use words::{Answer, Request, WordsError};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// Maximum size of a request in bytes, including the end of line.
pub const MOST_REQUEST: usize = 4096;

/// Maximum size of an answer in bytes, including the end of line.
pub const MOST_ANSWER: usize = 1 << 20;
