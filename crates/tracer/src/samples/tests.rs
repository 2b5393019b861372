use super::pages::AGAIN_NS;
use super::*;
use isobar_pages::PageProfile;
use isobar_pages::trace::{Part, Reader};
use proptest::prelude::*;

const SLICE: u64 = 10_000_000;

fn header() -> Header {
    Header { engine: "perf".into(), sampled: Some(100), page_bytes: 4096, slice_ns: SLICE, command: vec![] }
}

fn record(tid: u32, time: u64, what: RecordKind) -> Record {
    Record { pid: 70, tid, time, what }
}

fn at(tid: u32, time: u64, address: u64) -> Record {
    record(tid, time, RecordKind::Access { address, load: false, store: false })
}

fn slices(bytes: &[u8]) -> Vec<Slice> {
    let parts = Reader::new(bytes).unwrap().map(Result::unwrap);
    parts.filter_map(|part| if let Part::Slice(slice) = part { Some(slice) } else { None }).collect()
}

fn traced(records: Vec<(BufferContent, Record)>) -> (Vec<u8>, Vec<String>) {
    let mut samples = Samples::new(Vec::new(), &header()).unwrap();
    records.into_iter().for_each(|(of, record)| samples.add(of, record));
    let missing = samples.finish().unwrap();
    (samples.writer.into_inner(), missing)
}

#[test]
fn samples_of_several_buffers_are_one_trace_in_the_order_of_time() {
    let begun = 5_000;
    let both = |load, store| RecordKind::Access { address: 0x3008, load, store };
    let (bytes, missing) = traced(vec![
        (BufferContent::Faults, record(70, begun, RecordKind::Exec)),
        (BufferContent::Faults, record(71, begun + 5, RecordKind::Begun)),
        (BufferContent::Faults, at(71, begun + 20, 0x3000)),
        (BufferContent::Faults, at(70, begun + SLICE, 0x9000)),
        (BufferContent::Loads, at(70, begun + 10, 0x2fff)),
        (BufferContent::Loads, at(70, begun + 30, 0x3000)),
        (BufferContent::Loads, at(71, begun + SLICE + 1, 0)),
        (BufferContent::Loads, at(71, begun + 40, u64::MAX - 8)),
        (BufferContent::Stores, at(71, begun + 2 * SLICE, 0x3010)),
        (BufferContent::Both, record(70, begun + 2 * SLICE + 1, both(true, true))),
        (BufferContent::Both, record(70, begun + 2 * SLICE + 2, both(false, false))),
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
    let child = |pid| Record { pid, tid: pid, time: 9, what: RecordKind::Begun };
    let mut records = vec![
        (BufferContent::Faults, record(70, 1, RecordKind::Exec)),
        (BufferContent::Faults, record(70, 5, RecordKind::Lost(3))),
        (BufferContent::Loads, record(70, 5, RecordKind::Lost(4))),
        (BufferContent::Loads, record(70, 6, RecordKind::Throttled)),
        (BufferContent::Loads, at(70, 7, 0x1000)),
        (BufferContent::Faults, record(70, 10, RecordKind::Exec)),
        (BufferContent::Loads, at(70, 11, 0x1000)),
    ];
    records.extend((100..110).map(|pid| (BufferContent::Faults, child(pid))));
    let (bytes, missing) = traced(records);
    assert_eq!(slices(&bytes)[0].rows, [Row { page: 1, thread: 0, loads: 1, stores: 0 }]);
    let expected = [
        "process 107, which the program forked, was not followed",
        "2 more processes that the program forked were not followed",
        "the program that it started by exec was not followed",
        "7 samples or more: they came faster than they were read",
        "samples that the kernel left out because they came too often (kernel.perf_event_max_sample_rate)",
    ];
    assert_eq!(missing[7..], expected);
}

#[test]
fn slices_are_written_when_nothing_more_comes_and_late_samples_count_in_the_next() {
    let mut samples = Samples::new(Vec::new(), &header()).unwrap();
    let mut look = |time: u64| {
        samples.add(BufferContent::Loads, at(70, time, 0x1000));
        samples.write().unwrap();
        samples.open.keys().copied().collect::<Vec<_>>()
    };
    // Another buffer may still have older records.
    assert_eq!(look(1), [0; 0]);
    assert_eq!(look(LATE_NS + 3 * SLICE), [0]);
    assert_eq!(look(LATE_NS + 3 * SLICE), [0, 22]);
    // Only now are the records that arrived by the round before known to be old enough.
    assert_eq!(look(LATE_NS + 3 * SLICE), [22]);
    assert_eq!(look(2), [22]);
    samples.finish().unwrap();
    let written = samples.writer.into_inner();
    assert_eq!(slices(&written).iter().map(|slice| slice.number).collect::<Vec<_>>(), [0, 1, 22]);
}

#[test]
fn new_pages_are_asked_for_at_once_and_all_once_a_second() {
    let mut samples = Samples::new(Vec::new(), &header()).unwrap();
    samples.add(BufferContent::Faults, record(70, 1, RecordKind::Exec));
    let mut look = |time: u64, address: u64| {
        samples.add(BufferContent::Loads, at(70, time, address));
        // Records that arrived in this round count from the next round on.
        samples.write().unwrap();
        samples.write().unwrap();
        let mut asked = Vec::new();
        let answer = |pid, pages: &[u64]| {
            asked = pages.to_vec();
            assert_eq!(pid, 70);
            Ok::<_, ()>(pages.iter().map(|page| (*page != 2).then_some(1)).collect())
        };
        samples.place(2, answer).unwrap().unwrap();
        asked
    };
    assert_eq!([look(5, 0x1000), look(6, 0x2000), look(7, 0x2008)], [vec![1], vec![2], vec![]]);
    assert_eq!(look(AGAIN_NS + 9, 0x3000), [1, 2, 3]);
    samples.finish().unwrap();
    let profile = PageProfile::read(samples.writer.into_inner().as_slice()).unwrap();
    let linux = profile.linux.unwrap();
    assert_eq!((linux.nodes, linux.node_of), (2, vec![Some(1), None, Some(1)]));
}

#[test]
fn mappings_are_regions_by_their_names() {
    let map = |start, path: &str| {
        (
            BufferContent::Faults,
            record(70, 5, RecordKind::Mapped { start, length: 4096, offset: 8192, path: path.to_owned() }),
        )
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
    // A mapping after the last address has no bytes.
    assert_eq!(kinds, [anonymous(0), RegionKind::Heap, RegionKind::Stack(0), file, anonymous(2)]);
}

fn any_record() -> impl Strategy<Value = (BufferContent, Record)> {
    let number = || prop_oneof![0..4_u64, any::<u64>()];
    let what = prop_oneof![
        4 => (number(), any::<bool>(), any::<bool>())
            .prop_map(|(address, load, store)| RecordKind::Access { address, load, store }),
        1 => Just(RecordKind::Begun),
        1 => Just(RecordKind::Exec),
        1 => (number(), number(), number(), "[a-z/]{0,8}")
            .prop_map(|(start, length, offset, path)| RecordKind::Mapped { start, length, offset, path }),
        1 => number().prop_map(RecordKind::Lost),
        1 => Just(RecordKind::Throttled),
    ];
    let of = prop_oneof![
        Just(BufferContent::Faults),
        Just(BufferContent::Loads),
        Just(BufferContent::Stores),
        Just(BufferContent::Both)
    ];
    (of, 0..3_u32, 0..3_u32, number(), what)
        .prop_map(|(of, pid, tid, time, what)| (of, Record { pid, tid, time, what }))
}

proptest! {
    /// Whatever the kernel reports, in whatever order, the trace can be read, and contains no more
    /// accesses than there were samples.
    #[test]
    fn any_records_make_a_trace_that_can_be_read(
        looks in proptest::collection::vec(proptest::collection::vec(any_record(), 0..12), 0..6),
    ) {
        let samples = looks.iter().flatten().filter(|(_, one)| matches!(one.what, RecordKind::Access { .. })).count();
        let mut trace = Samples::new(Vec::new(), &header()).unwrap();
        for look in looks {
            look.into_iter().for_each(|(of, record)| trace.add(of, record));
            trace.write().unwrap();
            let everywhere = |_, pages: &[u64]| Ok::<_, ()>(vec![Some(1); pages.len()]);
            trace.place(2, everywhere).unwrap().unwrap();
        }
        trace.finish().unwrap();
        let file = trace.writer.into_inner();
        let parts = Reader::new(file.as_slice()).unwrap();
        let slices = parts.filter_map(|part| if let Part::Slice(slice) = part.unwrap() { Some(slice) } else { None });
        let counts: u64 = slices.flat_map(|slice| slice.rows).map(|row| row.loads + row.stores).sum();
        prop_assert!(counts <= 2 * samples as u64, "{counts} of {samples}");
    }
}
