//! What is written can be read back. A file that is cut or damaged can be read up to that point.

use super::*;
use proptest::prelude::*;

fn header() -> Header {
    Header {
        engine: "test".to_owned(),
        sampled: None,
        page_bytes: 4096,
        slice_ns: 10_000_000,
        command: vec!["./matrix".to_owned(), "4".to_owned()],
    }
}

fn end() -> End {
    End { ran_ns: 5, status: Some(0), missing: vec!["process 7 became /bin/true".to_owned()] }
}

prop_compose! {
    fn slices()(
        touched in proptest::collection::vec((0..MOST_PAGE, 0..100_u32), 0..6),
        rows in proptest::collection::btree_map((0..3000_u64, 0..70_u32), (any::<u64>(), 0..9_u64), 0..60),
        number in any::<u64>(),
    ) -> Slice {
        let first = touched.into_iter().map(|(page, thread)| FirstTouch { page, thread }).collect();
        let row = |((page, thread), (loads, stores))| Row { page, thread, loads, stores };
        Slice { number, first, rows: rows.into_iter().map(row).collect() }
    }
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let thread = (0..65_534_u32, any::<u32>(), proptest::option::of("[a-z ]{0,8}"));
    let thread = thread.prop_map(|(number, tid, name)| Part::Thread(Thread { number, tid, name }));
    let kind = prop_oneof![
        any::<u32>().prop_map(RegionKind::Stack),
        Just(RegionKind::Heap),
        ("[a-z/]{1,9}", any::<u64>()).prop_map(|(path, offset)| RegionKind::File { path, offset }),
        any::<u32>().prop_map(|order| RegionKind::Anonymous { order }),
        "[a-z]{1,9}".prop_map(|name| RegionKind::Named { name, line: None }),
    ];
    let region = (0..1_u64 << 40, 1..1_u64 << 30, kind)
        .prop_map(|(start, bytes, kind)| Part::Region(Region { start, end: start + bytes, kind }));
    let pages = proptest::collection::btree_map(0..MOST_PAGE, 0..4_u16, 1..9);
    let placed = (any::<u64>(), pages)
        .prop_map(|(slice, pages)| Part::Placed(Placed { slice, nodes: 4, pages: pages.into_iter().collect() }));
    proptest::collection::vec(prop_oneof![thread, region, slices().prop_map(Part::Slice), placed], 0..6)
}

fn written(parts: &[Part]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for part in parts {
        match part {
            Part::Thread(thread) => writer.thread(thread),
            Part::Region(region) => writer.region(region),
            Part::Slice(slice) => writer.slice(slice),
            Part::Placed(placed) => writer.placed(placed),
            Part::End(end) => writer.end(end),
        }
        .unwrap();
    }
    let bytes = writer.written();
    let file = writer.into_inner();
    assert_eq!(file.len() as u64, bytes);
    file
}

/// Parts up to the end or to an error, whether the file was cut, and the error.
fn read(bytes: &[u8]) -> Result<(Vec<Part>, bool, Option<TraceError>), TraceError> {
    let mut reader = Reader::new(bytes)?;
    assert_eq!(*reader.header(), header());
    let (mut parts, mut error) = (Vec::new(), None);
    for part in reader.by_ref() {
        match part {
            Ok(part) => parts.push(part),
            Err(found) => error = Some(found),
        }
    }
    let cut = reader.cut();
    Ok((parts, cut, error))
}

proptest! {
    #[test]
    fn what_is_written_is_read(mut parts in parts()) {
        parts.push(Part::End(end()));
        let (read, cut, error) = read(&written(&parts)).unwrap();
        prop_assert!(!cut && error.is_none());
        prop_assert_eq!(read, parts);
    }

    #[test]
    fn the_front_of_a_file_is_the_front_of_its_parts(parts in parts(), at in any::<proptest::sample::Index>()) {
        let file = written(&parts);
        match read(&file[..at.index(file.len())]) {
            Err(error) => {
                let expected = matches!(error, TraceError::NotATrace | TraceError::Header(_));
                prop_assert!(expected, "{error}");
            }
            Ok((front, cut, error)) => {
                prop_assert!(cut && error.is_none());
                prop_assert_eq!(&front[..], &parts[..front.len()]);
            }
        }
    }

    #[test]
    fn a_flipped_bit_is_found(parts in parts(), at in any::<proptest::sample::Index>(), bit in 0..8) {
        let mut file = written(&parts);
        let at = at.index(file.len());
        file[at] ^= 1_u8 << bit;
        let Ok((front, cut, error)) = read(&file) else { return Ok(()) };
        prop_assert!(error.is_some() || cut, "byte {at}");
        // A length that was changed to point past the end of the file looks like a file that was
        // cut there.
        prop_assert!(front.len() < parts.len());
        prop_assert_eq!(&front[..], &parts[..front.len()]);
    }

    #[test]
    fn any_bytes_are_a_trace_or_an_error(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut file = written(&[]);
        file.extend(tail);
        let _ = read(&file).unwrap();
    }
}

#[test]
fn a_long_slice_is_several_blocks() {
    let row = |at: u64| Row { page: at / 3, thread: u32::try_from(at % 3).unwrap(), loads: 1, stores: 0 };
    let slice = Slice { number: 4, first: Vec::new(), rows: (0..(1 << 20) + 7).map(row).collect() };
    let (parts, ..) = read(&written(&[Part::Slice(slice.clone())])).unwrap();
    let [Part::Slice(a), Part::Slice(b)] = parts.as_slice() else { panic!("{}", parts.len()) };
    assert_eq!((a.number, b.number), (4, 4));
    assert_eq!(a.rows.len() % 3, 0, "no page is in both");
    assert_eq!([a.rows.as_slice(), &b.rows].concat(), slice.rows);
}

#[test]
fn errors_say_where_and_what_to_do() {
    let file = written(&[Part::Slice(Slice::default()), Part::End(end())]);
    let message = |file: &[u8]| match read(file) {
        Err(error) => error.to_string(),
        Ok((.., error)) => error.unwrap().to_string(),
    };
    assert_eq!(message(b"page.address,"), TraceError::NotATrace.to_string());
    let mut newer = file.clone();
    newer[8] = 3;
    assert_eq!(message(&newer), "a trace of version 3; this isobar reads versions 1 to 2");
    assert_eq!(message(&file[..20]), "damaged: the file ends in its header; nothing after it can be read");
    let mut flipped = file.clone();
    flipped[30] ^= 1;
    assert!(message(&flipped).contains("its header has changed"));
    let mut flipped = file.clone();
    let first = written(&[]).len();
    flipped[first + 14] ^= 1;
    let text = message(&flipped);
    assert!(text.starts_with(&format!("damaged at byte {first}: its checksum is wrong;")), "{text}");
    let mut twice = file.clone();
    twice.extend(&file[12..]);
    assert!(message(&twice).contains("a block after the end of the trace"));
}

/// A file of version 1 is a file of version 2 without placements.
#[test]
fn files_of_version_1_are_read_and_have_no_placements() {
    let parts = [Part::Slice(Slice::default()), Part::End(end())];
    let mut file = written(&parts);
    file[8] = 1;
    let (found, cut, error) = read(&file).unwrap();
    assert!(found == parts && !cut && error.is_none());
    let mut placed = written(&[Part::Placed(Placed { slice: 0, nodes: 2, pages: vec![(3, 1)] })]);
    placed[8] = 1;
    let (found, _, error) = read(&placed).unwrap();
    assert!(found.is_empty() && error.unwrap().to_string().contains("which files of version 1 do not have"));
}

/// The best-packed data still unpacks. 86 bytes that claim to be 16 MiB, for which a fuzzer found a
/// cost of a second, are refused before they are unpacked.
#[test]
fn a_block_is_no_longer_than_its_bytes_can_unpack_to() {
    let (mut packed, mut buffers) = (Vec::new(), block::Buffers::default());
    let zeros = vec![0; 1 << 22];
    block::pack(block::Kind::Slice, &zeros, &mut packed).unwrap();
    assert!(packed.len() < zeros.len() / 250, "{} bytes", packed.len());
    let found = block::read(&mut packed.as_slice(), &mut buffers).unwrap();
    assert_eq!((found, buffers.plain == zeros), (block::Found::Block(block::Kind::Slice, packed.len() as u64), true));
    let mut lying = vec![4, 86, 0, 0, 0, 86, 0, 255, 0];
    lying.resize(block::HEAD + 86, 0);
    let mut sum = crc32fast::Hasher::new();
    sum.update(&lying[..9]);
    sum.update(&lying[block::HEAD..]);
    lying[9..block::HEAD].copy_from_slice(&sum.finalize().to_le_bytes());
    let found = block::read(&mut lying.as_slice(), &mut buffers).unwrap();
    assert_eq!(found, block::Found::Damaged("a block of an impossible length"));
}
