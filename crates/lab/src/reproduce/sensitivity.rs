//! How each claim answers to what was estimated: the experiments again, with one kind of estimate
//! at a time at the low and at the high end of its range.
//!
//! A claim that comes out whatever the estimates are is *reproduced*. One whose sign depends on an
//! estimate is *open*, whichever way it falls with the estimate as it is: its paper may be right or
//! wrong, and we cannot say. One that never comes out is *not reproduced*. One whose sign the paper
//! does not print has no standing.

use crate::error::LabError;
use crate::reproduce::claim::{Claim, Reproduction, Verdict};
use crate::reproduce::estimate::{Kind, Varied};
use crate::reproduce::options::Options;
use isobar_sim::End;
use serde::Serialize;

/// What a claim is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its sign agrees at both ends of every estimate.
    Reproduced,
    /// Its sign flips within the range of an estimate.
    Open,
    /// Its sign differs everywhere.
    NotReproduced,
    /// The paper prints no sign to compare with.
    NotPrinted,
}

/// What a claim came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Whether the direction is the paper's.
    pub sign: Verdict,
    /// Whether the size is.
    pub size: Verdict,
    /// Our figure, in words.
    pub ours: String,
}

/// What a claim came to with a kind of estimate at its ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ends {
    /// The kind.
    pub estimate: &'static str,
    /// With it at the low end.
    pub low: Answer,
    /// With it at the high end.
    pub high: Answer,
}

/// A claim, and how it answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tested {
    /// Its id, such as `nmass-1`.
    pub id: &'static str,
    /// What the paper says.
    pub claim: &'static str,
    /// With every estimate as it is.
    pub given: Answer,
    /// One for each kind of estimate.
    pub ends: Vec<Ends>,
    /// What follows.
    pub standing: Standing,
}

/// A kind of estimate that was put to its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Estimated {
    /// Its name.
    pub name: &'static str,
    /// What is estimated.
    pub what: &'static str,
}

/// How the claims of a paper answer to what was estimated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The paper.
    pub paper: &'static str,
    /// The kinds of estimates that its workloads have.
    pub estimates: Vec<Estimated>,
    /// Its claims.
    pub claims: Vec<Tested>,
}

/// Runs a paper's experiments with each kind of estimate as it is and at both ends; `run` makes
/// them with the options it is given.
///
/// # Errors
/// [`LabError`] where a run cannot be made.
pub fn sensitivity(
    options: &Options,
    kinds: &[&'static Kind],
    run: &dyn Fn(&Options) -> Result<Reproduction, LabError>,
) -> Result<Sensitivity, LabError> {
    let given = run(&Options { varied: None, ..*options })?;
    let at = |kind, end| run(&Options { varied: Some(Varied { kind, end }), ..*options });
    let pairs = kinds.iter().map(|kind| Ok((at(kind, End::Low)?, at(kind, End::High)?)));
    let pairs = pairs.collect::<Result<Vec<_>, LabError>>()?;
    let ends = |place: usize| {
        let of = |(kind, (low, high)): (&&'static Kind, &(Reproduction, Reproduction))| {
            let answer = |at: &Reproduction| at.claims.get(place).map(answer);
            Some(Ends { estimate: kind.name, low: answer(low)?, high: answer(high)? })
        };
        kinds.iter().zip(&pairs).filter_map(of).collect::<Vec<_>>()
    };
    let claims = given.claims.iter().enumerate().map(|(place, claim)| tested(claim, ends(place))).collect();
    let estimates = kinds.iter().map(|kind| Estimated { name: kind.name, what: kind.what }).collect();
    Ok(Sensitivity { paper: given.paper, estimates, claims })
}

fn answer(claim: &Claim) -> Answer {
    Answer { sign: claim.sign, size: claim.size, ours: claim.ours.clone() }
}

fn tested(claim: &Claim, ends: Vec<Ends>) -> Tested {
    let given = answer(claim);
    let signs: Vec<_> = ends.iter().flat_map(|ends| [ends.low.sign, ends.high.sign]).collect();
    let standing = standing(given.sign, &signs);
    Tested { id: claim.id, claim: claim.claim, given, ends, standing }
}

/// What follows from the sign with the estimates as they are, and at all ends.
fn standing(given: Verdict, ends: &[Verdict]) -> Standing {
    match given {
        Verdict::NotPrinted => Standing::NotPrinted,
        _ if ends.iter().any(|sign| *sign != given) => Standing::Open,
        Verdict::Agrees => Standing::Reproduced,
        Verdict::Differs => Standing::NotReproduced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Agrees, Differs, NotPrinted};

    static RATES: Kind = Kind { name: "rates", what: "what a node sustains", vary: |workload, _| Ok(workload.clone()) };

    fn claim(id: &'static str, sign: Verdict) -> Claim {
        let ours = format!("{sign:?}");
        Claim { id, claim: "slow is slow", paper: "1", ours, sign, size: Differs, band: "none".into() }
    }

    /// One claim that holds, one that needs a low rate, one that never holds, one without a sign.
    fn fake(options: &Options) -> Result<Reproduction, LabError> {
        let low = options.varied.is_some_and(|varied| varied.end == End::Low);
        let signs = [("a", Agrees), ("b", Verdict::of(low)), ("c", Differs), ("d", NotPrinted)];
        let claims = signs.map(|(id, sign)| claim(id, sign)).to_vec();
        Ok(Reproduction { paper: "fake", claims, figures: Vec::new() })
    }

    fn seen() -> Sensitivity {
        let options = Options { quick: true, seed: 1, jobs: 1, varied: None };
        sensitivity(&options, &[&RATES], &fake).unwrap()
    }

    #[test]
    fn a_sign_that_flips_within_a_range_is_open() {
        let seen = seen();
        let standings: Vec<_> = seen.claims.iter().map(|claim| (claim.id, claim.standing)).collect();
        let expected = [
            ("a", Standing::Reproduced),
            ("b", Standing::Open),
            ("c", Standing::NotReproduced),
            ("d", Standing::NotPrinted),
        ];
        assert_eq!(standings, expected);
        let flipped = &seen.claims[1].ends[0];
        assert_eq!((flipped.low.sign, flipped.high.sign, &*flipped.low.ours), (Agrees, Differs, "Agrees"));
        assert_eq!((seen.estimates.len(), seen.estimates[0].name), (1, RATES.name));
    }

    #[test]
    fn without_estimates_a_claim_stands_as_it_is() {
        assert_eq!(standing(Agrees, &[]), Standing::Reproduced);
        assert_eq!(standing(Differs, &[]), Standing::NotReproduced);
        assert_eq!(standing(Agrees, &[Agrees, Differs]), Standing::Open);
        assert_eq!(standing(Differs, &[Differs, Agrees]), Standing::Open);
    }

    #[test]
    fn a_failed_run_is_reported() {
        let fails = |options: &Options| match options.varied {
            None => fake(options),
            Some(_) => Err(LabError::Seats),
        };
        let options = Options { quick: true, seed: 1, jobs: 1, varied: None };
        assert!(sensitivity(&options, &[&RATES], &fails).is_err());
        assert!(sensitivity(&options, &[], &fails).is_ok());
    }
}
