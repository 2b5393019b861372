//! Metrics of a run: from the views of epochs to metric families, and from families to the text
//! that Prometheus reads. [`Exposition`] takes one epoch after the other and keeps what only grows
//! (counters, histograms); everything else is of the last epoch.
//!
//! Properties: what was not measured is an absent sample, never 0 or NaN; the number of series is
//! bounded by the machine and by [`Roster`], whatever processes are called and however often they
//! change their names; names of processes are labels that no reader can mistake for syntax. Units
//! are base units (seconds, bytes, ratios), and names end in them. docs/metrics.md lists every
//! family; a test holds it against what is written here.
//!
//! Deliberately absent: clocks, sockets, and files. Who serves the text brings [`Own`], what the
//! process itself takes.

#![forbid(unsafe_code)]

mod decisions;
mod errno;
mod exposition;
mod family;
mod groups;
mod histogram;
mod machine;
mod own;
mod roster;
mod text;

pub use exposition::{About, Exposition, Taken};
pub use family::{Families, Family, Kind, Label, Sample, Value};
pub use histogram::Histogram;
pub use own::Own;
pub use roster::Roster;
pub use text::{Form, write};
