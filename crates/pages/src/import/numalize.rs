//! Page profiles in the CSV form of numalize (<https://github.com/matthiasdiener/numalize>), a row a
//! page:
//!
//! ```text
//! page.address,alloc.thread,alloc.location,firsttouch.thread,firsttouch.location,structure.name,T0
//! 1537,0,matmul.c:2,0,matmul.c:9,B,17222
//! ```
//!
//! The address is a number of a page of 4 KiB. The same form holds whole runs (`full.page.csv`) and
//! intervals (`000000.page.csv`). It does not say in which order pages were touched: rows stand for
//! it. Counts above 2^64 - 1 are refused, negative ones too; a page that stands twice counts once,
//! with the sum.

use super::error::{ImportError, header, shown};
use crate::profile::sum::Sum;
use crate::profile::{PageProfile, Structure};
use crate::trace::{FirstTouch, MOST_PAGE, MOST_THREADS, Row, Rows, Slice};
use csv::{ByteRecord, ReaderBuilder};
use isobar_model::num;
use std::collections::BTreeMap;
use std::io::{Read, Write};

/// Bytes of a page: numalize counts by 4 KiB.
const PAGE_BYTES: u64 = 4096;
/// Columns before the counts.
const COLUMNS: [&str; 6] =
    ["page.address", "alloc.thread", "alloc.location", "firsttouch.thread", "firsttouch.location", "structure.name"];
/// What numalize calls the structure of a page of which it knows none.
const UNKNOWN: &[u8] = b"unknown.name";

/// Reads a profile, row by row.
///
/// # Errors
/// A column that is missing or unknown, a number that is none, more counts than may be.
pub fn read(from: impl Read) -> Result<PageProfile, ImportError> {
    let mut rows = ReaderBuilder::new().has_headers(false).flexible(true).buffer_capacity(1 << 18).from_reader(from);
    let mut row = ByteRecord::new();
    let mut next = |row: &mut ByteRecord| rows.read_byte_record(row).map_err(csv_error);
    next(&mut row)?;
    let threads = threads(&row).map_err(|problem| ImportError::Line { line: 1, problem })?;
    let mut made = Making::new(threads).map_err(|problem| ImportError::Line { line: 1, problem })?;
    while next(&mut row)? {
        let line = row.position().map_or(0, csv::Position::line);
        made.add(&row).map_err(|problem| ImportError::Line { line, problem })?;
    }
    made.finish()
}

fn csv_error(why: csv::Error) -> ImportError {
    match why.into_kind() {
        csv::ErrorKind::Io(why) => why.into(),
        _ => ImportError::Unknown("is no CSV"),
    }
}

/// How many threads the first line has.
fn threads(first: &ByteRecord) -> Result<usize, String> {
    let name = |at: usize| first.get(at).unwrap_or_default().trim_ascii();
    if let Some((at, expected)) = COLUMNS.iter().enumerate().find(|(at, expected)| name(*at) != expected.as_bytes()) {
        return Err(format!("column {} is `{}`; expected `{expected}`", at + 1, shown(name(at))));
    }
    let threads = first.len() - COLUMNS.len();
    if threads == 0 || threads > num::index(MOST_THREADS) {
        return Err(format!("{threads} columns of threads; expected T0, T1 and so on, at most {MOST_THREADS}"));
    }
    let wrong = (0..threads).find(|thread| name(COLUMNS.len() + thread) != format!("T{thread}").as_bytes());
    wrong.map_or(Ok(threads), |thread| {
        let (at, found) = (COLUMNS.len() + thread, shown(name(COLUMNS.len() + thread)));
        Err(format!("column {} is `{found}`; expected `T{thread}`, as threads are counted from T0", at + 1))
    })
}

struct Making {
    threads: usize,
    sums: Sum,
    structures: Vec<Structure>,
    structure_of: Vec<u32>,
    known: BTreeMap<Vec<u8>, u32>,
    last: u32,
}

impl Making {
    fn new(threads: usize) -> Result<Self, String> {
        let mut sums = Sum::new();
        sums.thread(num::narrow(threads - 1))?;
        let (structures, structure_of) = (Vec::new(), Vec::new());
        Ok(Self { threads, sums, structures, structure_of, known: BTreeMap::new(), last: 0 })
    }

    fn add(&mut self, row: &ByteRecord) -> Result<(), String> {
        let (found, expected) = (row.len(), COLUMNS.len() + self.threads);
        if found != expected {
            return Err(format!("{found} columns; expected {expected}, as many as in line 1"));
        }
        let page = field(row, 0).and_then(page).ok_or_else(|| wrong(row, 0, "the number of a page below 2^52"))?;
        let thread = |text: &[u8]| count(text.strip_prefix(b"T").unwrap_or(text));
        let first = field(row, 3).and_then(thread).and_then(|first| u32::try_from(first).ok());
        let first = first.filter(|first| num::index(*first) < self.threads);
        let first = first.ok_or_else(|| wrong(row, 3, &format!("a thread from 0 to {}", self.threads - 1)))?;
        let at = self.sums.touch(page, first)?;
        if at == self.structure_of.len() {
            let structure = self.structure(row);
            self.structure_of.push(structure);
        }
        for thread in 0..self.threads {
            let accesses = row.get(COLUMNS.len() + thread).and_then(count);
            let accesses = accesses.ok_or_else(|| wrong(row, COLUMNS.len() + thread, "a count from 0 to 2^64 - 1"))?;
            self.sums.row(num::narrow(thread), accesses, 0)?;
        }
        Ok(())
    }

    /// Mostly it is that of the row before.
    fn structure(&mut self, row: &ByteRecord) -> u32 {
        let name = field(row, 5).filter(|name| !name.is_empty()).unwrap_or(UNKNOWN);
        let last = self.structures.get(num::index(self.last));
        if last.is_none_or(|last| last.name.as_bytes() != name) {
            self.last = self.named(name, row);
        }
        self.last
    }

    fn named(&mut self, name: &[u8], row: &ByteRecord) -> u32 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let text = String::from_utf8_lossy(name).into_owned();
        if let Some(known) = self.known.get(text.as_bytes()) {
            return *known;
        }
        let line = field(row, 2).map(String::from_utf8_lossy).filter(|line| line.contains(':'));
        let number = num::narrow(self.structures.len());
        self.known.insert(text.clone().into_bytes(), number);
        self.structures.push(Structure { name: text, line: line.map(Into::into), region: None });
        number
    }

    fn finish(self) -> Result<PageProfile, ImportError> {
        let usage = self.sums.usage(PAGE_BYTES)?;
        Ok(PageProfile {
            threads: (0..usage.threads()).map(|number| format!("T{number}")).collect(),
            header: header("numalize", PAGE_BYTES, None),
            usage,
            structures: self.structures,
            structure_of: self.structure_of,
            end: None,
        })
    }
}

fn field(row: &ByteRecord, at: usize) -> Option<&[u8]> {
    row.get(at).map(<[u8]>::trim_ascii)
}

fn wrong(row: &ByteRecord, at: usize, expected: &str) -> String {
    format!("column {}: `{}`; expected {expected}", at + 1, shown(row.get(at).unwrap_or_default()))
}

/// A decimal number; `None` for anything else, also for one beyond 64 bits.
#[inline]
fn count(text: &[u8]) -> Option<u64> {
    let digits = |number: u64, digit: &u8| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| number.wrapping_mul(10).wrapping_add(u64::from(digit)))
    };
    // Nineteen digits always fit.
    if (1..=19).contains(&text.len()) {
        return text.iter().try_fold(0, digits);
    }
    std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
}

/// Decimal, or hexadecimal behind 0x.
fn page(text: &[u8]) -> Option<u64> {
    let hex = text.strip_prefix(b"0x").and_then(|hex| std::str::from_utf8(hex).ok());
    let number = hex.map_or_else(|| count(text), |hex| u64::from_str_radix(hex, 16).ok());
    number.filter(|page| *page < MOST_PAGE)
}

/// An interval's profile as a slice of a trace. The form does not tell loads from stores: all
/// accesses are loads. Its first touches are those of pages that `known` does not hold yet.
#[must_use]
pub fn slice(number: u64, interval: &PageProfile, known: &mut std::collections::BTreeSet<u64>) -> Slice {
    let pages = interval.usage.pages().iter().filter(|page| known.insert(page.number));
    let first = pages.map(|page| FirstTouch { page: page.number, thread: page.first }).collect();
    let of_page = |(page, counts): (&crate::Page, &[u64])| {
        let number = page.number;
        let row = move |(thread, loads): (u32, &u64)| Row { page: number, thread, loads: *loads, stores: 0 };
        (0..).zip(counts).filter(|(_, count)| **count > 0).map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<Row> = interval.usage.rows().flat_map(of_page).collect();
    rows.sort_unstable();
    Slice { number, first, rows }
}

/// Writes a profile. Pages keep their size: where that is not 4 KiB, numbers are of such pages.
///
/// # Errors
/// What writing says.
pub fn write(profile: &PageProfile, to: impl Write) -> csv::Result<()> {
    let mut rows = csv::Writer::from_writer(to);
    let threads = (0..profile.usage.threads()).map(|thread| format!("T{thread}"));
    rows.write_record(COLUMNS.into_iter().map(str::to_owned).chain(threads))?;
    for ((page, counts), of) in profile.usage.rows().zip(&profile.structure_of) {
        let structure = profile.structures.get(num::index(*of));
        let line = structure.and_then(|structure| structure.line.as_deref()).unwrap_or("unknown.loc");
        let name = structure.map_or("unknown.name", |structure| &structure.name);
        let (number, first) = (page.number.to_string(), page.first.to_string());
        for field in [&number, &first, line, &first, "unknown.loc", name] {
            rows.write_field(field)?;
        }
        counts.iter().try_for_each(|count| rows.write_field(count.to_string()))?;
        rows.write_record(None::<&[u8]>)?;
    }
    Ok(rows.flush()?)
}
