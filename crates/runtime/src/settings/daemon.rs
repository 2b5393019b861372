//! The section `[daemon]`: what `isobar daemon` needs in addition to the rules of what it manages.

use serde::Deserialize;
use std::path::PathBuf;

/// The section `[daemon]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DaemonConfig {
    /// The group whose members may ask for the status; if empty, only root and the daemon's own
    /// user.
    pub group: String,
    /// Where the control socket is, if not in the usual place.
    pub socket: Option<PathBuf>,
    /// Whether observations and actions are recorded.
    pub record: bool,
    /// The folder of recordings, if not in the usual place.
    pub record_folder: Option<PathBuf>,
    /// Maximum size of a recording in bytes; its oldest epochs are dropped.
    pub record_bytes: u64,
    /// Maximum number of recordings, including the current one; the oldest are deleted.
    pub record_files: u64,
}

impl Default for DaemonConfig {
    fn default() -> Self {
        Self {
            group: "isobar".to_owned(),
            socket: None,
            record: false,
            record_folder: None,
            record_bytes: 1 << 30,
            record_files: 5,
        }
    }
}

/// Minimum size of a useful recording.
const LEAST_BYTES: u64 = 1 << 20;

impl DaemonConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// The first impossible value, in one line.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.record_bytes < LEAST_BYTES {
            return Err(format!("record_bytes = {}: expected at least {LEAST_BYTES}", self.record_bytes));
        }
        if self.record_files == 0 {
            return Err("record_files = 0: expected a number above 0".to_owned());
        }
        match self.group.chars().find(|letter| letter.is_control() || matches!(letter, ':' | '/')) {
            Some(_) => Err(format!("group = {:?}: expected the name of a group, or \"\" for none", self.group)),
            None => Ok(()),
        }
    }
}
