//! `isobar top` on a terminal. Epochs come from a [`Source`] in a thread of its own; this thread
//! handles keys and pictures. What is drawn and what keys do is defined in `isobar-tui`.

mod elsewhere;
mod feed;
mod screen;
mod source;

pub use elsewhere::Elsewhere;
pub use feed::{Feed, News, Order, Pace};
pub use screen::{leave_the_screen, show};
pub use source::{Source, Taped};
