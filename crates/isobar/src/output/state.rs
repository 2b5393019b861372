//! The bookkeeping behind the queue, under one lock: what is queued, dropped and written. It waits
//! for nothing and writes nothing.

use std::collections::VecDeque;
use std::io;

/// The limits of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// bytes; a single larger chunk still fits into an empty queue
    pub bytes: usize,
    /// number of chunks
    pub chunks: usize,
}

impl Bounds {
    /// Enough for some minutes of JSON from a busy machine.
    pub const LOG: Self = Self { bytes: 4 << 20, chunks: 1024 };
}

/// Lines that arrive together or not at all.
#[derive(Debug, Default)]
pub struct Chunk {
    /// the bytes to write
    pub bytes: Vec<u8>,
    /// how many lines are lost if it is dropped
    pub lines: u64,
}

/// The current state of the queue.
#[derive(Debug, Default)]
pub struct State {
    chunks: VecDeque<Chunk>,
    /// Bytes of all queued chunks.
    bytes: usize,
    /// Lines of the chunk that is being written.
    writing: Option<u64>,
    /// Lines dropped since the last notice. While there are any, further chunks are dropped until
    /// half the queue is free.
    unreported: u64,
    /// Lines dropped so far.
    pub dropped: u64,
    /// Number of pieces written so far, which shows whether the reader reads.
    pub progress: u64,
    /// Whether the end of the run has begun, which is always queued.
    pub keep: bool,
    /// Whether no more chunks will come.
    pub closed: bool,
    failed: Option<(io::ErrorKind, String)>,
}

impl State {
    /// Whether a chunk may be queued. A chunk that exceeds the bounds fits into an empty queue.
    pub fn has_room(&self, chunk: &Chunk, bounds: Bounds) -> bool {
        let fits = self.bytes.saturating_add(chunk.bytes.len()) <= bounds.bytes && self.chunks.len() < bounds.chunks;
        self.keep || (self.unreported == 0 && (fits || self.chunks.is_empty()))
    }

    /// Queues a chunk.
    pub fn push(&mut self, chunk: Chunk) {
        self.bytes += chunk.bytes.len();
        self.chunks.push_back(chunk);
    }

    /// Counts a chunk that did not fit.
    pub fn drop_chunk(&mut self, chunk: &Chunk) {
        self.unreported += chunk.lines;
        self.dropped += chunk.lines;
    }

    /// The next chunk to write; the chunk before it is done.
    pub fn pop(&mut self) -> Option<Chunk> {
        let chunk = self.chunks.pop_front();
        self.writing = chunk.as_ref().map(|chunk| chunk.lines);
        self.bytes -= chunk.as_ref().map_or(0, |chunk| chunk.bytes.len());
        chunk
    }

    /// Whether half the queue is free again.
    pub fn is_half_free(&self, bounds: Bounds) -> bool {
        self.bytes <= bounds.bytes / 2 && self.chunks.len() <= bounds.chunks / 2
    }

    /// Queues the notice of dropped lines, if there are any: after what came before them, and ahead
    /// of what comes next.
    pub fn push_notice(&mut self, notice: fn(u64) -> String) {
        let lines = std::mem::take(&mut self.unreported);
        if lines > 0 {
            self.push(Chunk { bytes: format!("{}\n", notice(lines)).into_bytes(), lines: 0 });
        }
    }

    /// Whether everything that was queued is written.
    pub fn is_idle(&self) -> bool {
        self.chunks.is_empty() && self.writing.is_none() && self.unreported == 0
    }

    /// Number of lines that the reader has not read yet.
    pub fn lines_left(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.lines).sum::<u64>() + self.writing.unwrap_or(0) + self.unreported
    }

    /// Number of chunks that wait for the writer.
    #[cfg(test)]
    pub fn queued(&self) -> usize {
        self.chunks.len()
    }

    /// Records that nothing more can be written, because the reader is gone or the disk is full.
    pub fn fail(&mut self, error: &io::Error) {
        self.failed = Some((error.kind(), error.to_string()));
        self.writing = None;
        self.chunks.clear();
        self.bytes = 0;
    }

    /// Reports the error that stopped the writer.
    ///
    /// # Errors
    /// That error.
    pub fn check(&self) -> io::Result<()> {
        let again = |(kind, why): &(io::ErrorKind, String)| io::Error::new(*kind, format!("standard output: {why}"));
        self.failed.as_ref().map_or(Ok(()), |failed| Err(again(failed)))
    }
}
