//! Where epochs come from: a machine under the loop, or a recording.

use isobar_view::Moment;

/// Epoch after epoch.
pub trait Source {
    /// Waits for the next epoch and shows it; false at the end, when nothing was shown.
    ///
    /// # Errors
    /// Where the machine fails or a recording cannot be read.
    fn next(&mut self, see: &mut dyn FnMut(&Moment<'_>)) -> anyhow::Result<bool>;
}
