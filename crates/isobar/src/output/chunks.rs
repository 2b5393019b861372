//! The loop's end of the queue: collects what is written, and queues it as one chunk at each flush.

use super::Sink;
use super::queue::Queue;
use super::state::Chunk;
use std::io::{self, Write};

/// Collects what is written until it is flushed.
pub struct Chunks<'q> {
    queue: &'q Queue,
    chunk: Chunk,
}

impl<'q> Chunks<'q> {
    /// Collects for a queue.
    pub fn of(queue: &'q Queue) -> Self {
        Self { queue, chunk: Chunk::default() }
    }
}

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        self.chunk.lines += u64::try_from(lines).unwrap_or(u64::MAX);
        self.chunk.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.queue.commit(std::mem::take(&mut self.chunk))
    }
}

impl Sink for Chunks<'_> {
    fn draw(&mut self, picture: &[u8]) -> io::Result<()> {
        self.chunk.bytes.extend_from_slice(picture);
        Ok(())
    }

    fn dropped_lines(&self) -> u64 {
        self.queue.dropped_lines()
    }

    fn is_behind(&self) -> bool {
        self.queue.is_behind()
    }

    fn keep_the_rest(&mut self) {
        self.queue.keep_the_rest();
    }
}
