//! Parses what the kernel writes about a program whose accesses are sampled, as pure bytes. Only
//! records of the form that [`super`] asks for are read: every record except a sample ends in
//! process, thread and time.

use crate::perf::records::{field, with_misc};
use perf_event_open_sys::bindings;

/// The fields of a sample: process and thread, time, address, kind of access.
pub const SAMPLE_TYPE: u32 = bindings::PERF_SAMPLE_TID
    | bindings::PERF_SAMPLE_TIME
    | bindings::PERF_SAMPLE_ADDR
    | bindings::PERF_SAMPLE_DATA_SRC;

/// Length of process, thread and time, which follow every record that is not a sample.
const TRAILER: usize = 16;
/// Position of the path in a record of a mapping.
const PATH: usize = 64;
/// Bits of the kind of access (`PERF_MEM_OP_LOAD`, `PERF_MEM_OP_STORE`).
const LOAD: u64 = 2;
const STORE: u64 = 4;

/// A record of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Nanoseconds by the clock of perf events, the same on all CPUs.
    pub time: u64,
    /// What happened.
    pub what: RecordKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// An access was sampled.
    Access {
        /// its address; 0 where the hardware knew none
        address: u64,
        /// whether the hardware says that it loaded
        load: bool,
        /// whether the hardware says that it stored
        store: bool,
    },
    /// The thread, or the whole process, is new.
    Begun,
    /// The process became another program.
    Exec,
    /// Address space was mapped.
    Mapped {
        /// first address
        start: u64,
        /// bytes
        length: u64,
        /// where in the file, bytes
        offset: u64,
        /// path of the file, or `//anon`, `[heap]`, `[stack]` and other names in brackets
        path: String,
    },
    /// The number of records that were lost because the buffer was full.
    Lost(u64),
    /// Samples came too often for the kernel, which left some out.
    Throttled,
}

/// The records in the bytes of a ring buffer; records of other kinds are skipped.
pub fn parse(bytes: &[u8]) -> impl Iterator<Item = Record> + '_ {
    with_misc(bytes).filter_map(|(kind, misc, body)| {
        if kind == bindings::PERF_RECORD_SAMPLE { sample(body) } else { other(kind, misc, body) }
    })
}

fn sample(body: &[u8]) -> Option<Record> {
    let (address, source) = (u64::from_ne_bytes(field(body, 16)?), u64::from_ne_bytes(field(body, 24)?));
    let what = RecordKind::Access { address, load: source & LOAD > 0, store: source & STORE > 0 };
    Some(who(body, 0)?.of(what))
}

fn other(kind: u32, misc: u16, body: &[u8]) -> Option<Record> {
    let trailer = body.len().checked_sub(TRAILER)?;
    let what = match kind {
        bindings::PERF_RECORD_FORK => return begun(body),
        bindings::PERF_RECORD_COMM if u32::from(misc) & bindings::PERF_RECORD_MISC_COMM_EXEC > 0 => RecordKind::Exec,
        bindings::PERF_RECORD_MMAP2 => mapped(&body[..trailer])?,
        bindings::PERF_RECORD_LOST => RecordKind::Lost(u64::from_ne_bytes(field(body, 8)?)),
        bindings::PERF_RECORD_LOST_SAMPLES => RecordKind::Lost(u64::from_ne_bytes(field(body, 0)?)),
        bindings::PERF_RECORD_THROTTLE => RecordKind::Throttled,
        _ => return None,
    };
    Some(who(body, trailer)?.of(what))
}

/// Process, its parent, thread, its parent, time: the thread is the new one.
fn begun(body: &[u8]) -> Option<Record> {
    let (pid, tid) = (u32::from_ne_bytes(field(body, 0)?), u32::from_ne_bytes(field(body, 8)?));
    Some(Record { pid, tid, time: u64::from_ne_bytes(field(body, 16)?), what: RecordKind::Begun })
}

fn mapped(body: &[u8]) -> Option<RecordKind> {
    let number = |at| Some(u64::from_ne_bytes(field(body, at)?));
    let path = body.get(PATH..)?.split(|byte| *byte == 0).next()?;
    let path = String::from_utf8_lossy(path).into_owned();
    Some(RecordKind::Mapped { start: number(8)?, length: number(16)?, offset: number(24)?, path })
}

/// Process, thread and time.
struct Who(u32, u32, u64);

impl Who {
    const fn of(self, what: RecordKind) -> Record {
        Record { pid: self.0, tid: self.1, time: self.2, what }
    }
}

fn who(body: &[u8], at: usize) -> Option<Who> {
    let number = |at| Some(u32::from_ne_bytes(field(body, at)?));
    Some(Who(number(at)?, number(at + 4)?, u64::from_ne_bytes(field(body, at + 8)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::records::tests::record;
    use proptest::prelude::*;

    fn numbers(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    fn longs(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    fn trailer() -> Vec<u8> {
        [numbers(&[7, 8]), longs(&[99])].concat()
    }

    fn read(bytes: &[u8]) -> Vec<Record> {
        parse(bytes).collect()
    }

    fn of(what: RecordKind) -> Record {
        Record { pid: 7, tid: 8, time: 99, what }
    }

    #[test]
    fn samples_say_who_when_where_and_what() {
        let sample = |source: u64| {
            let body = [trailer(), longs(&[0xdead_b000, source])].concat();
            record(bindings::PERF_RECORD_SAMPLE, &body)
        };
        let access = |load, store| of(RecordKind::Access { address: 0xdead_b000, load, store });
        // The levels and locks of a real source stand in the bits above the kind.
        let bytes = [sample(0x0500_1000_0142), sample(0x4), sample(0x1)].concat();
        assert_eq!(read(&bytes), [access(true, false), access(false, true), access(false, false)]);
    }

    #[test]
    fn threads_mappings_and_losses_are_read_and_the_rest_is_stepped_over() {
        let fork = [numbers(&[7, 1, 9, 8]), longs(&[98]), trailer()].concat();
        let mut path = b"/usr/lib/libm.so.6".to_vec();
        path.resize(24, 0);
        let map = [numbers(&[7, 8]), longs(&[0x1000, 0x3000, 0x2000, 0, 0, 0]), numbers(&[5, 2]), path, trailer()];
        let mut exec = record(bindings::PERF_RECORD_COMM, &[numbers(&[7, 8]), vec![0; 8], trailer()].concat());
        let named = exec.clone();
        exec[5] = 0x20;
        let bytes = [
            record(bindings::PERF_RECORD_FORK, &fork),
            record(bindings::PERF_RECORD_MMAP2, &map.concat()),
            named,
            exec,
            record(bindings::PERF_RECORD_EXIT, &fork),
            record(bindings::PERF_RECORD_LOST, &[longs(&[1, 17]), trailer()].concat()),
            record(bindings::PERF_RECORD_THROTTLE, &[longs(&[1, 2, 3]), trailer()].concat()),
        ];
        let path = "/usr/lib/libm.so.6".to_owned();
        let expected = [
            Record { pid: 7, tid: 9, time: 98, what: RecordKind::Begun },
            of(RecordKind::Mapped { start: 0x1000, length: 0x3000, offset: 0x2000, path }),
            of(RecordKind::Exec),
            of(RecordKind::Lost(17)),
            of(RecordKind::Throttled),
        ];
        assert_eq!(read(&bytes.concat()), expected);
    }

    proptest! {
        #[test]
        fn any_bytes_are_records_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(parse(&bytes).count() <= bytes.len() / 8);
        }
    }
}
