//! The assertions as tests of a custom harness: each appears under its name, a skip with its
//! reason.

use isobar_conformance::{Bench, Difference, Lack, Verdict, assertions, check, judge};
use libtest_mimic::{Completion, Trial};
use std::sync::Arc;

/// Every assertion on a bench; `strict` makes a skip a failure, except for missing cache ways.
pub fn trials<B>(machine: &str, bench: B, known: &'static [Difference], strict: bool) -> Vec<Trial>
where
    B: Bench + Send + Sync + 'static,
{
    let bench = Arc::new(bench);
    let trial = |assertion: isobar_conformance::Assertion<B>| {
        let bench = Arc::clone(&bench);
        Trial::ignorable_test(assertion.name, move || {
            let verdict = check(&assertion, &*bench);
            match judge(assertion.name, verdict, known, |line| eprintln!("{line}")) {
                Verdict::Pass => Ok(Completion::Completed),
                Verdict::Fail(how) => Err(how.into()),
                Verdict::Skip(lack) if strict && !matches!(lack, Lack::CacheWays(_)) => {
                    Err(format!("skipped where nothing may be: {lack}").into())
                }
                Verdict::Skip(lack) => Ok(Completion::ignored_with(format!("SKIPPED: {lack}"))),
            }
        })
        .with_kind(machine)
    };
    assertions().into_iter().map(trial).collect()
}
