//! The source of epochs: a machine under the loop, or a recording.

use isobar_model::ActionId;
use isobar_view::Moment;

/// Whether a recording is being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingState {
    /// A recording is being made, to this file.
    To(String),
    /// The recording has ended; the text says what was recorded.
    Ended(String),
}

/// Delivers one epoch after another.
pub trait Source {
    /// Waits for the next epoch and shows it. Returns false at the end, when nothing was shown.
    ///
    /// # Errors
    /// If the machine fails or a recording cannot be read.
    fn next(&mut self, see: &mut dyn FnMut(&Moment<'_>)) -> anyhow::Result<bool>;

    /// Takes actions back, the last first. Returns the result in one line.
    fn undo(&mut self, _ids: &[ActionId]) -> String {
        "nothing is changed in this mode, so there is nothing to take back".to_owned()
    }

    /// Starts or stops recording what is watched.
    ///
    /// # Errors
    /// If the file cannot be created, or could not be written.
    fn record(&mut self) -> anyhow::Result<RecordingState> {
        anyhow::bail!("this is a recording already")
    }
}
