//! Output that never blocks the loop. A reader may stop reading: a pager, a terminal after Ctrl-S,
//! a frozen connection. The loop of `manage` hands whole chunks of lines to a bounded queue and
//! goes on; one thread writes them. If the queue is full, whole chunks are dropped. As soon as the
//! reader reads again, one notice says how many lines were dropped.
//!
//! It knows bytes, lines and file descriptors; it does not know what the lines mean.

mod chunks;
mod descriptor;
mod queue;
mod state;

pub use chunks::Chunks;
pub use descriptor::stderr_within;
pub use queue::Queue;

use std::io::{self, Write};

/// Where a reporter writes. What was written becomes one chunk at each flush, which arrives as a
/// whole or is dropped as a whole.
pub trait Sink: Write {
    /// Writes a picture that the next one replaces, such as the live table of a terminal. Dropping
    /// it loses no lines.
    ///
    /// # Errors
    /// As [`Write::write_all`].
    fn draw(&mut self, picture: &[u8]) -> io::Result<()> {
        self.write_all(picture)
    }

    /// Number of lines dropped so far. If it grows with a flush, the chunk that was flushed is
    /// lost.
    fn dropped_lines(&self) -> u64 {
        0
    }

    /// Whether the reader has not yet read everything that was flushed before.
    fn is_behind(&self) -> bool {
        false
    }

    /// Declares that what is written from now on is the end of a run: it is queued regardless of
    /// the bounds.
    fn keep_the_rest(&mut self) {}
}

/// A vector, which tests read, takes everything.
#[cfg(test)]
impl Sink for Vec<u8> {}

#[cfg(test)]
mod tests;
