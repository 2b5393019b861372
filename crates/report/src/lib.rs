//! One HTML file for a run, a comparison, a study, a reproduction or a page trace. The page needs
//! no network and no server: figures, script and style are in the file. The figures are JSON, so
//! that other tools can read them.
//!
//! ```text
//! collect        the epochs of a run as a report, with programs, actions, lanes and series
//! simulation     policies compared          ┐
//! study          algorithms compared        │ from their JSON contracts
//! reproduction   papers' claims             │
//! pages          accesses by address, time  ┘
//! page           all of these as one file: the skeleton and the scripts are in `assets`
//! ```
//!
//! [`Collector`] takes the epochs of a run as views ([`isobar_view::View`]) and keeps what a page
//! can show: means over at most [`BUCKETS`] spans of time, and the busiest programs and threads.
//! Nothing in this crate reads a file or a clock.

#![forbid(unsafe_code)]

mod actions;
mod collect;
mod data;
mod lanes;
mod page;
mod pages;
mod programs;
mod reproduction;
mod series;
mod simulation;
mod study;
mod summary;
#[cfg(test)]
mod tests;

pub use collect::Collector;
pub use data::{Head, Report};
pub use pages::{Band, Heat, Layer, PageUse};
pub use reproduction::{Claim, Figure, Paper, Reproduction, Verdict};
pub use series::BUCKETS;
pub use simulation::{AcrossCell, AcrossRow, AppRow, Compared, PolicyRow, Simulation, Spread, Timeline};
pub use study::{App, Row, Study};
