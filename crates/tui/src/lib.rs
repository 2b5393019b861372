//! The terminal view: what is drawn of a machine, and what the keys do. This crate knows a
//! [`View`](isobar_view::View) and a grid of cells. Terminals, signals, threads and time are left
//! to the caller.
//!
//! ```text
//! title          what is watched, when, how
//! verdict        the answer in words
//! nodes          CPU, memory, controller, latency; beside them the matrix of latencies
//! caches, links  pressure, ways by cluster
//! programs       or threads, or groups: sorted, filtered, expanded
//! foot           keys, or what is typed, or what is not measured
//! ```
//!
//! Every name that a process can choose goes through [`text`] before it reaches a cell.

#![forbid(unsafe_code)]

mod app;
mod caches;
mod canvas;
mod cells;
mod columns;
mod detail;
mod foot;
mod frame;
mod head;
mod keys;
mod nodes;
mod overlay;
mod past;
mod question;
mod reply;
mod rows;
mod table;
#[cfg(test)]
mod tests;
pub mod text;
mod undo;

pub use app::{App, Setup};
pub use frame::draw;
pub use question::Question;
pub use reply::{Key, Reply};
pub use rows::Kind;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

/// One frame as plain text, without blanks at the ends of lines.
#[must_use]
pub fn plain_frame(app: &mut App, columns: u16, rows: u16) -> String {
    let area = Rect::new(0, 0, columns, rows);
    let mut buffer = Buffer::empty(area);
    draw(app, &mut buffer);
    let mut text = String::new();
    for y in 0..rows {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..columns {
            let Some(cell) = buffer.cell((x, y)) else { continue };
            if skip > 0 {
                skip -= 1; // The second half of a wide character.
                continue;
            }
            line.push_str(cell.symbol());
            skip = text::width(cell.symbol()).saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
