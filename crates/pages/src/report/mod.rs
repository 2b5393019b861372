//! What a page usage shows about a program: figures, structures, the eight mappings side by side,
//! and which of them suits.
//!
//! ```text
//! figures      every figure, and the mappings side by side
//! structures   what each structure is used for, and by which threads
//! linux        where the kernel really had the pages
//! served       how many accesses of each mapping stay on their node
//! course       slice after slice: exclusivity, migrations, heat
//! accesses     by address and time, apart by who makes them
//! advice       which mapping suits and why; the paper's thresholds and ours
//! steps        what to do for it
//! document     all of it as one JSON document
//! ```
//!
//! This module produces numbers and sentences. Their layout is left to the callers.

mod accesses;
mod advice;
mod course;
mod document;
mod figures;
mod linux;
mod served;
mod steps;
mod structures;

#[cfg(test)]
pub(crate) mod examples;

pub use accesses::{Accesses, Band, Summing};
pub use advice::{Advice, EVEN, FEW, FOLLOWED, OFTEN, SMALL_BYTES, WORTH_LOCALITY};
pub use course::{Course, Follow, Heat, Point, RESTLESS};
pub use document::{ReportDocument, document};
pub use figures::{BARS, Hottest, PolicyReport, Question, Report, SweepPoint};
pub use linux::{Linux, NotObserved};
pub use steps::Step;
pub use structures::{MOSTLY, Sharing, StructureUse, joined};
