//! What `pages` reads: a trace, or a page profile in the CSV form of numalize. Both are read block by
//! block or row by row, so that they never are in memory as a whole.

use crate::failure::bad_input;
use crate::text::short;
use csv::{ByteRecord, Reader, ReaderBuilder};
use isobar_pages::report::Course;
use isobar_pages::trace::{Header, MAGIC, Part, Reader as TraceReader};
use isobar_pages::{Homes, Page, PageProfile, Structure, Usage};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Columns before the counts.
const COLUMNS: [&str; 6] =
    ["page.address", "alloc.thread", "alloc.location", "firsttouch.thread", "firsttouch.location", "structure.name"];

/// What can be read.
const EXPECTED: &str = "a trace of `isobar trace`, or a page profile in the CSV form of numalize";

/// Bytes of a page where the form does not say: numalize counts by 4 KiB.
const PAGE_BYTES: u64 = 4096;

/// What a file says.
#[derive(Debug)]
pub struct Source {
    /// The usage of the whole run.
    pub profile: PageProfile,
    /// What is missing of it, a sentence each.
    pub remarks: Vec<String>,
    /// Whether it is a trace, which has time slices.
    timed: bool,
    path: PathBuf,
}

/// Reads a file.
///
/// # Errors
/// Bad input, in one line that names file and line.
pub fn read(path: &Path) -> anyhow::Result<Source> {
    let of_file = |why: &dyn std::fmt::Display| bad_input(format!("{}: {why}", path.display()));
    let file = File::open(path).map_err(|why| of_file(&why))?;
    let about = file.metadata().map_err(|why| of_file(&why))?;
    if about.is_dir() {
        return Err(of_file(&format!("is a folder; expected {EXPECTED}")));
    }
    let mut bytes = BufReader::with_capacity(1 << 20, file);
    let timed = bytes.fill_buf().map_err(|why| of_file(&why))?.starts_with(&MAGIC);
    let profile = if timed {
        PageProfile::read(bytes).map_err(|why| of_file(&why))?
    } else {
        profile(bytes).map_err(|why| of_file(&why))?
    };
    let remarks = if timed { remarks(&profile) } else { Vec::new() };
    Ok(Source { profile, remarks, timed: timed && about.is_file(), path: path.to_owned() })
}

/// What is missing of a trace.
fn remarks(profile: &PageProfile) -> Vec<String> {
    let Some(end) = &profile.end else {
        let cut = "the trace has no end: the program still runs, or was cut off. Everything up to the last whole slice counts.";
        return vec![cut.to_owned()];
    };
    let signal = end.status.is_none().then(|| "a signal ended the program.".to_owned());
    signal.into_iter().chain(end.missing.iter().map(|missing| format!("not in the trace: {missing}"))).collect()
}

impl Source {
    /// The program slice after slice, read from the file again; `None` where it has no slices, or
    /// cannot be read twice.
    ///
    /// # Errors
    /// Bad input.
    pub fn course(&self, homes: &Homes, page_bytes: Option<u64>) -> anyhow::Result<Option<Course>> {
        if !self.timed {
            return Ok(None);
        }
        let of_file = |why: &dyn std::fmt::Display| bad_input(format!("{}: {why}", self.path.display()));
        let file = File::open(&self.path).map_err(|why| of_file(&why))?;
        let parts = TraceReader::new(BufReader::with_capacity(1 << 20, file)).map_err(|why| of_file(&why))?;
        let mut follow = Course::follow(&self.profile, homes, page_bytes).map_err(|why| of_file(&why))?;
        for part in parts {
            if let Part::Slice(slice) = part.map_err(|why| of_file(&why))? {
                follow.add(slice).map_err(|why| of_file(&why))?;
            }
        }
        follow.finish(&self.profile).map(Some).map_err(|why| of_file(&why))
    }
}

fn profile(from: impl Read) -> Result<PageProfile, String> {
    let mut rows = ReaderBuilder::new().flexible(true).has_headers(false).from_reader(from);
    let mut row = ByteRecord::new();
    if !next(&mut rows, &mut row)? {
        return Err(format!("is empty; expected {EXPECTED}"));
    }
    let threads = threads(&row)?;
    let usage = Usage::new(threads, PAGE_BYTES).map_err(|why| format!("line 1: {why}"))?;
    let mut made = Making { usage, structures: Vec::new(), structure_of: Vec::new(), known: HashMap::new() };
    let mut counts = vec![0; threads];
    while next(&mut rows, &mut row)? {
        let line = row.position().map_or(0, csv::Position::line);
        made.add(&row, &mut counts).map_err(|why| format!("line {line}: {why}"))?;
    }
    Ok(made.finish())
}

fn next(rows: &mut Reader<impl Read>, row: &mut ByteRecord) -> Result<bool, String> {
    rows.read_byte_record(row).map_err(|why| format!("is no CSV: {why}"))
}

/// How many threads the header has.
fn threads(header: &ByteRecord) -> Result<usize, String> {
    let name = |at: usize| header.get(at).map(String::from_utf8_lossy).unwrap_or_default();
    for (at, expected) in COLUMNS.iter().enumerate() {
        let found = name(at);
        if found != *expected {
            let found = short(&found, 40);
            return Err(format!(
                "expected {EXPECTED}; as CSV, column {} of line 1 is `{found}` and not `{expected}`",
                at + 1
            ));
        }
    }
    let threads = header.len() - COLUMNS.len();
    let wrong = (0..threads).find(|number| name(COLUMNS.len() + number) != format!("T{number}"));
    match wrong {
        Some(number) => {
            let found = name(COLUMNS.len() + number).into_owned();
            Err(format!("line 1: column `{}`; expected `T{number}`, as threads are counted from T0", short(&found, 40)))
        }
        None if threads == 0 => Err("line 1: no column of a thread; expected T0, T1 and so on".to_owned()),
        None => Ok(threads),
    }
}

/// A profile in the making.
struct Making {
    usage: Usage,
    structures: Vec<Structure>,
    structure_of: Vec<u32>,
    known: HashMap<Vec<u8>, u32>,
}

impl Making {
    fn add(&mut self, row: &ByteRecord, counts: &mut [u64]) -> Result<(), String> {
        let (found, expected) = (row.len(), COLUMNS.len() + counts.len());
        if found != expected {
            return Err(format!("{found} columns; expected {expected}, as many as in line 1"));
        }
        let number = number(row, 0).ok_or_else(|| wrong(row, 0, "the number of a page"))?;
        let first = thread(row, 3).ok_or_else(|| wrong(row, 3, "the number of a thread, such as 0"))?;
        for (at, count) in counts.iter_mut().enumerate() {
            let column = COLUMNS.len() + at;
            *count = self::number(row, column)
                .ok_or_else(|| format!("column T{at}: {}", wrong(row, column, "a count from 0 to 2^64 - 1")))?;
        }
        self.usage.push(Page { number, first }, counts).map_err(|why| why.to_string())?;
        let structure = self.structure(row);
        self.structure_of.push(structure);
        Ok(())
    }

    fn structure(&mut self, row: &ByteRecord) -> u32 {
        let name = row.get(5).map(<[u8]>::trim_ascii).filter(|name| !name.is_empty()).unwrap_or(b"unknown");
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let index = isobar_model::num::narrow(self.structures.len());
        let location = row.get(2).map(|text| String::from_utf8_lossy(text).trim().to_owned());
        let line = location.filter(|line| line.contains(':'));
        self.structures.push(Structure { name: String::from_utf8_lossy(name).into_owned(), line, region: None });
        self.known.insert(name.to_vec(), index);
        index
    }

    fn finish(self) -> PageProfile {
        PageProfile {
            threads: (0..self.usage.threads()).map(|number| format!("T{number}")).collect(),
            header: Header {
                engine: "numalize".to_owned(),
                sampled: None,
                page_bytes: PAGE_BYTES,
                slice_ns: 0,
                command: Vec::new(),
            },
            usage: self.usage,
            structures: self.structures,
            structure_of: self.structure_of,
            end: None,
        }
    }
}

fn text(row: &ByteRecord, column: usize) -> Option<&str> {
    std::str::from_utf8(row.get(column)?).ok().map(str::trim)
}

/// Decimal, or hexadecimal behind 0x.
fn number(row: &ByteRecord, column: usize) -> Option<u64> {
    let text = text(row, column)?;
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
}

fn thread(row: &ByteRecord, column: usize) -> Option<u32> {
    let text = text(row, column)?;
    text.strip_prefix('T').unwrap_or(text).parse().ok()
}

fn wrong(row: &ByteRecord, column: usize, expected: &str) -> String {
    let found = row.get(column).map(String::from_utf8_lossy).unwrap_or_default();
    format!("`{}`; expected {expected}", short(&found, 40))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "page.address,alloc.thread,alloc.location,firsttouch.thread,firsttouch.location,structure.name";

    #[test]
    fn a_profile_has_its_pages_threads_and_structures() {
        let text = format!(
            "{HEAD},T0,T1\n1537,0,a.c:3,0,a.c:9,\"B, too\",1,2\n0x602,0,,1,,\"B, too\",3,18446744073709551615\n"
        );
        let profile = profile(text.as_bytes()).unwrap();
        assert_eq!(profile.usage.pages(), [Page { number: 1537, first: 0 }, Page { number: 0x602, first: 1 }]);
        assert_eq!((profile.usage.row(0), profile.usage.row(1)), ([1, 2].as_slice(), [3, u64::MAX].as_slice()));
        let expected = Structure { name: "B, too".into(), line: Some("a.c:3".into()), region: None };
        assert_eq!((profile.structures, profile.structure_of), (vec![expected], vec![0, 0]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let refused = |text: &str| profile(text.as_bytes()).unwrap_err();
        assert!(refused("").starts_with("is empty"));
        assert!(refused("a,b\n").ends_with("as CSV, column 1 of line 1 is `a` and not `page.address`"));
        assert!(refused(&format!("{HEAD}\n")).contains("no column of a thread"));
        assert!(refused(&format!("{HEAD},T1\n")).contains("column `T1`; expected `T0`"));
        let row = |row: &str| refused(&format!("{HEAD},T0,T1\n{row}\n"));
        assert_eq!(row("1,0,,0,,a,1"), "line 2: 7 columns; expected 8, as many as in line 1");
        assert_eq!(row("1,0,,0,,a,1,-4"), "line 2: column T1: `-4`; expected a count from 0 to 2^64 - 1");
        assert!(row("1,0,,7,,a,1,1").contains("first touched by thread 7, and there are 2"));
        assert!(row("x,0,,0,,a,1,1").contains("`x`; expected the number of a page"));
    }
}
