//! `isobar top` on a terminal: epochs come from a [`Source`] in a thread of its own, keys and
//! pictures are this thread's. What is drawn and what keys do is `isobar-tui`'s.

mod elsewhere;
mod feed;
mod screen;
mod source;

pub use elsewhere::Elsewhere;
pub use feed::{Feed, News, Order, Pace};
pub use screen::{leave_the_screen, show};
pub use source::{Source, Taped};
