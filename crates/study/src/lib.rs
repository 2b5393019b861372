//! Static studies: which program goes to which LLC, which programs share which ways, and what is
//! the best that any algorithm could do?
//!
//! [`Study::new`] checks a request ([`Ask`]). [`Study::run`] answers every workload by every
//! algorithm and returns each [`Row`], in order, as soon as it is known. Input is text, and time
//! comes from the observer ([`Watch`]).

#![forbid(unsafe_code)]

mod algorithms;
mod answer;
mod ask;
mod count;
mod error;
mod exact;
mod fixed;
mod library;
mod queueing;
mod remarks;
mod row;
mod setup;
mod stream;
mod study;
mod summary;
mod text;
mod watch;
mod workloads;

pub use algorithms::described;
pub use ask::{Ask, ModelKind, Source};
pub use count::{Counted, counts};
pub use error::StudyError;
pub use fixed::FixedSolution;
pub use library::{MACHINE, of_machine};
pub use queueing::Queueing;
pub use row::{AppRow, Measures, Row};
pub use setup::BANDWIDTH;
pub use study::Study;
pub use summary::Summary;
pub use text::{LEGEND, Text, thousands};
pub use watch::{SearchState, Watch};
pub use workloads::Workload;
