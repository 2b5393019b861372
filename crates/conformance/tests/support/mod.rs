//! The assertions as tests of a custom harness: each appears under its name, and a skip shows its
//! reason.

use isobar_conformance::{Assertion, Bench, Difference, Stop, assertions, judge};
use libtest_mimic::{Completion, Trial};
use std::sync::Arc;

/// All assertions on a bench. If `strict`, a skip is a failure, unless only cache ways are missing.
pub fn trials<B>(machine: &str, bench: B, known: &'static [Difference], strict: bool) -> Vec<Trial>
where
    B: Bench + Send + Sync + 'static,
{
    let bench = Arc::new(bench);
    let trial = |(name, check): Assertion<B>| {
        let bench = Arc::clone(&bench);
        Trial::ignorable_test(name, move || match judge(name, check(&bench), known, |line| eprintln!("{line}")) {
            Ok(()) => Ok(Completion::Completed),
            Err(Stop::Fails(how)) => Err(how.into()),
            Err(Stop::Lacks(lack)) if strict => Err(format!("skipped where nothing may be: {lack}").into()),
            Err(Stop::Lacks(lack) | Stop::LacksWays(lack)) => Ok(Completion::ignored_with(format!("SKIPPED: {lack}"))),
        })
        .with_kind(machine)
    };
    assertions().into_iter().map(trial).collect()
}
