//! Measured tables: how programs behave alone with 1 to W ways of an LLC, as comma-separated text in the form that PBBCache and its users
//! publish. Read strictly: what is missing, negative, not a number or there twice is told with its line and column. It takes text
//! and refuses to know where it came from.

mod profile;

use crate::error::SimError;
use std::collections::BTreeMap;

/// Columns that a table must have, in any order; others are ignored.
pub const COLUMNS: [&str; 14] = [
    "BENCH",
    "NR_WAYS",
    "ipc",
    "llcrpki",
    "llcmpki",
    "llcrpkc",
    "llcmpkc",
    "llc_usage_kb",
    "bandwidth_mbps",
    "llcm_bandwidth",
    "stalls_l2_miss",
    "stalls_l3_miss",
    "stalls_total",
    "stalls_store_buf",
];
/// More ways than any cache has.
const MOST_WAYS: usize = 1024;
/// No measured rate is above this.
const MOST: f64 = 1e12;

/// Programs measured alone, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredTable {
    file: String,
    programs: BTreeMap<String, Vec<Row>>,
}

/// A program alone with so many ways. Not every machine counts every event: what it does not count is 0 in the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Instructions a cycle; above 0.
    pub ipc: f64,
    /// LLC references and misses per 1000 instructions.
    pub llcrpki: f64,
    /// LLC misses per 1000 instructions.
    pub llcmpki: f64,
    /// LLC references per 1000 cycles.
    pub llcrpkc: f64,
    /// LLC misses per 1000 cycles.
    pub llcmpkc: f64,
    /// LLC space in use, in KiB.
    pub llc_usage_kb: f64,
    /// Memory bandwidth by the bandwidth monitor, in MB/s.
    pub bandwidth_mbps: f64,
    /// Memory bandwidth by LLC misses, in MB/s.
    pub llcm_bandwidth: f64,
    /// The part of the cycles that waits for L2 misses.
    pub stalls_l2_miss: f64,
    /// The part of the cycles that waits for LLC misses.
    pub stalls_l3_miss: f64,
    /// The part of the cycles that waits at all.
    pub stalls_total: f64,
    /// The part of the cycles that waits for the store buffer.
    pub stalls_store_buf: f64,
}

/// One line, and which it is.
struct Line {
    number: u64,
    ways: usize,
    row: Row,
}

impl MeasuredTable {
    /// Reads a table; `file` is only named in errors.
    ///
    /// # Errors
    /// [`SimError::Csv`] with file, line and column: a column that is missing or there twice, a value that is no number, negative or
    /// out of range, a way count that is missing or there twice.
    pub fn parse(file: &str, text: &str) -> Result<Self, SimError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = ::csv::ReaderBuilder::new().trim(::csv::Trim::All).from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| malformed(file, &error))?.clone();
        let columns = columns(file, &headers)?;
        let mut programs: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for record in reader.records() {
            let record = record.map_err(|error| malformed(file, &error))?;
            let (name, line) = line(file, &columns, &record)?;
            insert(file, programs.entry(name.clone()).or_default(), &name, line)?;
        }
        if programs.is_empty() {
            return Err(SimError::csv(file, 1, "holds no program: add a row for each program and way count"));
        }
        complete(file, &programs)?;
        let rows = |lines: Vec<Line>| lines.into_iter().map(|line| line.row).collect();
        let programs = programs.into_iter().map(|(name, lines)| (name, rows(lines))).collect();
        Ok(Self { file: file.to_owned(), programs })
    }

    /// A table of one program from figures that were checked elsewhere; row `i` is for `i + 1` ways.
    #[must_use]
    pub fn from_rows(file: &str, program: &str, rows: Vec<Row>) -> Self {
        Self { file: file.to_owned(), programs: [(program.to_owned(), rows)].into() }
    }

    /// The programs' names, ascending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.keys().map(String::as_str)
    }

    /// The rows of a program, one way first.
    #[must_use]
    pub fn rows(&self, name: &str) -> Option<&[Row]> {
        self.programs.get(name).map(Vec::as_slice)
    }
}

/// Where each of [`COLUMNS`] is.
fn columns(file: &str, headers: &::csv::StringRecord) -> Result<[usize; COLUMNS.len()], SimError> {
    let mut found = [0; COLUMNS.len()];
    for (place, wanted) in found.iter_mut().zip(COLUMNS) {
        let mut at = headers.iter().enumerate().filter(|(_, name)| *name == wanted).map(|(index, _)| index);
        let missing =
            || SimError::csv(file, 1, format!("column `{wanted}` is missing; expected {}", COLUMNS.join(",")));
        *place = at.next().ok_or_else(missing)?;
        if at.next().is_some() {
            return Err(SimError::csv(file, 1, format!("column `{wanted}` is there twice; leave one")));
        }
    }
    Ok(found)
}

fn line(
    file: &str,
    columns: &[usize; COLUMNS.len()],
    record: &::csv::StringRecord,
) -> Result<(String, Line), SimError> {
    let number = record.position().map_or(0, ::csv::Position::line);
    let field = |column: usize| record.get(columns[column]).unwrap_or_default();
    let value = |column: usize| value(file, number, COLUMNS[column], field(column));
    let name = field(0);
    if name.is_empty() {
        return Err(SimError::csv(file, number, "column `BENCH`: is empty; name the program"));
    }
    let row = Row {
        ipc: value(2)?,
        llcrpki: value(3)?,
        llcmpki: value(4)?,
        llcrpkc: value(5)?,
        llcmpkc: value(6)?,
        llc_usage_kb: value(7)?,
        bandwidth_mbps: value(8)?,
        llcm_bandwidth: value(9)?,
        stalls_l2_miss: value(10)?,
        stalls_l3_miss: value(11)?,
        stalls_total: value(12)?,
        stalls_store_buf: value(13)?,
    };
    if row.ipc <= 0.0 {
        return Err(SimError::csv(file, number, "column `ipc`: is 0; a program that runs executes instructions"));
    }
    Ok((name.to_owned(), Line { number, ways: ways(file, number, field(1))?, row }))
}

fn value(file: &str, line: u64, column: &str, text: &str) -> Result<f64, SimError> {
    let wrong = |what: &str| {
        SimError::csv(file, line, format!("column `{column}`: is {what}; it must be a number from 0 to 1e12"))
    };
    if text.is_empty() {
        return Err(wrong("empty"));
    }
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=MOST).contains(value));
    value.ok_or_else(|| wrong(&format!("`{text}`")))
}

fn ways(file: &str, line: u64, text: &str) -> Result<usize, SimError> {
    let ways = text.parse::<usize>().ok().filter(|ways| (1..=MOST_WAYS).contains(ways));
    let wrong = || {
        SimError::csv(
            file,
            line,
            format!("column `NR_WAYS`: is `{text}`; it must be a whole number from 1 to {MOST_WAYS}"),
        )
    };
    ways.ok_or_else(wrong)
}

/// Keeps the lines of a program ascending by ways.
fn insert(file: &str, lines: &mut Vec<Line>, name: &str, line: Line) -> Result<(), SimError> {
    match lines.binary_search_by_key(&line.ways, |other| other.ways) {
        Ok(at) => {
            let (ways, first) = (line.ways, lines[at].number);
            let problem = format!("column `NR_WAYS`: `{name}` with {ways} ways is in line {first} already; leave one");
            Err(SimError::csv(file, line.number, problem))
        }
        Err(at) => {
            lines.insert(at, line);
            Ok(())
        }
    }
}

/// Every program has a line for every way count up to the greatest in the table.
fn complete(file: &str, programs: &BTreeMap<String, Vec<Line>>) -> Result<(), SimError> {
    let most = programs.values().flatten().map(|line| line.ways).max().unwrap_or_default();
    for (name, lines) in programs {
        let there: Vec<_> = lines.iter().map(|line| line.ways).collect();
        if let Some(missing) = (1..=most).find(|ways| !there.contains(ways)) {
            let line = lines.iter().map(|line| line.number).min().unwrap_or_default();
            let problem = format!(
                "column `NR_WAYS`: `{name}`, which begins here, has no line for {missing} of 1 to {most} ways; add it"
            );
            return Err(SimError::csv(file, line, problem));
        }
    }
    Ok(())
}

fn malformed(file: &str, error: &::csv::Error) -> SimError {
    let line = error.position().map_or(1, ::csv::Position::line);
    match error.kind() {
        ::csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            SimError::csv(file, line, format!("has {len} values; the header has {expected_len} columns"))
        }
        _ => SimError::csv(file, line, error.to_string()),
    }
}

#[cfg(test)]
mod tests;
