//! Encodes a slice as columns, and decodes it. Neighbouring values in a column are similar, so they
//! take few bytes, and fewer still once they are compressed.
//!
//! ```text
//! number, first touches F, pages P, rows R, lengths of the seven columns in bytes
//! F x page      difference to the one before, zigzag
//! F x thread
//! P x page      difference to the one before; the first from 0
//! P x rows      of that page, less one
//! R x thread    difference to the one before of that page; the first from 0
//! R x loads
//! R x stores
//! ```
//!
//! All are varints. The columns are read side by side, so a row costs a few nanoseconds.

use super::contents::{FirstTouch, Row, Slice};
use super::varint::{Cursor, put, unzigzag, zigzag};

/// Page numbers are below this: addresses have 64 bits, and the offset within a page takes at least
/// 12 of them.
pub const MOST_PAGE: u64 = 1 << 52;
/// Maximum number of threads in a trace.
pub const MOST_THREADS: u32 = u16::MAX as u32;
const COLUMNS: usize = 7;

/// Why bytes are not a slice.
pub const BROKEN: &str = "a slice whose columns contradict each other";

/// Writes a slice as columns.
///
/// # Errors
/// Rows out of order, or an invalid page or thread.
pub fn encode(slice: &Slice, into: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut columns: [Vec<u8>; COLUMNS] = Default::default();
    let [first_pages, first_threads, pages, runs, threads, loads, stores] = &mut columns;
    let mut last = 0;
    for touch in &slice.first {
        check(touch.page, touch.thread)?;
        put(first_pages, zigzag(last, touch.page));
        put(first_threads, u64::from(touch.thread));
        last = touch.page;
    }
    let (mut last, mut count) = (0, 0_u64);
    for run in slice.rows.chunk_by(|a, b| a.page == b.page) {
        let page = run[0].page;
        check(page, 0)?;
        let difference = page.checked_sub(last).filter(|more| count == 0 || *more > 0);
        put(pages, difference.ok_or("its rows are not in the order of their pages")?);
        put(runs, run.len() as u64 - 1);
        encode_run(run, threads, loads, stores)?;
        (last, count) = (page, count + 1);
    }
    for value in [slice.number, slice.first.len() as u64, count, slice.rows.len() as u64] {
        put(into, value);
    }
    columns.iter().for_each(|column| put(into, column.len() as u64));
    columns.iter().for_each(|column| into.extend_from_slice(column));
    Ok(())
}

fn encode_run(
    run: &[Row],
    threads: &mut Vec<u8>,
    loads: &mut Vec<u8>,
    stores: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let mut last = None;
    for row in run {
        check(row.page, row.thread)?;
        let difference = row.thread.checked_sub(last.unwrap_or_default()).filter(|more| last.is_none() || *more > 0);
        put(threads, u64::from(difference.ok_or("the rows of a page are not in the order of their threads")?));
        put(loads, row.loads);
        put(stores, row.stores);
        last = Some(row.thread);
    }
    Ok(())
}

const fn check(page: u64, thread: u32) -> Result<(), &'static str> {
    if page >= MOST_PAGE {
        return Err("a page beyond the address space");
    }
    if thread >= MOST_THREADS { Err("more than 65,534 threads") } else { Ok(()) }
}

/// A receiver of the rows of a slice, page by page.
pub trait Rows {
    /// The following rows belong to this page.
    ///
    /// # Errors
    /// Why the receiver refuses the page.
    fn page(&mut self, page: u64) -> Result<(), &'static str>;
    /// Accesses of a thread to the present page.
    ///
    /// # Errors
    /// Why the receiver refuses the row.
    fn row(&mut self, thread: u32, loads: u64, stores: u64) -> Result<(), &'static str>;
}

/// A slice as it is stored in a block, not unpacked yet.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Its number.
    pub number: u64,
    first: usize,
    pages: usize,
    /// The number of its rows.
    pub rows: usize,
    columns: [&'a [u8]; COLUMNS],
}

impl<'a> View<'a> {
    /// Finds the columns. Counts cannot be larger than the number of bytes that encode them.
    ///
    /// # Errors
    /// Columns that contradict each other.
    pub fn new(bytes: &'a [u8]) -> Result<Self, &'static str> {
        Self::find(bytes).ok_or(BROKEN)
    }

    fn find(bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor(bytes);
        let number = cursor.next()?;
        let mut count = || usize::try_from(cursor.next()?).ok().filter(|count| *count <= bytes.len());
        let (first, pages, rows) = (count()?, count()?, count()?);
        let mut lengths = [0; COLUMNS];
        for length in &mut lengths {
            *length = count()?;
        }
        let mut rest = cursor.0;
        let mut columns = [&[] as &[u8]; COLUMNS];
        for (column, length) in columns.iter_mut().zip(lengths) {
            (*column, rest) = rest.split_at_checked(length)?;
        }
        let items = [first, first, pages, pages, rows, rows, rows];
        let fit = columns.iter().zip(items).all(|(column, items)| items <= column.len());
        (rest.is_empty() && fit).then_some(Self { number, first, pages, rows, columns })
    }

    /// The pages that were accessed for the first time, in order.
    ///
    /// # Errors
    /// Columns that contradict each other.
    pub fn first(&self) -> Result<Vec<FirstTouch>, &'static str> {
        let (mut pages, mut threads, mut last) = (Cursor(self.columns[0]), Cursor(self.columns[1]), 0);
        let mut next = || {
            let (page, thread) = (unzigzag(last, pages.next()?), u32::try_from(threads.next()?).ok()?);
            check(page, thread).ok()?;
            last = page;
            Some(FirstTouch { page, thread })
        };
        let all: Option<Vec<_>> = (0..self.first).map(|_| next()).collect();
        all.filter(|_| pages.0.is_empty() && threads.0.is_empty()).ok_or(BROKEN)
    }

    /// Passes all rows to a receiver.
    ///
    /// # Errors
    /// Columns that contradict each other, and rows that the receiver refuses.
    #[inline]
    pub fn show(&self, rows: &mut impl Rows) -> Result<(), &'static str> {
        let [_, _, mut pages, mut runs, mut threads, mut loads, mut stores] = self.columns.map(Cursor);
        let (mut page, mut left) = (0_u64, self.rows);
        for count in 0..self.pages {
            let (more, run) = (pages.next().ok_or(BROKEN)?, runs.next().ok_or(BROKEN)?);
            page = page.checked_add(more).filter(|page| *page < MOST_PAGE && (count == 0 || more > 0)).ok_or(BROKEN)?;
            let run = usize::try_from(run).ok().filter(|run| *run < left).ok_or(BROKEN)? + 1;
            left -= run;
            rows.page(page)?;
            let mut thread = 0_u32;
            for at in 0..run {
                let more = threads.next().ok_or(BROKEN)?;
                let (loads, stores) = (loads.next().ok_or(BROKEN)?, stores.next().ok_or(BROKEN)?);
                if more > u64::from(MOST_THREADS) || (at > 0 && more == 0) {
                    return Err(BROKEN);
                }
                #[expect(clippy::cast_possible_truncation, reason = "it is at most 65,535")]
                let next = thread + more as u32;
                if next >= MOST_THREADS {
                    return Err(BROKEN);
                }
                thread = next;
                rows.row(thread, loads, stores)?;
            }
        }
        let over = [pages, runs, threads, loads, stores].iter().all(|column| column.0.is_empty());
        if left == 0 && over { Ok(()) } else { Err(BROKEN) }
    }

    /// The slice, unpacked.
    ///
    /// # Errors
    /// Columns that contradict each other.
    pub fn slice(&self) -> Result<Slice, &'static str> {
        let mut all = All { page: 0, rows: Vec::with_capacity(self.rows) };
        self.show(&mut all)?;
        Ok(Slice { number: self.number, first: self.first()?, rows: all.rows })
    }
}

struct All {
    page: u64,
    rows: Vec<Row>,
}

impl Rows for All {
    fn page(&mut self, page: u64) -> Result<(), &'static str> {
        self.page = page;
        Ok(())
    }

    fn row(&mut self, thread: u32, loads: u64, stores: u64) -> Result<(), &'static str> {
        self.rows.push(Row { page: self.page, thread, loads, stores });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(page: u64, thread: u32, loads: u64, stores: u64) -> Row {
        Row { page, thread, loads, stores }
    }

    #[test]
    fn columns_hold_differences() {
        let slice = Slice {
            number: 3,
            first: vec![FirstTouch { page: 6, thread: 1 }, FirstTouch { page: 5, thread: 0 }],
            rows: vec![row(5, 0, 7, 0), row(5, 2, 300, 1), row(6, 1, 0, 9)],
        };
        let mut bytes = Vec::new();
        encode(&slice, &mut bytes).unwrap();
        let lengths = [2, 2, 2, 2, 3, 4, 3];
        let columns = [&[12, 1][..], &[1, 0], &[5, 1], &[1, 0], &[0, 2, 1], &[7, 0xac, 2, 0], &[0, 1, 9]].concat();
        assert_eq!(bytes, [&[3, 2, 2, 3][..], &lengths, &columns].concat());
        assert_eq!(View::new(&bytes).unwrap().slice().unwrap(), slice);
    }

    #[test]
    fn what_cannot_be_is_not_written() {
        let message =
            |rows: &[Row]| encode(&Slice { rows: rows.to_vec(), ..Slice::default() }, &mut Vec::new()).unwrap_err();
        assert_eq!(message(&[row(2, 0, 1, 1), row(1, 0, 1, 1)]), "its rows are not in the order of their pages");
        assert_eq!(
            message(&[row(2, 1, 1, 1), row(2, 1, 1, 1)]),
            "the rows of a page are not in the order of their threads"
        );
        assert_eq!(message(&[row(1 << 52, 0, 1, 1)]), "a page beyond the address space");
        assert_eq!(message(&[row(1, 65_535, 1, 1)]), "more than 65,534 threads");
        let page_0 = Slice { rows: vec![row(0, 0, 1, 0)], ..Slice::default() };
        let mut bytes = Vec::new();
        encode(&page_0, &mut bytes).unwrap();
        assert_eq!(View::new(&bytes).unwrap().slice().unwrap(), page_0);
    }

    #[test]
    fn columns_that_contradict_each_other_are_refused() {
        // Two pages but one row; a run that is longer than all rows; a count without bytes.
        for bytes in [
            &[0, 0, 2, 1, 0, 0, 2, 2, 1, 1, 1, 5, 1, 0, 0, 0, 1, 1][..],
            &[0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 5, 9, 0, 1, 1],
            &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7],
        ] {
            assert_eq!(View::new(bytes).and_then(|view| view.slice()), Err(BROKEN), "{bytes:?}");
        }
    }
}
