//! The question before actions are taken back.

use isobar_model::ActionId;
use isobar_model::text::ranges;

/// Actions that are taken back if a person says yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The actions, by number.
    pub ids: Vec<ActionId>,
    /// What they did, in words.
    pub words: String,
    /// Whether they are actions of a daemon, and not of this process.
    pub of_daemon: bool,
}

impl Question {
    /// The line that is shown.
    pub(crate) fn line(&self) -> String {
        let ids = ranges(self.ids.iter().map(|id| u32::try_from(id.0).unwrap_or(u32::MAX)));
        let whose = if self.of_daemon { " of the daemon" } else { "" };
        format!("take back #{ids}{whose} ({})?   y takes it back, any other key does not", self.words)
    }
}
