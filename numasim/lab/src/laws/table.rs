//! The rows as a table for people.

use super::row::{Bound, Row, Verdict};
use std::fmt::Write;

/// Columns: law, figure, expected, measured, deviation, verdict. A remark on a row stands below it.
#[must_use]
pub fn text(rows: &[Row]) -> String {
    let mut table = vec![["law", "what", "expected", "measured", "deviation", "verdict"].map(str::to_owned)];
    table.extend(rows.iter().map(cells));
    let widths: Vec<usize> =
        (0..6).map(|column| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for (at, row) in table.iter().enumerate() {
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let _ = if (2..5).contains(&column) {
                write!(text, "{cell:>width$}  ")
            } else {
                write!(text, "{cell:<width$}  ")
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        if let Some(why) = at.checked_sub(1).and_then(|at| rows.get(at)).and_then(|row| row.why.as_ref()) {
            let _ = writeln!(text, "    {why}");
        }
    }
    text
}

fn cells(row: &Row) -> [String; 6] {
    let figure = |value: Option<f64>| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{}{}", short(value), unit(row.unit)))
    };
    let expected = match row.bound {
        Bound::Within(part) => format!("{} +-{}%", figure(row.expected), short(part * 100.0)),
        Bound::UpTo(most) => format!("{} to {}", row.expected.map_or_else(String::new, short), short(most)),
        Bound::AtMost => format!("<= {}", figure(row.expected)),
        Bound::AtLeast => format!(">= {}", figure(row.expected)),
        Bound::Shown => figure(row.expected),
    };
    let deviation = row.deviation().filter(|_| matches!(row.bound, Bound::Within(_)));
    let deviation = deviation.map_or_else(String::new, |part| format!("{:+.1} %", part * 100.0));
    let verdict = match row.verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "FAILS",
        Verdict::Skipped => "skipped",
        Verdict::Shown => "shown",
    };
    [row.law.to_owned(), row.what.clone(), expected, figure(row.measured), deviation, verdict.to_owned()]
}

fn unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}

/// A figure with about four significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => trimmed(&format!("{value:.1}")),
        size if size >= 0.001 => trimmed(&format!("{value:.3}")),
        _ => format!("{value:.1e}"),
    }
}

fn trimmed(text: &str) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_by_hand() {
        let rows = [
            Row::new("latency", "chase", "ns", Ok(1000.0), Bound::Within(0.1), Ok(1072.3)),
            Row::new("cache", "misses", "", Ok(0.02), Bound::AtMost, Err("no line".to_owned())),
            Row::skipped("sharing", "two", "one LLC"),
        ];
        let expected = "\
law      what         expected  measured  deviation  verdict
latency  chase   1000 ns +-10%   1072 ns     +7.2 %  holds
cache    misses        <= 0.02         -             FAILS
    no line
sharing  two                 -         -             skipped
    one LLC
";
        assert_eq!(text(&rows), expected);
    }
}
