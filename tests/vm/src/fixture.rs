//! Traces of runs that never took place, as input for `isobar pages apply`. The traced run has
//! other addresses than the process whose pages are moved. Traces are written with isobar's own
//! writer, because the file format is not under test here.

use anyhow::Result;
use isobar_pages::trace::{FirstTouch, Header, Region, RegionKind, Row, Slice, Thread, Writer};
use std::fs::File;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// A trace that is being made.
#[derive(Default)]
pub struct Trace {
    regions: Vec<Region>,
    slice: Slice,
    threads: u32,
}

impl Trace {
    /// A trace of a program with this number of threads.
    pub fn of(threads: u32) -> Self {
        Self { threads, ..Self::default() }
    }

    /// An anonymous mapping.
    pub fn anonymous(&mut self, start: u64, pages: u64) {
        let order = u32::try_from(self.regions.len()).unwrap_or(u32::MAX);
        self.region(start, pages, RegionKind::Anonymous { order });
    }

    /// A mapped file.
    pub fn file(&mut self, start: u64, pages: u64, path: &str, offset: u64) {
        self.region(start, pages, RegionKind::File { path: path.to_owned(), offset });
    }

    fn region(&mut self, start: u64, pages: u64, kind: RegionKind) {
        self.regions.push(Region { start, end: start + pages * PAGE, kind });
    }

    /// Accesses by thread to the page at an address. Pages must come in ascending order.
    pub fn page(&mut self, address: u64, accesses: &[u64]) {
        let page = address / PAGE;
        self.slice.first.push(FirstTouch { page, thread: 0 });
        let row = |(thread, loads): (u32, &u64)| Row { page, thread, loads: *loads, stores: 0 };
        self.slice.rows.extend((0..).zip(accesses).filter(|(_, count)| **count > 0).map(row));
    }

    /// Accesses of one thread only.
    pub fn exclusive(&mut self, address: u64, thread: u32) {
        let accesses: Vec<u64> = (0..self.threads).map(|one| if one == thread { 1000 } else { 0 }).collect();
        self.page(address, &accesses);
    }

    /// Writes it to a file.
    pub fn write(&self, path: &str) -> Result<()> {
        let header = Header {
            engine: "fixture".to_owned(),
            sampled: None,
            page_bytes: PAGE,
            slice_ns: 10_000_000,
            command: Vec::new(),
        };
        let mut writer = Writer::new(File::create(path)?, &header)?;
        for number in 0..self.threads {
            writer.thread(&Thread { number, tid: number + 1, name: None })?;
        }
        self.regions.iter().try_for_each(|region| writer.region(region))?;
        writer.slice(&self.slice)?;
        Ok(())
    }
}
