use super::*;
use crate::trace::{FirstTouch, Region, RegionKind, Row, Slice as TraceSlice, Thread, Writer};

fn row(page: u64, thread: u32, loads: u64, stores: u64) -> Row {
    Row { page, thread, loads, stores }
}

/// Two threads. Page 9 passes from T0 to T1 in the second slice; page 5 is used by T1.
fn trace() -> Vec<u8> {
    let header =
        Header { engine: "test".into(), sampled: None, page_bytes: 4096, slice_ns: 10_000_000, command: Vec::new() };
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    writer.thread(&Thread { number: 0, tid: 70, name: Some("main".into()) }).unwrap();
    writer.region(&Region { start: 0x9000, end: 0xa000, kind: RegionKind::Heap }).unwrap();
    let first = vec![FirstTouch { page: 9, thread: 0 }, FirstTouch { page: 5, thread: 0 }];
    let rows = vec![row(5, 0, 0, 1), row(9, 0, 6, 1)];
    writer.slice(&TraceSlice { number: 0, first, rows }).unwrap();
    writer.thread(&Thread { number: 4, tid: 74, name: None }).unwrap();
    // One slice in two blocks.
    writer.slice(&TraceSlice { number: 7, first: Vec::new(), rows: vec![row(5, 4, u64::MAX, 9)] }).unwrap();
    writer.slice(&TraceSlice { number: 7, first: Vec::new(), rows: vec![row(9, 0, 1, 0), row(9, 4, 2, 3)] }).unwrap();
    writer.end(&End { ran_ns: 80_000_000, status: Some(0), missing: Vec::new() }).unwrap();
    writer.into_inner()
}

#[test]
fn slices_are_summed_in_the_order_of_first_touch() {
    let profile = PageProfile::read(trace().as_slice()).unwrap();
    assert_eq!(
        profile.usage.pages().iter().map(|page| (page.number, page.first)).collect::<Vec<_>>(),
        [(9, 0), (5, 0)]
    );
    assert_eq!(profile.usage.row(0), [8, 0, 0, 0, 5]);
    assert_eq!(profile.usage.row(1), [1, 0, 0, 0, u64::MAX], "counts saturate");
    assert_eq!(profile.threads, ["main", "T1", "T2", "T3", "T4"]);
    assert_eq!(profile.structures.iter().map(|found| found.name.as_str()).collect::<Vec<_>>(), ["heap", "unknown"]);
    assert_eq!((profile.structure_of.as_slice(), profile.end.unwrap().ran_ns), (&[0, 1][..], 80_000_000));
}

#[test]
fn a_trace_that_was_cut_counts_up_to_there() {
    let whole = trace();
    let profile = PageProfile::read(&whole[..whole.len() - 3]).unwrap();
    assert_eq!((profile.usage.row(0), profile.end), (&[8, 0, 0, 0, 5][..], None));
}

#[test]
fn a_large_page_belongs_to_what_is_accessed_most_in_it() {
    let profile = PageProfile::read(trace().as_slice()).unwrap().with_pages_of(1 << 21).unwrap();
    assert_eq!((profile.usage.pages().len(), profile.structure_of.as_slice()), (1, &[1][..]));
    assert_eq!(profile.structures[1].name, "unknown");
}
