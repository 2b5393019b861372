//! The orders that `isobar trace` gives the plugin, and the notes that the plugin writes back.
//!
//! The orders are passed in an environment variable, as JSON, because the options of a plugin
//! cannot contain commas, and paths can.

use isobar_pages::trace::Header;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The variable. QEMU is asked not to pass it to the program.
pub const VARIABLE: &str = "ISOBAR_TRACE";

/// The orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// The trace file; replaced if it exists.
    pub trace: PathBuf,
    /// A file to which notes are appended, one per line.
    pub notes: PathBuf,
    /// The header of the trace.
    pub header: Header,
}

const ALLOCATION: &str = "allocated at 0x";

/// The name of an allocation until the code that made it is known by name.
#[must_use]
pub fn allocation(caller: u64) -> String {
    format!("{ALLOCATION}{caller:x}")
}

/// The return address of the call that made an allocation of this name.
#[must_use]
pub fn caller(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix(ALLOCATION)?, 16).ok()
}

/// A line of the notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Something is not in the trace.
    Missing(String),
    /// The trace could not be written.
    Failed(String),
}

impl Note {
    /// Formats the note as a line.
    #[must_use]
    pub fn line(&self) -> String {
        let (kind, text) = match self {
            Self::Missing(text) => ("missing", text),
            Self::Failed(text) => ("failed", text),
        };
        format!("{kind} {}\n", text.replace('\n', " "))
    }

    /// Parses a line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ')? {
            ("missing", text) => Some(Self::Missing(text.to_owned())),
            ("failed", text) => Some(Self::Failed(text.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_is_named_by_its_caller() {
        assert_eq!(allocation(0x40_1234), "allocated at 0x401234");
        assert_eq!((caller("allocated at 0x401234"), caller("A")), (Some(0x40_1234), None));
    }

    #[test]
    fn a_note_is_a_line() {
        let note = Note::Missing("process 7 became a\nb".to_owned());
        assert_eq!(note.line(), "missing process 7 became a b\n");
        assert_eq!(Note::parse("failed no space"), Some(Note::Failed("no space".to_owned())));
        assert_eq!(Note::parse("nonsense"), None);
    }
}
