//! The CSV form of numalize, and files recognised by their content.

use super::numalize::{read, slice, write};
use crate::Page;
use crate::profile::Structure;
use crate::trace::{FirstTouch, Header, Row, Slice, Writer};
use proptest::prelude::*;
use std::io::BufReader;

fn refused(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

const HEAD: &str = "page.address,alloc.thread,alloc.location,firsttouch.thread,firsttouch.location,structure.name";

#[test]
fn numalize_csv_is_read_by_its_content() {
    let text = format!(
        "{HEAD},T0,T1\n1537,0,a.c:3,0,a.c:9,\"B, too\",1,2\n0x602,0,,1,,\"B, \
         too\",3,18446744073709551615\n1537,0,,0,,x,4,18446744073709551615\n"
    );
    let profile = crate::open(BufReader::new(text.as_bytes())).unwrap();
    assert_eq!(profile.usage.pages(), [Page { number: 1537, first: 0 }, Page { number: 0x602, first: 1 }]);
    assert_eq!((profile.usage.row(0), profile.usage.row(1)), ([5, u64::MAX].as_slice(), [3, u64::MAX].as_slice()));
    let expected = Structure { name: "B, too".into(), line: Some("a.c:3".into()), region: None };
    assert_eq!((profile.structures, profile.structure_of), (vec![expected], vec![0, 0]));
    let about = Header { engine: "e".into(), sampled: None, page_bytes: 4096, slice_ns: 1, command: vec![] };
    let mut trace = Writer::new(Vec::new(), &about).unwrap();
    let row = Row { page: 3, thread: 2, loads: 1, stores: 0 };
    trace.slice(&Slice { number: 0, first: vec![], rows: vec![row] }).unwrap();
    assert_eq!(crate::open(trace.into_inner().as_slice()).unwrap().threads.len(), 3);
    assert_eq!(crate::open(b"1 1.5: mem-loads: 1000\n".as_slice()).unwrap().usage.pages().len(), 1);
    assert!(crate::open(b"".as_slice()).unwrap_err().to_string().starts_with("is empty; expected"));
    assert!(
        crate::open(b"\x7fELF".as_slice()).unwrap_err().to_string().starts_with("is in an unknown format; expected")
    );
}

#[test]
fn what_is_wrong_in_csv_is_said_with_line_and_column() {
    assert_eq!(refused("a,b\n"), "line 1: column 1 is `a`; expected `page.address`");
    assert!(refused(&format!("{HEAD}\n")).starts_with("line 1: 0 columns of threads; expected T0"));
    assert!(refused(&format!("{HEAD},T0,T2\n")).starts_with("line 1: column 8 is `T2`; expected `T1`"));
    let row = |row: &str| refused(&format!("{HEAD},T0,T1\n{row}\n"));
    assert_eq!(row("1,0,,0,,a,1"), "line 2: 7 columns; expected 8, as many as in line 1");
    assert_eq!(row("1,0,,0,,a,1,-4"), "line 2: column 8: `-4`; expected a count from 0 to 2^64 - 1");
    assert!(row("1,0,,0,,a,1,18446744073709551616").contains("column 8: `18446744073709551616`"));
    assert!(row("1,0,,0,,a,+1,1").contains("column 7: `+1`"));
    assert!(row("1,0,,7,,a,1,1").contains("column 4: `7`; expected a thread from 0 to 1"));
    assert!(row("x,0,,0,,a,1,1").contains("`x`; expected the number of a page"));
}

/// Rows of the usual form take a fast path. From the first row of another form on, all rows take
/// the slow path.
#[test]
fn rows_after_one_that_is_quoted_are_read_alike() {
    let plain = "1,0,a:1,0,,A,3,4\r\n\n2,0,a:1,T1,,A,1,18446744073709551614\n";
    let quoted = "3,0,a:1,1,,\"B\nC\",1,0\n0x4,0,,0,, \"B\nC\" , 7,8\n2,0,,1,,A,0,9\n";
    let profile = read(format!("{HEAD},T0,T1\n{plain}{quoted}").as_bytes()).unwrap_err().to_string();
    assert_eq!(profile, "line 7: 6 columns; expected 8, as many as in line 1");
    let quoted = "3,0,a:1,1,,\"B\nC\",1,0\n0x4,0,,0,,A,7,8\n2,0,,1,,A,0,9\n";
    let profile = read(format!("{HEAD},T0,T1\n{plain}{quoted}").as_bytes()).unwrap();
    let rows: Vec<_> = profile.usage.rows().map(|(page, row)| (page.number, page.first, row.to_vec())).collect();
    assert_eq!(rows, [(1, 0, vec![3, 4]), (2, 1, vec![1, u64::MAX]), (3, 1, vec![1, 0]), (4, 0, vec![7, 8])]);
    assert_eq!(profile.structures.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(), ["A", "B\nC"]);
    let wrong = format!("{HEAD},T0,T1\n{plain}{quoted}5,0,,0,,A,x,1\n");
    assert_eq!(refused(&wrong), "line 9: column 7: `x`; expected a count from 0 to 2^64 - 1");
    // A carriage return ends a row, wherever it stands.
    let ended = format!("{HEAD},T0,T1\n5,0,,0,,A\r,1,2\n");
    assert!(refused(&ended).contains("6 columns; expected 8"));
    let wrong = format!("{HEAD},T0,T1\n{plain}5,0,,0,,A,x,1\n");
    assert_eq!(refused(&wrong), "line 5: column 7: `x`; expected a count from 0 to 2^64 - 1");
}

proptest! {
    #[test]
    fn csv_that_is_written_is_read(rows in prop::collection::btree_map(0..1_u64 << 52, (0..3_u32, prop::collection::vec(any::<u64>(), 3), ".{0,6}"), 0..20)) {
        let mut text = csv::Writer::from_writer(Vec::new());
        text.write_record(HEAD.split(',').chain(["T0", "T1", "T2"])).unwrap();
        for (page, (first, counts, name)) in &rows {
            let fields = [page.to_string(), "0".into(), "a:1".into(), first.to_string(), String::new(), name.clone()];
            text.write_record(fields.into_iter().chain(counts.iter().map(u64::to_string))).unwrap();
        }
        let profile = read(text.into_inner().unwrap().as_slice()).unwrap();
        prop_assert_eq!(profile.usage.pages().len(), rows.len());
        for ((page, counts), (number, (first, expected, _))) in profile.usage.rows().zip(&rows) {
            prop_assert_eq!((page.number, page.first, counts), (*number, *first, expected.as_slice()));
        }
        let mut again = Vec::new();
        write(&profile, &mut again).unwrap();
        prop_assert_eq!(read(again.as_slice()).unwrap(), profile);
    }
}

#[test]
fn intervals_become_slices() {
    let interval = |text: &str| read(format!("{HEAD},T0,T1\n{text}").as_bytes()).unwrap();
    let mut known = std::collections::BTreeSet::new();
    let first = slice(0, &interval("9,0,,1,,a,0,4\n2,0,,0,,a,1,2\n"), &mut known);
    let second = slice(1, &interval("9,0,,0,,a,5,0\n"), &mut known);
    let row = |page, thread, loads| Row { page, thread, loads, stores: 0 };
    assert_eq!(first.rows, [row(2, 0, 1), row(2, 1, 2), row(9, 1, 4)]);
    assert_eq!(first.first, [FirstTouch { page: 9, thread: 1 }, FirstTouch { page: 2, thread: 0 }]);
    assert_eq!((second.first, second.rows), (vec![], vec![row(9, 0, 5)]));
}
