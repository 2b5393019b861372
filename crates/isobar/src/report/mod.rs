//! Shows a run to people and to programs. It knows the loop's events; it decides nothing and
//! touches no machine.

mod after_run;
mod changes;
mod clock;
mod explain;
mod journal;
mod json;
mod kind;
mod lines;
mod live;
mod missing;
mod notes;
mod profiles;
mod rate;
mod remarks;
mod sums;
mod table;
mod text_reporter;
pub mod triage;
mod ways;
mod words;

pub use after_run::{AfterRun, AppTruth, Recorded, Truth};
pub use clock::WallClock;
pub use explain::Explain;
pub use journal::{Fields, Journal, Priority};
pub use json::Json;
pub use live::{Live, Size};
pub use profiles::Profiles;
pub use text_reporter::{TextReporter, Volume};
pub use words::{action_in_words, concerns, machine_in_words, outcome_in_words};

use isobar_runtime::{Observer, Tally};

/// Shows a run from its beginning to its end.
pub trait Reporter: Observer {
    /// Shows the end of the run, after what was changed is put back.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn end(&mut self, tally: &Tally, after: &AfterRun) -> anyhow::Result<()>;
}
