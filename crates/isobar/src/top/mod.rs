//! `isobar top` on a terminal: epochs come from a [`Source`] in a thread of its own, keys and
//! pictures are this thread's. What is drawn and what keys do is `isobar-tui`'s.

mod feed;
mod screen;
mod source;

pub use feed::{Feed, News, Order, Pace};
pub use screen::{leave_the_screen, show};
pub use source::Source;
