//! Known differences between machines that are not yet fixed. The list of a machine should be
//! empty. An entry whose assertion holds is outdated and makes the test fail, so that no entry
//! outlives its reason.

use crate::verdict::{Checked, Stop};

/// An assertion that is known not to hold on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The assertion's name.
    pub assertion: &'static str,
    /// What the machine does instead, and why that is tolerated.
    pub why: &'static str,
}

/// The result of an assertion once known differences are taken into account. A known failure
/// passes, with a line on `reported`; an assertion that is listed as a known failure and holds
/// becomes a failure.
///
/// # Errors
/// Those of the assertion; and a failure if a known difference no longer exists.
pub fn judge(name: &str, checked: Checked, known: &[Difference], mut reported: impl FnMut(&str)) -> Checked {
    let Some(difference) = known.iter().find(|difference| difference.assertion == name) else { return checked };
    match checked {
        Err(Stop::Fails(how)) => {
            reported(&format!("KNOWN DIFFERENCE: {name}: {}: {how}", difference.why));
            Ok(())
        }
        Ok(()) => Err(Stop::Fails("it is listed as a known difference and holds: take it off the list".to_owned())),
        lacks => lacks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_difference_is_told_and_an_outdated_one_fails() {
        let known = [Difference { assertion: "a", why: "because" }];
        let mut said = Vec::new();
        let mut judged = |name, checked| judge(name, checked, &known, |line| said.push(line.to_owned()));
        let fails = || Err(Stop::Fails("1 is not 2".into()));
        assert_eq!(judged("a", fails()), Ok(()));
        assert!(matches!(judged("a", Ok(())), Err(Stop::Fails(_))));
        assert_eq!(judged("b", Ok(())), Ok(()));
        assert_eq!(judged("b", fails()), fails());
        assert_eq!(said, ["KNOWN DIFFERENCE: a: because: 1 is not 2"]);
    }
}
