//! What becomes of sampled accesses: a trace, slice by slice. Buffers of several CPUs come one
//! after the other, so a slice stays open for a while.

use isobar_linux::sensors::memory::program::Of;
use isobar_linux::sensors::memory::program::records::{Record, What};
use isobar_pages::trace::{FirstTouch, Header, MOST_PAGE, MOST_THREADS, Region, RegionKind, Row, Slice, Thread};
use isobar_pages::trace::{TraceError, Writer};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// How long samples may be on their way: hardware hands some in only when its own buffer is full.
const LATE_NS: u64 = 200_000_000;
/// From here on addresses are the kernel's.
const USER: u64 = 1 << 56;
/// Most children that are named one by one.
const MOST_NAMED: usize = 8;

/// Loads and stores.
type Counts = (u64, u64);

/// A trace in the making.
#[derive(Debug)]
pub struct Samples<W: Write> {
    writer: Writer<W>,
    page_bytes: u64,
    slice_ns: u64,
    /// Come since the last look.
    new: Vec<(Of, Record)>,
    /// The process, and when it began.
    program: Option<(u32, u64)>,
    /// Numbers of the threads by tid.
    threads: BTreeMap<u32, u32>,
    next_thread: u32,
    anonymous: u32,
    touched: BTreeSet<u64>,
    open: BTreeMap<u64, Open>,
    /// Slices below this are written.
    written: u64,
    /// The latest time in this look, and in the one before.
    newest: (u64, u64),
    /// The latest time of what had come by the look before.
    looked: u64,
    /// It has begun, by exec.
    begun: bool,
    /// It has become another program, by another.
    over: bool,
    children: BTreeSet<u32>,
    lost: u64,
    throttled: bool,
    too_many: bool,
}

/// A slice that is not written yet.
#[derive(Debug, Default)]
struct Open {
    first: Vec<FirstTouch>,
    counts: BTreeMap<(u64, u32), Counts>,
}

impl<W: Write> Samples<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// What the file says.
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
            touched: BTreeSet::new(),
            open: BTreeMap::new(),
            written: 0,
            newest: (0, 0),
            looked: 0,
            begun: false,
            over: false,
            children: BTreeSet::new(),
            lost: 0,
            throttled: false,
            too_many: false,
        })
    }

    /// A record came.
    pub fn add(&mut self, of: Of, record: Record) {
        self.new.push((of, record));
    }

    /// Takes in what came, and writes the slices that are over.
    ///
    /// # Errors
    /// What the file says.
    pub fn write(&mut self) -> Result<(), TraceError> {
        // Buffers are read one after the other, so that what is newer than the look before may
        // not be whole: of a thread that begins on one CPU and runs on another, the begin may be
        // missing.
        self.new.sort_by_key(|(_, record)| record.time);
        let newest = self.new.last().map_or(0, |(_, record)| record.time);
        let whole = self.new.partition_point(|(_, record)| record.time <= self.looked);
        let later = self.new.split_off(whole);
        for (of, record) in std::mem::replace(&mut self.new, later) {
            self.take(of, record)?;
        }
        self.looked = self.looked.max(newest);
        // What is older than all that came by the last look, and long enough, comes no more.
        let begun = self.program.map_or(0, |(_, begun)| begun);
        let over = self.newest.1.saturating_sub(LATE_NS).saturating_sub(begun) / self.slice_ns;
        self.newest.1 = self.newest.0;
        self.close_below(over)
    }

    /// Writes what is left; what is missing, a sentence each.
    ///
    /// # Errors
    /// What the file says.
    pub fn finish(&mut self) -> Result<Vec<String>, TraceError> {
        self.looked = u64::MAX;
        self.write()?;
        self.close_below(u64::MAX)?;
        let mut missing: Vec<String> = self
            .children
            .iter()
            .take(MOST_NAMED)
            .map(|pid| format!("process {pid}, which the program forked, was not followed"))
            .collect();
        let more = self.children.len().saturating_sub(MOST_NAMED);
        missing
            .extend((more > 0).then(|| format!("{more} processes more, which the program forked, were not followed")));
        missing.extend(self.over.then(|| "what the program became by exec was not followed".to_owned()));
        missing.extend(
            (self.lost > 0).then(|| format!("{} samples or more: they came faster than they were read", self.lost)),
        );
        missing.extend(self.throttled.then(|| {
            "samples that the kernel left out, as they came too often (kernel.perf_event_max_sample_rate)".to_owned()
        }));
        missing.extend(self.too_many.then(|| format!("threads beyond {MOST_THREADS}")));
        Ok(missing)
    }

    fn take(&mut self, of: Of, record: Record) -> Result<(), TraceError> {
        let Record { pid, tid, time, what } = record;
        if let What::Lost(lost) = what {
            self.lost = self.lost.saturating_add(lost);
            return Ok(());
        }
        // Nothing is on before the program is.
        let (program, begun) = *self.program.get_or_insert((pid, time));
        if pid != program {
            self.children.insert(pid);
            return Ok(());
        }
        self.newest.0 = self.newest.0.max(time);
        let slice = (time.saturating_sub(begun) / self.slice_ns).max(self.written);
        match what {
            What::Exec => self.over |= std::mem::replace(&mut self.begun, true),
            _ if self.over => {}
            What::Begun => {
                self.threads.remove(&tid);
                self.thread(tid)?;
            }
            What::Mapped { start, length, offset, path } => self.mapped(start, length, offset, &path)?,
            What::Throttled => self.throttled = true,
            What::Access { address, load, store } => self.access(of, slice, tid, address, load, store)?,
            What::Lost(_) => {}
        }
        Ok(())
    }

    fn access(
        &mut self,
        of: Of,
        slice: u64,
        tid: u32,
        address: u64,
        load: bool,
        store: bool,
    ) -> Result<(), TraceError> {
        let page = address / self.page_bytes;
        // 0 is not known.
        if address == 0 || address >= USER || page >= MOST_PAGE {
            return Ok(());
        }
        let Some(thread) = self.thread(tid)? else { return Ok(()) };
        let open = self.open.entry(slice).or_default();
        if self.touched.insert(page) {
            open.first.push(FirstTouch { page, thread });
        }
        let count = match of {
            Of::Faults => return Ok(()),
            Of::Loads => (1, 0),
            Of::Stores => (0, 1),
            Of::Both => (u64::from(load || !store), u64::from(store)),
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
            self.too_many = true;
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
mod tests {
    use super::*;
    use isobar_pages::PageProfile;
    use isobar_pages::trace::{Part, Reader};

    const SLICE: u64 = 10_000_000;

    fn header() -> Header {
        Header { engine: "perf".into(), sampled: Some(100), page_bytes: 4096, slice_ns: SLICE, command: vec![] }
    }

    fn record(tid: u32, time: u64, what: What) -> Record {
        Record { pid: 70, tid, time, what }
    }

    fn at(tid: u32, time: u64, address: u64) -> Record {
        record(tid, time, What::Access { address, load: false, store: false })
    }

    fn slices(bytes: &[u8]) -> Vec<Slice> {
        let parts = Reader::new(bytes).unwrap().map(Result::unwrap);
        parts.filter_map(|part| if let Part::Slice(slice) = part { Some(slice) } else { None }).collect()
    }

    fn traced(records: Vec<(Of, Record)>) -> (Vec<u8>, Vec<String>) {
        let mut samples = Samples::new(Vec::new(), &header()).unwrap();
        records.into_iter().for_each(|(of, record)| samples.add(of, record));
        let missing = samples.finish().unwrap();
        (samples.writer.into_inner(), missing)
    }

    #[test]
    fn samples_of_several_buffers_are_one_trace_in_the_order_of_time() {
        let begun = 5_000;
        let both = |load, store| What::Access { address: 0x3008, load, store };
        let (bytes, missing) = traced(vec![
            (Of::Faults, record(70, begun, What::Exec)),
            (Of::Faults, record(71, begun + 5, What::Begun)),
            (Of::Faults, at(71, begun + 20, 0x3000)),
            (Of::Faults, at(70, begun + SLICE, 0x9000)),
            (Of::Loads, at(70, begun + 10, 0x2fff)),
            (Of::Loads, at(70, begun + 30, 0x3000)),
            (Of::Loads, at(71, begun + SLICE + 1, 0)),
            (Of::Loads, at(71, begun + 40, u64::MAX - 8)),
            (Of::Stores, at(71, begun + 2 * SLICE, 0x3010)),
            (Of::Both, record(70, begun + 2 * SLICE + 1, both(true, true))),
            (Of::Both, record(70, begun + 2 * SLICE + 2, both(false, false))),
        ]);
        let first = |page, thread| FirstTouch { page, thread };
        let row = |page, thread, loads, stores| Row { page, thread, loads, stores };
        let slice = |number, first, rows| Slice { number, first, rows };
        let expected = [
            slice(0, vec![first(2, 1), first(3, 0)], vec![row(2, 1, 1, 0), row(3, 1, 1, 0)]),
            slice(1, vec![first(9, 1)], vec![]),
            slice(2, vec![], vec![row(3, 0, 0, 1), row(3, 1, 2, 1)]),
        ];
        assert_eq!(slices(&bytes), expected, "the thread that began first is T0");
        assert_eq!(missing, [""; 0]);
        let profile = PageProfile::read(bytes.as_slice()).unwrap();
        assert_eq!((profile.header.sampled, profile.usage.row(2)), (Some(100), [0, 0].as_slice()));
    }

    #[test]
    fn what_is_missing_is_named() {
        let child = |pid| Record { pid, tid: pid, time: 9, what: What::Begun };
        let mut records = vec![
            (Of::Faults, record(70, 1, What::Exec)),
            (Of::Faults, record(70, 5, What::Lost(3))),
            (Of::Loads, record(70, 5, What::Lost(4))),
            (Of::Loads, record(70, 6, What::Throttled)),
            (Of::Loads, at(70, 7, 0x1000)),
            (Of::Faults, record(70, 10, What::Exec)),
            (Of::Loads, at(70, 11, 0x1000)),
        ];
        records.extend((100..110).map(|pid| (Of::Faults, child(pid))));
        let (bytes, missing) = traced(records);
        assert_eq!(slices(&bytes)[0].rows, [Row { page: 1, thread: 0, loads: 1, stores: 0 }]);
        let expected = [
            "process 107, which the program forked, was not followed",
            "2 processes more, which the program forked, were not followed",
            "what the program became by exec was not followed",
            "7 samples or more: they came faster than they were read",
            "samples that the kernel left out, as they came too often (kernel.perf_event_max_sample_rate)",
        ];
        assert_eq!(missing[7..], expected);
    }

    #[test]
    fn slices_are_written_when_nothing_more_comes_and_late_samples_count_in_the_next() {
        let mut samples = Samples::new(Vec::new(), &header()).unwrap();
        let mut look = |time: u64| {
            samples.add(Of::Loads, at(70, time, 0x1000));
            samples.write().unwrap();
            samples.open.keys().copied().collect::<Vec<_>>()
        };
        // Another buffer may have older ones yet.
        assert_eq!(look(1), [0; 0]);
        assert_eq!(look(LATE_NS + 3 * SLICE), [0]);
        assert_eq!(look(LATE_NS + 3 * SLICE), [0, 22]);
        // Only now is what came by the look before known to be old.
        assert_eq!(look(LATE_NS + 3 * SLICE), [22]);
        assert_eq!(look(2), [22]);
        samples.finish().unwrap();
        let written = samples.writer.into_inner();
        assert_eq!(slices(&written).iter().map(|slice| slice.number).collect::<Vec<_>>(), [0, 1, 22]);
    }

    #[test]
    fn mappings_are_regions_by_their_names() {
        let map = |start, path: &str| {
            (Of::Faults, record(70, 5, What::Mapped { start, length: 4096, offset: 8192, path: path.to_owned() }))
        };
        let all = [
            map(4096, "//anon"),
            map(8192, "[heap]"),
            map(12288, "[stack]"),
            map(16384, "/usr/lib/a.so"),
            map(20480, "[vdso]"),
            map(u64::MAX, "//anon"),
            map(32768, "//anon"),
        ];
        let (bytes, _) = traced(all.to_vec());
        let parts = Reader::new(bytes.as_slice()).unwrap().map(Result::unwrap);
        let kinds: Vec<_> =
            parts.filter_map(|part| if let Part::Region(region) = part { Some(region.kind) } else { None }).collect();
        let file = RegionKind::File { path: "/usr/lib/a.so".to_owned(), offset: 8192 };
        let anonymous = |order| RegionKind::Anonymous { order };
        // One behind the last address has no bytes.
        assert_eq!(kinds, [anonymous(0), RegionKind::Heap, RegionKind::Stack(0), file, anonymous(2)]);
    }
}
