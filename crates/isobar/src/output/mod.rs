//! Output that never blocks the loop. A reader may stop reading: a pager, a terminal after Ctrl-S,
//! a frozen connection. The loop of `manage` hands whole chunks of lines to a bounded queue and
//! goes on; one thread writes them. When the queue is full, whole chunks are dropped, and one
//! notice says how many lines, as soon as the reader reads again.
//!
//! It knows bytes, lines and file descriptors; it does not know what the lines say.

mod chunks;
mod descriptor;
mod queue;
mod state;

pub use chunks::Chunks;
pub use descriptor::stderr_within;
pub use queue::Queue;

use std::io::{self, Write};

/// Where a reporter writes. What is written becomes one chunk at each flush, which arrives whole or
/// is dropped whole.
pub trait Sink: Write {
    /// Writes a picture that the next one replaces (the live table of a terminal): dropped, it is
    /// no loss of lines.
    ///
    /// # Errors
    /// As [`Write::write_all`].
    fn draw(&mut self, picture: &[u8]) -> io::Result<()> {
        self.write_all(picture)
    }

    /// Lines dropped so far. Where it grows with a flush, the chunk that was flushed is lost.
    fn dropped_lines(&self) -> u64 {
        0
    }

    /// Whether the reader has not yet read what was flushed before.
    fn is_behind(&self) -> bool {
        false
    }

    /// What comes from here on is the end of a run: it is queued regardless of the bounds.
    fn keep_the_rest(&mut self) {}
}

/// The memory of a test reads everything.
#[cfg(test)]
impl Sink for Vec<u8> {}

#[cfg(test)]
mod tests;
