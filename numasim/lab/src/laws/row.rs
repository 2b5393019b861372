//! A row of the table: what a law expects, what was measured, and whether the law holds. A figure
//! that was not measured is a failure, reported with its reason.

use serde::Serialize;

/// What a measured figure must be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// as expected, to within this fraction of it
    Within(f64),
    /// from the expected figure up to this one
    UpTo(f64),
    /// at most what is expected
    AtMost,
    /// at least what is expected
    AtLeast,
    /// any figure, which is only reported
    Shown,
}

/// The verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// the law holds
    Holds,
    /// the law does not hold, or nothing was measured
    Fails,
    /// this machine cannot show it
    Skipped,
    /// not a law: a figure that is only reported
    Shown,
}

/// A row of the table; see the head of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// name of the law
    pub law: &'static str,
    /// the figure or case of the law
    pub what: String,
    /// unit of both figures
    pub unit: &'static str,
    /// figure from the machine file; `None` if nothing can be expected, as `why` says
    pub expected: Option<f64>,
    /// what the measured figure must be
    pub bound: Bound,
    /// figure from the guest; `None` if it was not measured, as `why` says
    pub measured: Option<f64>,
    /// why there is no figure, or a remark on the row
    pub why: Option<String>,
    /// the verdict on the row
    pub verdict: Verdict,
}

impl Row {
    /// Compares a figure with what was expected. If either is missing or not a number, the row
    /// fails.
    #[must_use]
    pub fn new(
        law: &'static str,
        what: impl Into<String>,
        unit: &'static str,
        expected: Result<f64, String>,
        bound: Bound,
        measured: Result<f64, String>,
    ) -> Self {
        let expected = match expected {
            Ok(expected) => expected,
            Err(why) => return Self::fails(law, what, why),
        };
        let (measured, why) = match measured {
            Ok(value) if value.is_finite() => (Some(value), None),
            Ok(_) => (None, Some("what was read gives no number".to_owned())),
            Err(why) => (None, Some(why)),
        };
        let will_do = measured.is_some_and(|measured| bound.allows(expected, measured));
        let verdict = match bound {
            Bound::Shown if measured.is_some() => Verdict::Shown,
            _ if will_do => Verdict::Holds,
            _ => Verdict::Fails,
        };
        Self { law, what: what.into(), unit, expected: Some(expected), bound, measured, why, verdict }
    }

    /// A row that fails without figures.
    #[must_use]
    pub fn fails(law: &'static str, what: impl Into<String>, why: impl Into<String>) -> Self {
        let why = Some(why.into());
        let verdict = Verdict::Fails;
        Self { law, what: what.into(), unit: "", expected: None, bound: Bound::Shown, measured: None, why, verdict }
    }

    /// A row of a law that this machine cannot show.
    #[must_use]
    pub fn skipped(law: &'static str, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Skipped, ..Self::fails(law, what, why) }
    }

    /// Measured over expected, less 1; `None` if either is missing or 0 is expected.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let expected = self.expected.filter(|expected| *expected != 0.0)?;
        Some(self.measured? / expected - 1.0)
    }
}

impl Bound {
    fn allows(self, expected: f64, measured: f64) -> bool {
        match self {
            Self::Within(part) => (measured - expected).abs() <= part * expected.abs(),
            Self::UpTo(most) => (expected..=most).contains(&measured),
            Self::AtMost => measured <= expected,
            Self::AtLeast => measured >= expected,
            Self::Shown => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(bound: Bound, measured: Result<f64, String>) -> Verdict {
        Row::new("latency", "x", "ns", Ok(100.0), bound, measured).verdict
    }

    #[test]
    fn bounds_include_their_ends() {
        assert_eq!(verdict(Bound::Within(0.1), Ok(110.0)), Verdict::Holds);
        assert_eq!(verdict(Bound::Within(0.1), Ok(89.9)), Verdict::Fails);
        assert_eq!(verdict(Bound::AtMost, Ok(100.0)), Verdict::Holds);
        assert_eq!(verdict(Bound::AtMost, Ok(100.1)), Verdict::Fails);
        assert_eq!(verdict(Bound::AtLeast, Ok(99.0)), Verdict::Fails);
        assert_eq!(verdict(Bound::UpTo(150.0), Ok(150.0)), Verdict::Holds);
        assert_eq!(verdict(Bound::UpTo(150.0), Ok(99.0)), Verdict::Fails);
        assert_eq!(verdict(Bound::Shown, Ok(1e9)), Verdict::Shown);
    }

    #[test]
    fn what_was_not_measured_never_holds() {
        for bound in [Bound::Within(1.0), Bound::AtMost, Bound::AtLeast, Bound::Shown] {
            assert_eq!(verdict(bound, Err("no line".to_owned())), Verdict::Fails);
            assert_eq!(verdict(bound, Ok(f64::NAN)), Verdict::Fails);
            assert_eq!(verdict(bound, Ok(f64::INFINITY)), Verdict::Fails);
        }
        assert_eq!(Row::skipped("ways", "x", "y").verdict, Verdict::Skipped);
    }

    #[test]
    fn a_deviation_is_relative_to_what_was_expected() {
        let row = Row::new("latency", "x", "ns", Ok(200.0), Bound::Within(0.1), Ok(210.0));
        assert!((row.deviation().unwrap() - 0.05).abs() < 1e-12);
        assert_eq!(Row::new("latency", "x", "ns", Ok(0.0), Bound::AtMost, Ok(0.0)).deviation(), None);
    }
}
