//! Turns sampled accesses into a trace, slice by slice. The buffers of several CPUs are read one
//! after the other, so a slice stays open for a while. The kernel is asked where pages are when
//! slices are written, while the program still runs, because afterwards it no longer knows.

mod missing;
mod pages;

use isobar_linux::sensors::memory::program::BufferContent;
use isobar_linux::sensors::memory::program::records::{Record, RecordKind};
use isobar_pages::trace::{
    FirstTouch, Header, MOST_PAGE, MOST_THREADS, Placed, Region, RegionKind, Row, Slice, Thread,
};
use isobar_pages::trace::{TraceError, Writer};
use missing::Missing;
use pages::Pages;
use std::collections::BTreeMap;
use std::io::Write;

/// How long samples may be delayed: hardware delivers some only when its own buffer is full.
const LATE_NS: u64 = 200_000_000;
/// Addresses from here on belong to the kernel.
const USER: u64 = 1 << 56;

/// Loads and stores.
type Counts = (u64, u64);

/// A trace that is being made.
#[derive(Debug)]
pub struct Samples<W: Write> {
    writer: Writer<W>,
    page_bytes: u64,
    slice_ns: u64,
    /// Records that arrived since the last round.
    new: Vec<(BufferContent, Record)>,
    /// The process, and when it started.
    program: Option<(u32, u64)>,
    /// Numbers of the threads by tid.
    threads: BTreeMap<u32, u32>,
    next_thread: u32,
    anonymous: u32,
    touched: Pages,
    open: BTreeMap<u64, Open>,
    /// Slices with a lower number are written.
    written: u64,
    /// The latest time in this round, and in the round before.
    newest: (u64, u64),
    /// The latest time among the records that had arrived by the round before.
    looked: u64,
    /// Whether the program has started, by exec.
    begun: bool,
    /// Whether the process has become another program, by a second exec.
    over: bool,
    missing: Missing,
}

/// A slice that is not written yet.
#[derive(Debug, Default)]
struct Open {
    first: Vec<FirstTouch>,
    counts: BTreeMap<(u64, u32), Counts>,
}

impl<W: Write> Samples<W> {
    /// Starts a trace.
    ///
    /// # Errors
    /// An error of the file.
    pub fn new(to: W, header: &Header) -> Result<Self, TraceError> {
        Ok(Self {
            writer: Writer::new(to, header)?,
            page_bytes: header.page_bytes,
            slice_ns: header.slice_ns.max(1),
            new: Vec::new(),
            program: None,
            threads: BTreeMap::new(),
            next_thread: 0,
            anonymous: 0,
            touched: Pages::default(),
            open: BTreeMap::new(),
            written: 0,
            newest: (0, 0),
            looked: 0,
            begun: false,
            over: false,
            missing: Missing::default(),
        })
    }

    /// Takes a record.
    pub fn add(&mut self, of: BufferContent, record: Record) {
        self.new.push((of, record));
    }

    /// Processes the records that arrived, and writes the slices that are over.
    ///
    /// # Errors
    /// An error of the file.
    pub fn write(&mut self) -> Result<(), TraceError> {
        // Buffers are read one after the other, so records newer than the round before may be
        // incomplete: if a thread starts on one CPU and runs on another, the record of its start
        // may still be missing.
        self.new.sort_by_key(|(_, record)| record.time);
        let newest = self.new.last().map_or(0, |(_, record)| record.time);
        let whole = self.new.partition_point(|(_, record)| record.time <= self.looked);
        let later = self.new.split_off(whole);
        for (of, record) in std::mem::replace(&mut self.new, later) {
            self.take(of, record)?;
        }
        self.looked = self.looked.max(newest);
        // No record arrives any more that is older than everything of the last round by more than
        // the delay.
        let begun = self.program.map_or(0, |(_, begun)| begun);
        let over = self.newest.1.saturating_sub(LATE_NS).saturating_sub(begun) / self.slice_ns;
        self.newest.1 = self.newest.0;
        self.close_below(over)
    }

    /// Writes where pages are: pages that are new since the last call, and once a second all pages.
    /// `locate` returns the node of each page of a process; it is not called without pages.
    ///
    /// # Errors
    /// An error of the file; an error of `locate` is returned as the inner one.
    pub fn place<E>(
        &mut self,
        nodes: u32,
        locate: impl FnOnce(u32, &[u64]) -> Result<Vec<Option<u16>>, E>,
    ) -> Result<Result<(), E>, TraceError> {
        let Some((pid, begun)) = self.program.filter(|_| self.begun && !self.over) else { return Ok(Ok(())) };
        let pages = self.touched.take_next(self.newest.0);
        if pages.is_empty() {
            return Ok(Ok(()));
        }
        let found = match locate(pid, &pages) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let known = |(page, node): (u64, Option<u16>)| Some((page, node.filter(|node| u32::from(*node) < nodes)?));
        let pages = pages.into_iter().zip(found).filter_map(known).collect();
        let slice = self.newest.0.saturating_sub(begun) / self.slice_ns;
        Ok(Ok(self.writer.placed(&Placed { slice, nodes, pages })?))
    }

    /// Writes the rest; returns what is missing, one sentence each.
    ///
    /// # Errors
    /// An error of the file.
    pub fn finish(&mut self) -> Result<Vec<String>, TraceError> {
        self.looked = u64::MAX;
        self.write()?;
        self.close_below(u64::MAX)?;
        Ok(self.missing.in_words(self.over))
    }

    fn take(&mut self, of: BufferContent, record: Record) -> Result<(), TraceError> {
        let Record { pid, tid, time, what } = record;
        if let RecordKind::Lost(lost) = what {
            self.missing.lost = self.missing.lost.saturating_add(lost);
            return Ok(());
        }
        // Sampling starts with the program, so the first record is the program's.
        let (program, begun) = *self.program.get_or_insert((pid, time));
        if pid != program {
            self.missing.children.insert(pid);
            return Ok(());
        }
        self.newest.0 = self.newest.0.max(time);
        let slice = (time.saturating_sub(begun) / self.slice_ns).max(self.written);
        match what {
            RecordKind::Exec => self.over |= std::mem::replace(&mut self.begun, true),
            _ if self.over => {}
            RecordKind::Begun => {
                self.threads.remove(&tid);
                self.thread(tid)?;
            }
            RecordKind::Mapped { start, length, offset, path } => self.mapped(start, length, offset, &path)?,
            RecordKind::Throttled => self.missing.throttled = true,
            RecordKind::Access { address, load, store } => self.access(of, slice, tid, address, load, store)?,
            RecordKind::Lost(_) => {}
        }
        Ok(())
    }

    fn access(
        &mut self,
        of: BufferContent,
        slice: u64,
        tid: u32,
        address: u64,
        load: bool,
        store: bool,
    ) -> Result<(), TraceError> {
        let page = address / self.page_bytes;
        // 0 means that the address is not known.
        if address == 0 || address >= USER || page >= MOST_PAGE {
            return Ok(());
        }
        let Some(thread) = self.thread(tid)? else { return Ok(()) };
        let open = self.open.entry(slice).or_default();
        if self.touched.is_first(page) {
            open.first.push(FirstTouch { page, thread });
        }
        let count = match of {
            BufferContent::Faults => return Ok(()),
            BufferContent::Loads => (1, 0),
            BufferContent::Stores => (0, 1),
            BufferContent::Both => (u64::from(load || !store), u64::from(store)),
        };
        let sum = open.counts.entry((page, thread)).or_default();
        *sum = (sum.0 + count.0, sum.1 + count.1);
        Ok(())
    }

    fn thread(&mut self, tid: u32) -> Result<Option<u32>, TraceError> {
        if let Some(thread) = self.threads.get(&tid) {
            return Ok(Some(*thread));
        }
        if self.next_thread >= MOST_THREADS {
            self.missing.too_many = true;
            return Ok(None);
        }
        let number = self.next_thread;
        self.threads.insert(tid, number);
        self.next_thread += 1;
        self.writer.thread(&Thread { number, tid, name: None })?;
        Ok(Some(number))
    }

    fn mapped(&mut self, start: u64, length: u64, offset: u64, path: &str) -> Result<(), TraceError> {
        let kind = match path {
            "//anon" => {
                self.anonymous += 1;
                RegionKind::Anonymous { order: self.anonymous - 1 }
            }
            "[heap]" => RegionKind::Heap,
            "[stack]" => RegionKind::Stack(0),
            _ if path.starts_with('/') => RegionKind::File { path: path.to_owned(), offset },
            _ => return Ok(()),
        };
        let end = start.saturating_add(length);
        if start < end { self.writer.region(&Region { start, end, kind }) } else { Ok(()) }
    }

    fn close_below(&mut self, end: u64) -> Result<(), TraceError> {
        let later = self.open.split_off(&end);
        for (number, Open { first, counts }) in std::mem::replace(&mut self.open, later) {
            let row = |((page, thread), (loads, stores))| Row { page, thread, loads, stores };
            self.writer.slice(&Slice { number, first, rows: counts.into_iter().map(row).collect() })?;
            self.written = number + 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
