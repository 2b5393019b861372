//! Lines of a log, each escaped as a whole and stamped with the time of day; on a terminal they
//! scroll past above the live block. It knows the sink and the terminal; it does not know what the
//! lines say.

use super::clock::{Stamps, WallClock};
use super::live::{Live, Size};
use crate::output::Sink;
use crate::text::plain;
use std::io;

/// Writes lines, and the block below them where there is a terminal.
pub struct Lines<'a> {
    out: &'a mut dyn Sink,
    stamps: Stamps,
    size: Option<fn() -> Size>,
    live: Live,
}

impl<'a> Lines<'a> {
    /// Lines to `out`, stamped by a clock; `size` asks the terminal, where it is one.
    pub fn new(out: &'a mut dyn Sink, clock: WallClock, size: Option<fn() -> Size>) -> Self {
        Self { out, stamps: Stamps::by(clock), size, live: Live::default() }
    }

    /// The size of the terminal now; `None` where it is none.
    pub fn size(&self) -> Option<Size> {
        self.size.map(|size| size())
    }

    /// One line of what happens.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.erase()?;
        let (date, stamp) = self.stamps.next();
        date.map_or(Ok(()), |date| writeln!(self.out, "{}", plain(&date)))?;
        writeln!(self.out, "{stamp}{}", plain(text))
    }

    /// Several of them.
    pub fn all(&mut self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(&line))
    }

    /// A table: on a terminal, where it must not be wider than that, its lines bear no stamp.
    pub fn table(&mut self, lines: Vec<String>) -> io::Result<()> {
        if self.size.is_none() {
            return self.all(lines);
        }
        self.erase()?;
        lines.iter().try_for_each(|line| writeln!(self.out, "{}", plain(line)))
    }

    /// Redraws the live block, with a stamp in its first line, and lets all go. While the
    /// terminal does not read, only what happened is queued: it would be a flicker of old pictures
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

    /// Lets all go that was written.
    pub fn flush(&mut self) -> io::Result<()> {
        let before = self.out.dropped_lines();
        self.out.flush()?;
        if self.out.dropped_lines() > before {
            // What stands on the terminal is the block before, and a notice will follow it.
            self.live.forget();
        }
        Ok(())
    }

    /// What is written from here on is the end of the run.
    pub fn keep_the_rest(&mut self) {
        self.out.keep_the_rest();
    }

    fn erase(&mut self) -> io::Result<()> {
        let erased = self.size().map(|size| self.live.erase(size)).unwrap_or_default();
        self.out.draw(erased.as_bytes())
    }
}
