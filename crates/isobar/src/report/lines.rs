//! Writes the lines of a log, each escaped as a whole and stamped with the time of day. On a
//! terminal they scroll past above the live block. It knows the sink and the terminal; it does not
//! know what the lines mean.

use super::clock::{Stamps, WallClock};
use super::live::{Live, Size};
use crate::output::Sink;
use crate::text::plain;
use std::io;

/// Writes lines, and the live block below them if there is a terminal.
pub struct Lines<'a> {
    out: &'a mut dyn Sink,
    stamps: Stamps,
    size: Option<fn() -> Size>,
    live: Live,
}

impl<'a> Lines<'a> {
    /// Writes lines to `out`, stamped by a clock. If `out` is a terminal, `size` returns its
    /// current size.
    pub fn new(out: &'a mut dyn Sink, clock: WallClock, size: Option<fn() -> Size>) -> Self {
        Self { out, stamps: Stamps::by(clock), size, live: Live::default() }
    }

    /// The current size of the terminal; `None` if there is none.
    pub fn size(&self) -> Option<Size> {
        self.size.map(|size| size())
    }

    /// Writes one line.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.erase()?;
        let (date, stamp) = self.stamps.next();
        date.map_or(Ok(()), |date| writeln!(self.out, "{}", plain(&date)))?;
        writeln!(self.out, "{stamp}{}", plain(text))
    }

    /// Writes several lines.
    pub fn all(&mut self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(&line))
    }

    /// Writes a table. On a terminal, which it must not exceed in width, its lines have no stamp.
    pub fn table(&mut self, lines: Vec<String>) -> io::Result<()> {
        if self.size.is_none() {
            return self.all(lines);
        }
        self.erase()?;
        lines.iter().try_for_each(|line| writeln!(self.out, "{}", plain(line)))
    }

    /// Redraws the live block, with a stamp on its first line, and flushes. While the terminal does
    /// not read, no block is queued, only lines. Otherwise old pictures would flicker past
    /// afterwards.
    pub fn show(&mut self, block: impl FnOnce(Size) -> Vec<String>) -> io::Result<()> {
        if let Some(size) = self.size().filter(|_| !self.out.is_behind()) {
            let mut lines = block(size);
            let stamp = self.stamps.next().1;
            lines.iter_mut().take(1).for_each(|line| line.insert_str(0, &stamp));
            self.out.draw(self.live.draw(&lines, size).as_bytes())?;
        }
        self.flush()
    }

    /// Flushes what was written.
    pub fn flush(&mut self) -> io::Result<()> {
        let before = self.out.dropped_lines();
        self.out.flush()?;
        if self.out.dropped_lines() > before {
            // The terminal still shows the block before, and a notice will follow it.
            self.live.forget();
        }
        Ok(())
    }

    /// Declares that what is written from now on is the end of the run.
    pub fn keep_the_rest(&mut self) {
        self.out.keep_the_rest();
    }

    fn erase(&mut self) -> io::Result<()> {
        let erased = self.size().map(|size| self.live.erase(size)).unwrap_or_default();
        self.out.draw(erased.as_bytes())
    }
}
