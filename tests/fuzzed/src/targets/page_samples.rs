//! Memory samples as `perf script` prints them, and files of any form.

use crate::check::accepted;
use isobar_pages::import::{open, perf};

/// Checks one input.
pub fn run(bytes: &[u8]) {
    if let Some(profile) = accepted(perf::read(bytes)) {
        assert_eq!(profile.structure_of.len(), profile.usage.pages().len());
        assert_eq!(profile.threads.len(), profile.usage.threads());
    }
    let _ = accepted(open(bytes));
}
