//! Writes a trace, block by block.

use super::block::{self, Kind};
use super::columns;
use super::contents::{End, Header, Placed, Region, Row, Slice, Thread};
use super::error::TraceError;
use super::placed;
use super::{MAGIC, VERSION};
use serde::Serialize;
use std::io::Write;

/// Maximum number of rows or first touches of a block: even with the largest numbers they fit.
const MOST_ROWS: usize = 1 << 20;

/// Writes a trace. Each block is one write and is then flushed, so that a concurrent reader sees
/// whole blocks.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    plain: Vec<u8>,
    packed: Vec<u8>,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a trace.
    ///
    /// # Errors
    /// An error of the file.
    pub fn new(mut out: W, header: &Header) -> Result<Self, TraceError> {
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        let written = (MAGIC.len() + size_of_val(&VERSION)) as u64;
        let mut writer = Self { out, plain: Vec::new(), packed: Vec::new(), written };
        writer.json(Kind::Header, header)?;
        Ok(writer)
    }

    /// Continues a trace that another writer started; `out` is positioned after its last block.
    pub const fn resume(out: W) -> Self {
        Self { out, plain: Vec::new(), packed: Vec::new(), written: 0 }
    }

    /// A thread started. Must come before the first slice in which the thread accesses anything.
    ///
    /// # Errors
    /// An error of the file.
    pub fn thread(&mut self, thread: &Thread) -> Result<(), TraceError> {
        self.json(Kind::Thread, thread)
    }

    /// A region of the address space came into use.
    ///
    /// # Errors
    /// An error of the file.
    pub fn region(&mut self, region: &Region) -> Result<(), TraceError> {
        self.json(Kind::Region, region)
    }

    /// A slice ended. A long slice becomes several blocks with the same number.
    ///
    /// # Errors
    /// Rows that are not in the order of pages and threads, invalid pages and threads; errors of
    /// the file.
    pub fn slice(&mut self, slice: &Slice) -> Result<(), TraceError> {
        if slice.rows.len() <= MOST_ROWS && slice.first.len() <= MOST_ROWS {
            return self.columns(slice);
        }
        for first in slice.first.chunks(MOST_ROWS) {
            self.columns(&Slice { number: slice.number, first: first.to_vec(), rows: Vec::new() })?;
        }
        let mut rows = slice.rows.as_slice();
        while !rows.is_empty() {
            let (part, rest) = rows.split_at(whole_pages(rows));
            self.columns(&Slice { number: slice.number, first: Vec::new(), rows: part.to_vec() })?;
            rows = rest;
        }
        Ok(())
    }

    /// Where the kernel had placed pages. Many pages become several blocks.
    ///
    /// # Errors
    /// Pages that are not in the order of their numbers, invalid pages and nodes; errors of the
    /// file.
    pub fn placed(&mut self, found: &Placed) -> Result<(), TraceError> {
        for pages in found.pages.chunks(MOST_ROWS) {
            self.plain.clear();
            let part = Placed { pages: pages.to_vec(), ..*found };
            placed::encode(&part, &mut self.plain).map_err(TraceError::Placed)?;
            self.block(Kind::Placed)?;
        }
        Ok(())
    }

    /// The program ended.
    ///
    /// # Errors
    /// An error of the file.
    pub fn end(&mut self, end: &End) -> Result<(), TraceError> {
        self.json(Kind::End, end)
    }

    /// Number of bytes written by this writer.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn columns(&mut self, slice: &Slice) -> Result<(), TraceError> {
        self.plain.clear();
        columns::encode(slice, &mut self.plain).map_err(TraceError::Slice)?;
        self.block(Kind::Slice)
    }

    fn json(&mut self, kind: Kind, value: &impl Serialize) -> Result<(), TraceError> {
        self.plain.clear();
        serde_json::to_writer(&mut self.plain, value).map_err(std::io::Error::from)?;
        self.block(kind)
    }

    fn block(&mut self, kind: Kind) -> Result<(), TraceError> {
        block::pack(kind, &self.plain, &mut self.packed).ok_or(TraceError::Slice("a block over 64 MiB"))?;
        self.out.write_all(&self.packed)?;
        self.out.flush()?;
        self.written += self.packed.len() as u64;
        Ok(())
    }
}

/// How many of these rows to take for a block so that all rows of a page stay together.
fn whole_pages(rows: &[Row]) -> usize {
    let Some(beyond) = rows.get(MOST_ROWS) else { return rows.len() };
    let from = rows[..MOST_ROWS].partition_point(|row| row.page < beyond.page);
    // A page has fewer rows than a block may have, unless rows are out of order, which is refused
    // elsewhere.
    if from == 0 { MOST_ROWS } else { from }
}
