//! Metrics of a run: from the views of epochs to metric families, and from families to the text
//! that Prometheus reads. [`Exposition`] takes one epoch after the other and keeps what only grows
//! (counters, histograms); everything else is of the last epoch.
//!
//! Properties: what was not measured is an absent sample, never 0 or NaN. The number of series is
//! bounded by the machine and by [`GroupChooser`], whatever names processes have and however often
//! they change them. Names of processes are labels that no reader can mistake for syntax. Units are
//! base units (seconds, bytes, ratios), and names end in them. docs/metrics.md lists every family;
//! a test compares that page with this code.
//!
//! Deliberately absent: clocks, sockets, and files. The server of the text supplies [`Own`], the
//! resource use of its process.

#![forbid(unsafe_code)]

mod decisions;
mod errno;
mod exposition;
mod family;
mod group_chooser;
mod groups;
mod histogram;
mod machine;
mod own;
mod text;

pub use exposition::{About, Exposition, Taken};
pub use family::{Families, Family, Kind, Label, Sample, Value};
pub use group_chooser::GroupChooser;
pub use histogram::Histogram;
pub use own::Own;
pub use text::{Form, write};
