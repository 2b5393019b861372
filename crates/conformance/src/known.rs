//! Known differences between machines that are not yet fixed. The list of a machine should be
//! empty. An entry whose assertion holds is outdated and fails, so that the list cannot outlive its
//! reasons.

use crate::verdict::Verdict;

/// An assertion that a machine is known not to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The assertion's name.
    pub assertion: &'static str,
    /// What the machine does instead, and why that is tolerated.
    pub why: &'static str,
}

/// The verdict after known differences: a known failure passes, with a line on `reported`; a known
/// failure that no longer fails becomes a failure.
#[must_use]
pub fn judge(name: &str, verdict: Verdict, known: &[Difference], mut reported: impl FnMut(&str)) -> Verdict {
    let Some(difference) = known.iter().find(|difference| difference.assertion == name) else { return verdict };
    match verdict {
        Verdict::Fail(how) => {
            reported(&format!("KNOWN DIFFERENCE: {name}: {}: {how}", difference.why));
            Verdict::Pass
        }
        Verdict::Pass => Verdict::Fail("it is listed as a known difference and holds: take it off the list".to_owned()),
        skip @ Verdict::Skip(_) => skip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_difference_is_told_and_an_outdated_one_fails() {
        let known = [Difference { assertion: "a", why: "because" }];
        let mut said = Vec::new();
        let mut judged = |name, verdict| judge(name, verdict, &known, |line| said.push(line.to_owned()));
        assert_eq!(judged("a", Verdict::Fail("1 is not 2".into())), Verdict::Pass);
        assert!(matches!(judged("a", Verdict::Pass), Verdict::Fail(_)));
        assert_eq!(judged("b", Verdict::Pass), Verdict::Pass);
        assert!(matches!(judged("b", Verdict::Fail("x".into())), Verdict::Fail(_)));
        assert_eq!(said, ["KNOWN DIFFERENCE: a: because: 1 is not 2"]);
    }
}
