//! Page profiles in the CSV form of numalize (<https://github.com/matthiasdiener/numalize>), one
//! row per page:
//!
//! ```text
//! page.address,alloc.thread,alloc.location,firsttouch.thread,firsttouch.location,structure.name,T0
//! 1537,0,matmul.c:2,0,matmul.c:9,B,17222
//! ```
//!
//! The address is the number of a page of 4 KiB. The same form holds whole runs (`full.page.csv`)
//! and intervals (`000000.page.csv`). It does not say in which order pages were touched: the order
//! of the rows stands for it. Counts above 2^64 - 1 are refused, negative counts too. A page that
//! appears twice counts once, with the sum.

use super::error::{ImportError, header, shown};
use crate::profile::sum::Sum;
use crate::profile::{PageProfile, Structure};
use crate::trace::{FirstTouch, MOST_PAGE, MOST_THREADS, Row, Slice};
use csv::{ByteRecord, ReaderBuilder};
use isobar_model::num;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};

/// Bytes of a page: numalize counts by pages of 4 KiB.
const PAGE_BYTES: u64 = 4096;
/// Columns before the counts.
const COLUMNS: [&str; 6] =
    ["page.address", "alloc.thread", "alloc.location", "firsttouch.thread", "firsttouch.location", "structure.name"];
/// Bytes that are read at once.
const BUFFER: usize = 1 << 18;
/// What numalize calls the structure of a page if it knows none.
const UNKNOWN: &[u8] = b"unknown.name";

/// Reads a profile, row by row.
///
/// # Errors
/// A missing or unknown column, an invalid number, or more counts than are allowed.
pub fn read(from: impl Read) -> Result<PageProfile, ImportError> {
    let mut from = BufReader::with_capacity(BUFFER, from);
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    if line.contains(&b'"') || line.contains(&b'\r') {
        return general(line.as_slice().chain(from), 0, None);
    }
    let mut first = ByteRecord::new();
    csv_reader(line.as_slice()).read_byte_record(&mut first).map_err(csv_error)?;
    let mut made = Making::new(&first).map_err(|problem| ImportError::Line { line: 1, problem })?;
    for number in 2.. {
        line.clear();
        if from.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        match made.plain(&line) {
            Some(added) => added.map_err(|problem| ImportError::Line { line: number, problem })?,
            // A quoted field may continue on the next line.
            None => return general(line.as_slice().chain(from), number - 1, Some(made)),
        }
    }
    made.finish()
}

/// Reads rows of any form that follow `before` lines already read. Without `made` (the state from
/// those lines), the first row is the line of names.
fn general(from: impl Read, before: u64, made: Option<Making>) -> Result<PageProfile, ImportError> {
    let (mut rows, mut row) = (csv_reader(from), ByteRecord::new());
    let mut next = |row: &mut ByteRecord| rows.read_byte_record(row).map_err(csv_error);
    let mut made = match made {
        Some(made) => made,
        None => {
            next(&mut row)?;
            Making::new(&row).map_err(|problem| ImportError::Line { line: 1, problem })?
        }
    };
    while next(&mut row)? {
        let line = before + row.position().map_or(0, csv::Position::line);
        made.add(&row).map_err(|problem| ImportError::Line { line, problem })?;
    }
    made.finish()
}

fn csv_reader<R: Read>(from: R) -> csv::Reader<R> {
    ReaderBuilder::new().has_headers(false).flexible(true).buffer_capacity(BUFFER).from_reader(from)
}

fn csv_error(why: csv::Error) -> ImportError {
    match why.into_kind() {
        csv::ErrorKind::Io(why) => why.into(),
        _ => ImportError::Unknown("is not CSV"),
    }
}

/// The number of threads, from the first line.
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
        Err(format!("column {} is `{found}`; expected `T{thread}`, because threads are counted from T0", at + 1))
    })
}

struct Making {
    threads: usize,
    sums: Sum,
    structures: Vec<Structure>,
    structure_of: Vec<u32>,
    known: BTreeMap<Vec<u8>, u32>,
    last: u32,
    /// The counts of a row.
    counts: Vec<u64>,
}

impl Making {
    /// From the line of column names.
    fn new(first: &ByteRecord) -> Result<Self, String> {
        let threads = threads(first)?;
        let mut sums = Sum::new();
        sums.thread(num::narrow(threads - 1))?;
        let (structures, structure_of, counts) = (Vec::new(), Vec::new(), vec![0; threads]);
        Ok(Self { threads, sums, structures, structure_of, known: BTreeMap::new(), last: 0, counts })
    }

    /// Adds a row of the usual form: without quotes, with counts that contain only digits. `None`
    /// if the row has another form or is wrong; nothing is added then.
    fn plain(&mut self, line: &[u8]) -> Option<Result<(), String>> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Some(Ok(()));
        }
        let (mut fields, mut rest) = ([&[] as &[u8]; COLUMNS.len()], line);
        for field in &mut fields {
            let end = rest.iter().position(|byte| *byte == b',')?;
            if rest[..end].iter().any(|byte| matches!(byte, b'"' | b'\r')) {
                return None;
            }
            (*field, rest) = (rest[..end].trim_ascii(), &rest[end + 1..]);
        }
        plain_counts(rest, &mut self.counts)?;
        let (page, first) = (page(fields[0])?, self.first(fields[3])?);
        Some(self.put(page, first, fields[5], fields[2]))
    }

    fn add(&mut self, row: &ByteRecord) -> Result<(), String> {
        let (found, expected) = (row.len(), COLUMNS.len() + self.threads);
        if found != expected {
            return Err(format!("{found} columns; expected {expected}, as many as in line 1"));
        }
        let page = page(field(row, 0)).ok_or_else(|| wrong(row, 0, "the number of a page below 2^52"))?;
        let first = self.first(field(row, 3));
        let first = first.ok_or_else(|| wrong(row, 3, &format!("a thread from 0 to {}", self.threads - 1)))?;
        for (at, sum) in (COLUMNS.len()..).zip(&mut self.counts) {
            let accesses = row.get(at).and_then(count);
            *sum = accesses.ok_or_else(|| wrong(row, at, "a count from 0 to 2^64 - 1"))?;
        }
        self.put(page, first, field(row, 5), field(row, 2))
    }

    /// The thread of a first touch, from its column.
    fn first(&self, text: &[u8]) -> Option<u32> {
        let first = count(text.strip_prefix(b"T").unwrap_or(text))?;
        u32::try_from(first).ok().filter(|first| num::index(*first) < self.threads)
    }

    /// Adds the counts of a row.
    fn put(&mut self, page: u64, first: u32, name: &[u8], line: &[u8]) -> Result<(), String> {
        let at = self.sums.touch(page, first)?;
        if at == self.structure_of.len() {
            let structure = self.structure(name, line);
            self.structure_of.push(structure);
        }
        Ok(self.sums.whole_row(&self.counts)?)
    }

    /// Usually the structure is that of the row before.
    fn structure(&mut self, name: &[u8], line: &[u8]) -> u32 {
        let name = if name.is_empty() { UNKNOWN } else { name };
        let last = self.structures.get(num::index(self.last));
        if last.is_none_or(|last| last.name.as_bytes() != name) {
            self.last = self.named(name, line);
        }
        self.last
    }

    fn named(&mut self, name: &[u8], line: &[u8]) -> u32 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let text = String::from_utf8_lossy(name).into_owned();
        if let Some(known) = self.known.get(text.as_bytes()) {
            return *known;
        }
        let line = Some(String::from_utf8_lossy(line)).filter(|line| line.contains(':'));
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
            linux: None,
            end: None,
        })
    }
}

/// Reads counts with commas between them, one for each place in `into`, all of at most 19 digits,
/// which always fit 64 bits. `None` for anything else.
fn plain_counts(text: &[u8], into: &mut [u64]) -> Option<()> {
    let (mut left, mut value, mut digits) = (into.iter_mut(), 0_u64, 0_u32);
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
        } else if *byte == b',' && (1..=19).contains(&digits) {
            *left.next()? = value;
            (value, digits) = (0, 0);
        } else {
            return None;
        }
    }
    *left.next().filter(|_| (1..=19).contains(&digits))? = value;
    left.next().is_none().then_some(())
}

fn field(row: &ByteRecord, at: usize) -> &[u8] {
    row.get(at).unwrap_or_default().trim_ascii()
}

fn wrong(row: &ByteRecord, at: usize, expected: &str) -> String {
    format!("column {}: `{}`; expected {expected}", at + 1, shown(row.get(at).unwrap_or_default()))
}

/// A decimal number; `None` for anything else, including numbers beyond 64 bits.
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

/// A page number: decimal, or hexadecimal after 0x.
fn page(text: &[u8]) -> Option<u64> {
    let hex = text.strip_prefix(b"0x").and_then(|hex| std::str::from_utf8(hex).ok());
    let number = hex.map_or_else(|| count(text), |hex| u64::from_str_radix(hex, 16).ok());
    number.filter(|page| *page < MOST_PAGE)
}

/// An interval's profile as a slice of a trace. The form does not distinguish loads from stores, so
/// all accesses count as loads. The slice's first touches are those of pages that `known` does not
/// contain yet.
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

/// Writes a profile. Pages keep their size: if it is not 4 KiB, page numbers count pages of that
/// size.
///
/// # Errors
/// An error of the writer.
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
