//! The width of the page: from `COLUMNS`, or from the terminal of standard output. What is drawn is
//! up to the caller.

use std::io;

/// Columns if the number is not known: output to a pipe or a file, or a terminal that does not know
/// its size.
const UNKNOWN: usize = 80;

/// The width is limited to this range: text cannot be drawn legibly below it, and longer lines are
/// hard to read.
const SENSIBLE: std::ops::RangeInclusive<usize> = 40..=1000;

/// Columns to draw in: `COLUMNS` if it is set (as by `COLUMNS=120 isobar topo | less`), otherwise
/// those of the terminal, otherwise 80; at least 40.
pub fn columns() -> usize {
    let asked = std::env::var("COLUMNS").ok();
    sensible(asked.as_deref(), || size().map(|(columns, _)| columns))
}

/// Columns and rows of the terminal, if standard output is one.
pub fn size() -> Option<(usize, usize)> {
    let (width, height) = terminal_size::terminal_size_of(io::stdout())?;
    Some((usize::from(width.0), usize::from(height.0)))
}

fn sensible(asked: Option<&str>, terminal: impl Fn() -> Option<usize>) -> usize {
    let asked = asked.and_then(|text| text.trim().parse().ok()).filter(|columns| *columns > 0);
    let known = asked.or_else(|| terminal().filter(|columns| *columns > 0));
    known.unwrap_or(UNKNOWN).clamp(*SENSIBLE.start(), *SENSIBLE.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_comes_before_the_terminal_and_that_before_80() {
        assert_eq!(sensible(Some("120"), || Some(60)), 120);
        assert_eq!(sensible(None, || Some(60)), 60);
        assert_eq!(sensible(None, || None), 80);
        for nonsense in ["", "0", "-5", "wide"] {
            assert_eq!(sensible(Some(nonsense), || Some(60)), 60, "{nonsense}");
        }
        assert_eq!((sensible(Some("7"), || None), sensible(Some("4000000000"), || None)), (40, 1000));
        assert_eq!(sensible(None, || Some(0)), 80, "a terminal that does not know its size");
    }
}
