//! Every assertion by name, and how one is run.

use crate::bench::Bench;
use crate::verdict::{Checked, Verdict};
use crate::{pages, plans, restoring, sampling, threads, waiting, ways};

/// Something that every machine keeps.
pub struct Assertion<B> {
    /// What, in plain words: the call of the seam, and what holds of it. Unique.
    pub name: &'static str,
    body: fn(&B) -> Checked,
}

/// The whole list, in the order of the seam's calls.
#[must_use]
pub fn assertions<B: Bench>() -> Vec<Assertion<B>> {
    let seam = [sampling::list(), threads::list(), pages::list(), plans::list(), waiting::list(), restoring::list()];
    seam.into_iter().chain([ways::list()]).flatten().map(|(name, body)| Assertion { name, body }).collect()
}

/// Runs one assertion on a machine of its own.
pub fn check<B: Bench>(assertion: &Assertion<B>, bench: &B) -> Verdict {
    (assertion.body)(bench).into()
}
