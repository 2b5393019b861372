//! `isobar top` on a terminal. Epochs come from a [`Source`] in a thread of its own; this thread
//! handles keys and pictures. What is drawn and what keys do is defined in `isobar-tui`.

mod daemon_link;
mod feed;
mod screen;
mod source;

pub use daemon_link::DaemonLink;
pub use feed::{Feed, News, Order, Pace};
pub use screen::{leave_the_screen, show};
pub use source::{RecordingState, Source};
