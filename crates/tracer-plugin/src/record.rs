//! What was counted but not written yet, and the thread that writes it, slice by slice.

use crate::cpus::{self, SLICE};
use crate::orders::{Note, Orders};
use crate::placement;
use crate::space::Space;
use isobar_pages::trace::{FirstTouch, Placed, Row, Slice, Thread, TraceError, Writer};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of rounds to wait for a thread to leave the program at the end.
const PATIENCE: usize = 10_000;
/// A slice's length divided by this number is how long the writer waits after a slice. Within that
/// time, running threads notice that the slice is over, and hand in their counts.
const LAG: u32 = 10;
/// The beginning of a note that the kernel did not say where pages are; the reason follows.
const NOT_PLACED: &str = "on which nodes the pages lay: move_pages";

/// State shared by all threads.
pub struct Record {
    orders: Orders,
    /// The address space.
    pub space: Mutex<Space>,
    /// Pages that any thread has accessed, and those among them that are not written yet.
    first: Mutex<First>,
    counts: Mutex<Counts>,
    writer: Mutex<Option<Writer<File>>>,
    /// Number of nodes of this machine; 0 once the kernel has refused to say where pages are.
    nodes: AtomicU32,
}

/// Which pages to ask the kernel about.
#[derive(Clone, Copy)]
enum Ask<'a> {
    /// Pages of a slice that no thread had accessed before.
    New(&'a [FirstTouch]),
    /// All pages.
    All,
}

#[derive(Default)]
struct First {
    known: HashSet<u64>,
    fresh: Vec<FirstTouch>,
}

#[derive(Default)]
struct Counts {
    rows: Vec<Row>,
    threads: Vec<Thread>,
}

/// Takes a lock even if another thread panicked while holding it: no update is left half-done.
fn open<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Record {
    /// Starts the file.
    ///
    /// # Errors
    /// An error of the file.
    pub fn new(orders: Orders) -> Result<Self, TraceError> {
        let writer = Writer::new(File::create(&orders.trace)?, &orders.header)?;
        Ok(Self {
            orders,
            space: Mutex::default(),
            first: Mutex::default(),
            counts: Mutex::default(),
            writer: Mutex::new(Some(writer)),
            nodes: AtomicU32::new(placement::nodes()),
        })
    }

    /// Takes counts that a thread hands in.
    pub fn hand_in(&self, take: impl FnOnce(&mut Vec<Row>)) {
        take(&mut open(&self.counts).rows);
    }

    /// A thread runs for the first time.
    pub fn thread(&self, thread: Thread) {
        open(&self.counts).threads.push(thread);
    }

    /// Notes that a thread accesses a page for the first time; returns whether no thread had
    /// accessed the page before.
    pub fn first_touch(&self, page: u64, thread: u32) -> bool {
        let mut first = open(&self.first);
        let new = first.known.insert(page);
        if new {
            first.fresh.push(FirstTouch { page, thread });
        }
        new
    }

    /// Closes one slice after another, forever.
    pub fn run(&self) {
        let length = Duration::from_nanos(self.orders.header.slice_ns);
        let begun = Instant::now();
        for number in 0_u32.. {
            let over = begun + length * (number + 1);
            std::thread::sleep(over.saturating_duration_since(Instant::now()));
            SLICE.store(number + 1, Ordering::Relaxed);
            self.hand_in(|rows| cpus::take_paused(number + 1, None, rows));
            std::thread::sleep(length / LAG);
            self.write(u64::from(number), false);
        }
    }

    /// Writes everything: at the end of the program (`ended`), when no thread runs, or before the
    /// process becomes another program. In the second case, counts of threads that still run are
    /// lost since the start of the slice.
    pub fn close(&self, ended: bool) {
        let slice = SLICE.load(Ordering::Relaxed);
        self.hand_in(|rows| cpus::take_paused(slice, ended.then_some(PATIENCE), rows));
        self.write(u64::from(slice), true);
    }

    /// Writes a slice, and where its new pages are. For the last slice, writes where all pages are.
    fn write(&self, number: u64, last: bool) {
        let mut writer = open(&self.writer);
        let Some(out) = writer.as_mut() else { return };
        let regions = open(&self.space).take();
        let Counts { mut rows, threads } = std::mem::take(&mut *open(&self.counts));
        // Behind the counts: a page is known before it is counted.
        let first = std::mem::take(&mut open(&self.first).fresh);
        sort(&mut rows);
        let placed = self.placed(number, if last { Ask::All } else { Ask::New(&first) });
        let written = (|| {
            threads.iter().try_for_each(|thread| out.thread(thread))?;
            regions.iter().try_for_each(|region| out.region(region))?;
            if rows.is_empty() && first.is_empty() { Ok(()) } else { out.slice(&Slice { number, first, rows }) }?;
            placed.iter().try_for_each(|placed| out.placed(placed))
        })();
        if let Err(error) = written {
            *writer = None;
            cpus::stop();
            self.note(&Note::Failed(format!("{}: {error}", self.orders.trace.display())));
        }
    }

    /// Where pages are now; `None` if there are no pages to ask about, or the kernel does not say.
    fn placed(&self, slice: u64, ask: Ask<'_>) -> Option<Placed> {
        let nodes = self.nodes.load(Ordering::Relaxed);
        let mut pages: Vec<u64> = match ask {
            Ask::New(first) => first.iter().map(|touch| touch.page).collect(),
            Ask::All => open(&self.first).known.iter().copied().collect(),
        };
        if nodes == 0 || pages.is_empty() {
            return None;
        }
        pages.sort_unstable();
        let found = placement::of(&pages, placement::base(), slice, nodes);
        if let Err(why) = &found {
            self.nodes.store(0, Ordering::Relaxed);
            self.note(&Note::Missing(format!("{NOT_PLACED}: {why}")));
        }
        found.ok()
    }

    /// Appends a note; returns the length of the notes before.
    pub fn note(&self, note: &Note) -> Option<u64> {
        let mut notes = OpenOptions::new().append(true).create(true).open(&self.orders.notes).ok()?;
        let before = notes.metadata().ok()?.len();
        notes.write_all(note.line().as_bytes()).ok()?;
        Some(before)
    }

    /// Truncates the notes to a length, which takes notes back.
    pub fn shorten_notes(&self, to: u64) {
        let notes = OpenOptions::new().write(true).open(&self.orders.notes);
        let _ = notes.and_then(|notes| notes.set_len(to));
    }
}

/// Sorts by pages and threads; rows for the same pair are summed.
fn sort(rows: &mut Vec<Row>) {
    rows.sort_unstable();
    rows.dedup_by(|next, row| {
        let same = (next.page, next.thread) == (row.page, row.thread);
        if same {
            row.loads += next.loads;
            row.stores += next.stores;
        }
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_thread_that_came_late_are_added() {
        let row = |page, thread, loads| Row { page, thread, loads, stores: 1 };
        let mut rows = vec![row(2, 0, 5), row(1, 1, 4), row(1, 0, 3), row(1, 1, 2)];
        sort(&mut rows);
        assert_eq!(rows, [row(1, 0, 3), Row { page: 1, thread: 1, loads: 6, stores: 2 }, row(2, 0, 5)]);
    }
}
