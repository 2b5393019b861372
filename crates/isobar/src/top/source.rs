//! Where epochs come from: a machine under the loop, or a recording.

use isobar_model::ActionId;
use isobar_view::Moment;

/// Whether something is recorded now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taped {
    /// To this file.
    To(String),
    /// No more; what was recorded, in words.
    Ended(String),
}

/// Epoch after epoch.
pub trait Source {
    /// Waits for the next epoch and shows it; false at the end, when nothing was shown.
    ///
    /// # Errors
    /// Where the machine fails or a recording cannot be read.
    fn next(&mut self, see: &mut dyn FnMut(&Moment<'_>)) -> anyhow::Result<bool>;

    /// Takes actions back, the last first; what came of it, in a line.
    fn undo(&mut self, _ids: &[ActionId]) -> String {
        "nothing is changed here that could be taken back".to_owned()
    }

    /// Begins to record what is watched, or ends that.
    ///
    /// # Errors
    /// Where no file can be made, or it could not be written.
    fn record(&mut self) -> anyhow::Result<Taped> {
        anyhow::bail!("what is shown is a recording already")
    }
}
