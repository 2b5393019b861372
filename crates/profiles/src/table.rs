//! Reads measured tables: how programs behave alone with 1 to W ways of an LLC, as comma-separated
//! text in the form that PBBCache and its users publish. Reading is strict: a value that is
//! missing, negative, duplicated or not a number is reported with its line and column. The module
//! takes text and does not know where the text came from.

use crate::error::ReadError;
use crate::profiles::Profiles;
use isobar_model::profile::{Profile, Row};
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
/// An upper bound on ways: more than any cache has.
const MOST_WAYS: usize = 1024;
/// An upper bound on measured rates.
const MOST: f64 = 1e12;

/// One row of the table, and its line number.
struct Line {
    number: u64,
    ways: usize,
    row: Row,
}

/// Reads a table, with each program as it was measured; `file` is only used in errors.
///
/// # Errors
/// [`ReadError::Line`] with file, line and column: a column that is missing or duplicated, a value
/// that is not a number, negative or out of range, a way count that is missing or duplicated.
pub fn read(file: &str, text: &str) -> Result<BTreeMap<String, Profile>, ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| malformed(file, &error))?.clone();
    let columns = columns(file, &headers)?;
    let mut programs: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed(file, &error))?;
        let (name, line) = line(file, &columns, &record)?;
        insert(file, programs.entry(name.clone()).or_default(), &name, line)?;
    }
    if programs.is_empty() {
        return Err(ReadError::line(file, 1, "holds no program: add a row for each program and way count"));
    }
    complete(file, &programs)?;
    let profile = |(name, lines): (String, Vec<Line>)| {
        let rows = lines.into_iter().map(|line| line.row).collect();
        let profile = Profile::new(&name, rows).map_err(|cause| ReadError::figures(file, cause))?;
        Ok((name, profile))
    };
    programs.into_iter().map(profile).collect()
}

/// The programs of a table, for static models. If the table has no values of a bandwidth monitor,
/// the bandwidth that the misses cause is used, and a remark says so.
///
/// # Errors
/// As [`read`].
pub fn profiles(file: &str, text: &str) -> Result<Profiles, ReadError> {
    let programs = read(file, text)?;
    let any = |of: fn(&Row) -> f64| programs.values().flat_map(Profile::rows).any(|row| of(row) > 0.0);
    let (monitored, missed) = (any(|row| row.bandwidth_mbps), any(|row| row.llcm_bandwidth));
    if monitored {
        return Ok(Profiles::new(file, programs.into_values()));
    }
    let note = if missed {
        "the column bandwidth_mbps is 0 throughout: bandwidth is taken from llcm_bandwidth"
    } else {
        "the columns bandwidth_mbps and llcm_bandwidth are 0 throughout: no bandwidth is known"
    };
    let by_misses = |profile: &Profile| {
        let rows = profile.rows().iter().map(|row| Row { bandwidth_mbps: row.llcm_bandwidth, ..*row });
        Profile::new(profile.name(), rows.collect()).map_err(|cause| ReadError::figures(file, cause))
    };
    let programs = programs.values().map(by_misses).collect::<Result<Vec<_>, _>>()?;
    Ok(Profiles::new(file, programs).with_notes([note.to_owned()]))
}

/// The position of each of [`COLUMNS`] in the header.
fn columns(file: &str, headers: &csv::StringRecord) -> Result<[usize; COLUMNS.len()], ReadError> {
    let mut found = [0; COLUMNS.len()];
    for (place, wanted) in found.iter_mut().zip(COLUMNS) {
        let mut at = headers.iter().enumerate().filter(|(_, name)| *name == wanted).map(|(index, _)| index);
        let missing =
            || ReadError::line(file, 1, format!("column `{wanted}` is missing; expected {}", COLUMNS.join(",")));
        *place = at.next().ok_or_else(missing)?;
        if at.next().is_some() {
            return Err(ReadError::line(file, 1, format!("column `{wanted}` occurs twice; remove one")));
        }
    }
    Ok(found)
}

fn line(file: &str, columns: &[usize; COLUMNS.len()], record: &csv::StringRecord) -> Result<(String, Line), ReadError> {
    let number = record.position().map_or(0, csv::Position::line);
    let field = |column: usize| record.get(columns[column]).unwrap_or_default();
    let value = |column: usize| value(file, number, COLUMNS[column], field(column));
    let name = field(0);
    if name.is_empty() {
        return Err(ReadError::line(file, number, "column `BENCH`: is empty; name the program"));
    }
    let mut figures = [0.0; COLUMNS.len()];
    (2..COLUMNS.len()).try_for_each(|column| value(column).map(|figure| figures[column] = figure))?;
    let [_, _, ipc, _, llcmpki, _, llcmpkc, llc_usage_kb, bandwidth_mbps, llcm_bandwidth, _, l3_miss, total, store_buf] =
        figures;
    let row = Row {
        ipc,
        llcmpki,
        llcmpkc,
        llc_usage_kb,
        bandwidth_mbps,
        llcm_bandwidth,
        stalls_l3_miss: l3_miss,
        stalls_total: total,
        stalls_store_buf: store_buf,
    };
    if row.ipc <= 0.0 {
        return Err(ReadError::line(file, number, "column `ipc`: is 0; a program that runs executes instructions"));
    }
    Ok((name.to_owned(), Line { number, ways: ways(file, number, field(1))?, row }))
}

fn value(file: &str, line: u64, column: &str, text: &str) -> Result<f64, ReadError> {
    let wrong = |what: &str| {
        ReadError::line(file, line, format!("column `{column}`: is {what}; it must be a number from 0 to 1e12"))
    };
    if text.is_empty() {
        return Err(wrong("empty"));
    }
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=MOST).contains(value));
    value.ok_or_else(|| wrong(&format!("`{text}`")))
}

fn ways(file: &str, line: u64, text: &str) -> Result<usize, ReadError> {
    let ways = text.parse::<usize>().ok().filter(|ways| (1..=MOST_WAYS).contains(ways));
    let wrong = || {
        ReadError::line(
            file,
            line,
            format!("column `NR_WAYS`: is `{text}`; it must be a whole number from 1 to {MOST_WAYS}"),
        )
    };
    ways.ok_or_else(wrong)
}

/// Inserts a row so that the rows of a program stay ascending by ways.
fn insert(file: &str, lines: &mut Vec<Line>, name: &str, line: Line) -> Result<(), ReadError> {
    match lines.binary_search_by_key(&line.ways, |other| other.ways) {
        Ok(at) => {
            let (ways, first) = (line.ways, lines[at].number);
            let problem = format!("column `NR_WAYS`: `{name}` with {ways} ways is already in line {first}; remove one");
            Err(ReadError::line(file, line.number, problem))
        }
        Err(at) => {
            lines.insert(at, line);
            Ok(())
        }
    }
}

/// Checks that every program has a row for every way count up to the largest in the table.
fn complete(file: &str, programs: &BTreeMap<String, Vec<Line>>) -> Result<(), ReadError> {
    let most = programs.values().flatten().map(|line| line.ways).max().unwrap_or_default();
    for (name, lines) in programs {
        let there: Vec<_> = lines.iter().map(|line| line.ways).collect();
        if let Some(missing) = (1..=most).find(|ways| !there.contains(ways)) {
            let line = lines.iter().map(|line| line.number).min().unwrap_or_default();
            let problem = format!(
                "column `NR_WAYS`: `{name}`, which begins here, has no line for {missing} of 1 to {most} ways; add it"
            );
            return Err(ReadError::line(file, line, problem));
        }
    }
    Ok(())
}

fn malformed(file: &str, error: &csv::Error) -> ReadError {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            ReadError::line(file, line, format!("has {len} values; the header has {expected_len} columns"))
        }
        _ => ReadError::line(file, line, error.to_string()),
    }
}

#[cfg(test)]
mod tests;
