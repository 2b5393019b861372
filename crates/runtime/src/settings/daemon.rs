//! The section `[daemon]`: what `isobar daemon` needs beyond what it manages.

use serde::Deserialize;
use std::path::PathBuf;

/// The section `[daemon]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DaemonConfig {
    /// The group whose members may ask for the status; empty: root and the daemon's own user only.
    pub group: String,
    /// Where the control socket is, where it is not the usual place.
    pub socket: Option<PathBuf>,
    /// Whether what is seen and done is recorded.
    pub record: bool,
    /// The folder of recordings, where it is not the usual place.
    pub record_folder: Option<PathBuf>,
    /// How large a recording may grow, in bytes; its oldest epochs go.
    pub record_bytes: u64,
    /// How many recordings are kept, this one included; the oldest go.
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

/// The least that is worth keeping of a recording.
const LEAST_BYTES: u64 = 1 << 20;

impl DaemonConfig {
    /// Whether the values are possible ones.
    ///
    /// # Errors
    /// The first that is not, in one line.
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
