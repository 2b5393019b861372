//! A program as a table over ways 1 to W: how it behaves alone if it may fill 1, 2, ... ways of the
//! LLC (PBBCache's input; docs/design/cache-ways.md). All code uses this one type: measured tables
//! are read into it, policies save what they measured as it, and static models and the simulator
//! compute from it. The file knows the interpolation rules, and does not know where the figures
//! came from.

use crate::num;
use std::sync::Arc;

/// A program alone with a given number of ways. Not every machine counts every event: an event that
/// was not counted is 0 (PBBCache's convention, which its tables share).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Instructions per cycle; above 0.
    pub ipc: f64,
    /// LLC misses per 1000 instructions.
    pub llcmpki: f64,
    /// LLC misses per 1000 cycles.
    pub llcmpkc: f64,
    /// LLC space in use, in KiB.
    pub llc_usage_kb: f64,
    /// Memory bandwidth by the bandwidth monitor, in MB/s.
    pub bandwidth_mbps: f64,
    /// Memory bandwidth by LLC misses, in MB/s.
    pub llcm_bandwidth: f64,
    /// The fraction of the cycles in which it stalls, for whatever reason.
    pub stalls_total: f64,
    /// The fraction of the cycles in which it waits for LLC misses.
    pub stalls_l3_miss: f64,
    /// The fraction of the cycles in which it waits for the store buffer.
    pub stalls_store_buf: f64,
}

/// The properties that can be read from a profile at a fractional number of ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// Slowdown relative to the best number of ways: max IPC / IPC.
    Slowdown,
    /// LLC misses per 1000 instructions.
    Llcmpki,
    /// LLC misses per 1000 cycles.
    Llcmpkc,
    /// Memory bandwidth, in MB/s.
    Bandwidth,
    /// [`Row::stalls_total`].
    StallsTotal,
    /// [`Row::stalls_l3_miss`].
    StallsL3Miss,
    /// [`Row::stalls_store_buf`].
    StallsStoreBuffer,
}

/// All properties, in the order of their columns.
const PROPERTIES: [Property; 7] = [
    Property::Slowdown,
    Property::Llcmpki,
    Property::Llcmpkc,
    Property::Bandwidth,
    Property::StallsTotal,
    Property::StallsL3Miss,
    Property::StallsStoreBuffer,
];
/// The lower bound of a value at 0 ways; the line through 1 and 2 ways may go below it.
const LEAST: f64 = 1e-6;

/// Why figures do not make a profile.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProfileError {
    /// A program without rows.
    #[error("program `{0}` has no rows; a profile needs 1 to W ways")]
    Empty(String),
    /// A figure that cannot be.
    #[error("program `{program}`, {ways} ways: {what} is {value}; it must be {must}")]
    Figure {
        /// the program
        program: String,
        /// its row
        ways: usize,
        /// the property
        what: &'static str,
        /// what was found
        value: f64,
        /// what would be right
        must: &'static str,
    },
}

/// A checked table of one program.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    name: Arc<str>,
    rows: Vec<Row>,
    columns: [Vec<f64>; 7],
}

impl Profile {
    /// Checks a table; row `i` is the program alone with `i + 1` ways. Non-monotone curves are real
    /// and allowed.
    ///
    /// # Errors
    /// [`ProfileError`] if there are no rows, if an IPC is not above 0, if a rate is negative, or
    /// if a value is not a number.
    pub fn new(name: &str, rows: Vec<Row>) -> Result<Self, ProfileError> {
        if rows.is_empty() {
            return Err(ProfileError::Empty(name.to_owned()));
        }
        rows.iter().enumerate().try_for_each(|(index, row)| check(name, index + 1, row))?;
        let best = rows.iter().map(|row| row.ipc).fold(0.0, f64::max);
        let columns = PROPERTIES.map(|property| rows.iter().map(|row| read(property, row, best)).collect());
        Ok(Self { name: Arc::from(name), rows, columns })
    }

    /// The program's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The largest number of ways in the table.
    #[must_use]
    pub fn ways(&self) -> usize {
        self.rows.len()
    }

    /// The table; row `i` is for `i + 1` ways.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// A property at 1, 2, ... W ways.
    #[must_use]
    pub fn column(&self, property: Property) -> &[f64] {
        let index = PROPERTIES.iter().position(|other| *other == property).unwrap_or_default();
        &self.columns[index]
    }

    /// A property at a fractional number of ways (docs/design/cache-ways.md). Between whole ways it
    /// is linear, and beyond the table it is the last value. Below one way it is linear down to
    /// none, where the value is `v(1) + (v(1) - v(2))`, at least 1e-6.
    #[must_use]
    pub fn at(&self, property: Property, ways: f64) -> f64 {
        at(self.column(property), ways)
    }
}

/// [`Profile::at`] on a bare column (`column[i]` is the value at `i + 1` ways; not empty).
#[must_use]
pub fn at(column: &[f64], ways: f64) -> f64 {
    let last = column.len() - 1;
    if ways < 1.0 {
        let none = (column[0] + (column[0] - column[last.min(1)])).max(LEAST);
        return none + (column[0] - none) * ways.max(0.0);
    }
    let (whole, part) = num::split(ways);
    match column.get(whole.saturating_sub(1)..) {
        Some([here, next, ..]) => here + (next - here) * part,
        _ => column[last],
    }
}

fn read(property: Property, row: &Row, best: f64) -> f64 {
    match property {
        Property::Slowdown => best / row.ipc,
        Property::Llcmpki => row.llcmpki,
        Property::Llcmpkc => row.llcmpkc,
        Property::Bandwidth => row.bandwidth_mbps,
        Property::StallsTotal => row.stalls_total,
        Property::StallsL3Miss => row.stalls_l3_miss,
        Property::StallsStoreBuffer => row.stalls_store_buf,
    }
}

fn check(program: &str, ways: usize, row: &Row) -> Result<(), ProfileError> {
    let wrong = |what, value, must| ProfileError::Figure { program: program.to_owned(), ways, what, value, must };
    if !(row.ipc.is_finite() && row.ipc > 0.0) {
        return Err(wrong("ipc", row.ipc, "a number above 0"));
    }
    let rest = [
        ("llcmpki", row.llcmpki),
        ("llcmpkc", row.llcmpkc),
        ("bandwidth_mbps", row.bandwidth_mbps),
        ("stalls_total", row.stalls_total),
        ("stalls_l3_miss", row.stalls_l3_miss),
        ("stalls_store_buf", row.stalls_store_buf),
        ("llc_usage_kb", row.llc_usage_kb),
        ("llcm_bandwidth", row.llcm_bandwidth),
    ];
    match rest.into_iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
        Some((what, value)) => Err(wrong(what, value, "a number of at least 0")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(ipc: &[f64]) -> Profile {
        let rows = ipc.iter().map(|&ipc| Row { ipc, llcmpkc: 10.0 * ipc, ..Row::default() }).collect();
        Profile::new("a", rows).unwrap()
    }

    #[test]
    fn slowdown_is_against_the_best_way_count_wherever_it_is() {
        assert_eq!(profile(&[1.0, 2.0, 1.6]).column(Property::Slowdown), &[2.0, 1.0, 1.25]);
    }

    #[test]
    fn fractions_are_linear_and_the_ends_are_as_stated() {
        let a = profile(&[1.0, 2.0, 4.0]); // slowdowns 4, 2, 1
        let slowdown = |ways| a.at(Property::Slowdown, ways);
        assert_eq!((slowdown(1.0), slowdown(1.5), slowdown(2.25)), (4.0, 3.0, 1.75));
        assert_eq!((slowdown(3.0), slowdown(7.5)), (1.0, 1.0));
        // At none: 4 + (4 - 2) = 6, so 5 at half a way. Misses: 10 + (10 - 20) < 0, so 1e-6 at
        // none.
        assert_eq!(slowdown(0.5), 5.0);
        assert!((a.at(Property::Llcmpkc, 0.5) - (1e-6 + (10.0 - 1e-6) * 0.5)).abs() < 1e-12);
    }

    #[test]
    fn figures_that_cannot_be_are_named() {
        let said = |row| Profile::new("lbm", vec![row]).unwrap_err().to_string();
        assert_eq!(said(Row::default()), "program `lbm`, 1 ways: ipc is 0; it must be a number above 0");
        assert!(said(Row { ipc: 1.0, llcmpkc: -1.0, ..Row::default() }).contains("llcmpkc is -1"));
        assert!(Profile::new("lbm", Vec::new()).is_err());
    }
}
