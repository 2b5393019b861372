//! One HTML file of a run: what the machine suffered, what was done about it, and what came of
//! that. It needs no network and no server: figures, script and style are in the file, the figures
//! as JSON for whoever wants them.
//!
//! [`Collector`] takes the epochs of a run as views ([`isobar_view::View`]) and keeps what a page
//! can show of them: means over at most [`BUCKETS`] spans of time, the busiest programs and
//! threads. [`Report::html`] makes the page. It reads no file and knows no clock.

#![forbid(unsafe_code)]

mod actions;
mod collect;
mod data;
mod lanes;
mod page;
mod programs;
mod series;
mod summary;
#[cfg(test)]
mod tests;

pub use collect::Collector;
pub use data::{Head, Report};
pub use series::BUCKETS;
