//! The block at the bottom of a terminal that is redrawn in place. It knows escape sequences and
//! how many rows a block takes, also after the window was made narrower. It does not know what the
//! block shows.

use crate::terminal;
use crate::text::{short, width};
use std::fmt::Write;

/// The size of a terminal. It is asked for again before each picture, because windows change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// characters in a line
    pub columns: usize,
    /// lines
    pub rows: usize,
}

impl Size {
    /// The size for a picture that may take the whole terminal, because nothing else is printed
    /// there.
    pub fn of_terminal() -> Self {
        let (columns, rows) = terminal::size().unwrap_or((80, 24));
        Self { columns, rows: rows.saturating_mul(2).saturating_sub(2) }
    }

    /// Columns that a block may use. One is left free, because some terminals wrap as soon as the
    /// last one is taken.
    pub const fn usable(self) -> usize {
        self.columns.saturating_sub(1)
    }

    /// Rows that a block may take: half of them, so that the lines above it can be read.
    pub const fn block(self) -> usize {
        self.rows / 2
    }
}

/// The block that the terminal shows, if any; the cursor is below it.
#[derive(Debug, Default)]
pub struct Live {
    /// The width of each of its lines, in columns.
    shown: Vec<usize>,
}

impl Live {
    /// The text that erases the block and moves the cursor to where it began; empty if there is no
    /// block.
    pub fn erase(&mut self, size: Size) -> String {
        let shown = std::mem::take(&mut self.shown);
        // A terminal that was made narrower has wrapped the lines.
        let rows: usize = shown.iter().map(|columns| columns.div_ceil(size.columns.max(1)).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\r\x1b[{}A\x1b[J", rows.min(size.rows)) }
    }

    /// The text that draws a block, cut to the size of the terminal.
    pub fn draw(&mut self, lines: &[String], size: Size) -> String {
        let mut picture = self.erase(size);
        for line in lines.iter().take(size.block().max(1)) {
            let line = short(line, size.usable());
            self.shown.push(width(&line));
            // Writing into a String cannot fail.
            let _ = writeln!(picture, "{line}");
        }
        picture
    }

    /// Forgets the block, because the terminal has moved on and it can no longer be erased.
    pub fn forget(&mut self) {
        self.shown.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { columns: 20, rows: 10 };

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_block_replaces_the_one_before() {
        let mut live = Live::default();
        assert_eq!(live.erase(SIZE), "");
        assert_eq!(live.draw(&lines(&["a", "b"]), SIZE), "a\nb\n");
        assert_eq!(live.draw(&lines(&["c"]), SIZE), "\r\x1b[2A\x1b[Jc\n");
        assert_eq!(live.erase(SIZE), "\r\x1b[1A\x1b[J");
        assert_eq!(live.erase(SIZE), "");
    }

    #[test]
    fn no_line_is_wider_and_no_block_higher_than_the_terminal_allows() {
        let mut live = Live::default();
        let text = "测试测试测试测试测试测试".to_owned();
        let drawn = live.draw(&vec![text; 30], SIZE);
        assert_eq!(drawn.lines().count(), 5);
        assert!(drawn.lines().all(|line| width(line) <= 19), "{drawn}");
    }

    #[test]
    fn a_window_made_narrower_has_wrapped_the_block() {
        let mut live = Live::default();
        live.draw(&lines(&["0123456789abcdef", "", "xy"]), SIZE);
        assert_eq!(live.erase(Size { columns: 8, rows: 10 }), "\r\x1b[4A\x1b[J");
        live.draw(&lines(&["0123456789abcdef"]), SIZE);
        assert_eq!(live.erase(Size { columns: 1, rows: 10 }), "\r\x1b[10A\x1b[J", "no further than the screen");
    }

    #[test]
    fn what_scrolled_away_is_not_erased() {
        let mut live = Live::default();
        live.draw(&lines(&["a"]), SIZE);
        live.forget();
        assert_eq!(live.erase(SIZE), "");
    }
}
