//! The list of all assertions, by name.

use crate::bench::Bench;
use crate::verdict::Assertion;
use crate::{pages, plans, restoring, sampling, threads, undoing, waiting, ways};

/// All assertions, in the order of the seam's calls.
#[must_use]
pub fn assertions<B: Bench>() -> Vec<Assertion<B>> {
    let seam = [sampling::list(), threads::list(), pages::list(), plans::list(), waiting::list(), restoring::list()];
    seam.into_iter().chain([undoing::list(), ways::list()]).flatten().collect()
}
