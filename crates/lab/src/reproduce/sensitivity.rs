//! How each claim depends on estimates: runs the experiments again, with one kind of estimate at a
//! time at the low and at the high end of its range.
//!
//! A claim that comes out for all values of the estimates is *reproduced*. A claim whose sign
//! depends on an estimate is *open*, whatever its sign with the estimate unchanged: the paper may
//! be right or wrong, and we cannot say which. A claim that never comes out is *not reproduced*. A
//! claim for which the paper prints no sign has no standing, and neither has a claim that no
//! estimate touches.
//!
//! Only the parts of a paper's experiments that an estimate touches are run again.

use crate::error::LabError;
use crate::reproduce::claim::{Claim, Verdict};
use crate::reproduce::estimate::{KINDS, Kind, Varied};
use crate::reproduce::options::Options;
use crate::reproduce::part::{Paper, Part};
use isobar_sim::End;
use serde::Serialize;

/// The standing of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimState {
    /// Its sign agrees at both ends of every estimate.
    Reproduced,
    /// Its sign flips within the range of an estimate.
    Open,
    /// Its sign differs for all values.
    NotReproduced,
    /// The paper prints no sign to compare with.
    NotPrinted,
    /// No estimate touches it.
    Untouched,
}

/// The result for a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Whether the direction agrees with the paper's.
    pub sign: Verdict,
    /// Whether the size agrees.
    pub size: Verdict,
    /// Our figure, in words.
    pub ours: String,
}

/// The results for a claim with a kind of estimate at both ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ends {
    /// The kind of estimate.
    pub estimate: &'static str,
    /// The result with the estimate at the low end.
    pub low: Answer,
    /// The result with the estimate at the high end.
    pub high: Answer,
}

/// A claim, and how it depends on estimates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tested {
    /// Its id, such as `nmass-1`.
    pub id: &'static str,
    /// What the paper says.
    pub claim: &'static str,
    /// The result with every estimate unchanged.
    pub given: Answer,
    /// One entry for each kind of estimate that touches the claim.
    pub ends: Vec<Ends>,
    /// The standing that follows.
    pub standing: ClaimState,
}

/// A kind of estimate that was moved to its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Estimated {
    /// Its name.
    pub name: &'static str,
    /// What is estimated.
    pub what: &'static str,
}

/// How the claims of a paper depend on estimates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The paper.
    pub paper: &'static str,
    /// The kinds of estimates that its workloads contain.
    pub estimates: Vec<Estimated>,
    /// Its claims.
    pub claims: Vec<Tested>,
}

/// Runs a paper's experiments with all estimates unchanged and, for each kind that touches them, at
/// both ends. `progress` is called with the name of the kind, the number of runs done and the
/// total; before the first run it is called with 0 of 0.
///
/// # Errors
/// [`LabError`] if a run cannot be made.
pub fn sensitivity(
    paper: &Paper,
    options: &Options,
    progress: &(dyn Fn(&'static str, usize, usize) + Sync),
) -> Result<Sensitivity, LabError> {
    let (mut claims, mut touched) = (Vec::new(), Vec::new());
    for part in paper.parts {
        let kinds = part.kinds(options)?;
        claims.extend(of_part(part, &kinds, options, progress)?);
        touched.extend(kinds);
    }
    let kinds = KINDS.iter().filter(|kind| touched.contains(kind));
    let estimates = kinds.map(|kind| Estimated { name: kind.name, what: kind.what }).collect();
    Ok(Sensitivity { paper: paper.name, estimates, claims })
}

/// Tests the claims of a part with the kinds of estimates that touch it.
fn of_part(
    part: &Part,
    kinds: &[&'static Kind],
    options: &Options,
    progress: &(dyn Fn(&'static str, usize, usize) + Sync),
) -> Result<Vec<Tested>, LabError> {
    let run = |varied: Option<Varied>| {
        let name = varied.map_or("as given", |varied| varied.kind.name);
        progress(name, 0, 0);
        let done = (part.run)(&Options { varied, ..*options }, &|done, all| progress(name, done, all))?;
        Ok::<_, LabError>(done.0)
    };
    let given = run(None)?;
    let at = |kind, end| run(Some(Varied { kind, end }));
    let pairs = kinds.iter().map(|kind| Ok((kind.name, at(kind, End::Low)?, at(kind, End::High)?)));
    let pairs = pairs.collect::<Result<Vec<_>, LabError>>()?;
    let ends = |place: usize| {
        let of = |(estimate, low, high): &(&'static str, Vec<Claim>, Vec<Claim>)| {
            Some(Ends { estimate, low: answer(low.get(place)?), high: answer(high.get(place)?) })
        };
        pairs.iter().filter_map(of).collect::<Vec<_>>()
    };
    Ok(given.iter().enumerate().map(|(place, claim)| tested(claim, ends(place))).collect())
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

/// The standing that follows from the sign with the estimates unchanged, and from the signs at all
/// ends.
fn standing(given: Verdict, ends: &[Verdict]) -> ClaimState {
    match given {
        Verdict::NotPrinted => ClaimState::NotPrinted,
        _ if ends.is_empty() => ClaimState::Untouched,
        _ if ends.iter().any(|sign| *sign != given) => ClaimState::Open,
        Verdict::Agrees => ClaimState::Reproduced,
        Verdict::Differs => ClaimState::NotReproduced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::part::Done;
    use Verdict::{Agrees, Differs, NotPrinted};
    use isobar_sim::Workload;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn claim(id: &'static str, sign: Verdict) -> Claim {
        let ours = format!("{sign:?}");
        Claim { id, claim: "slow is slow", paper: "1", ours, sign, size: Differs, band: "none".into() }
    }

    /// Workloads with estimates of rates of nodes and links, of prefetching and of phases.
    fn nehalem(options: &Options) -> Result<Vec<Workload>, LabError> {
        let text = "machine = \"nehalem-2x4\"\n[[app]]\nprogram = \"soplex\"";
        Ok(vec![options.vary(Workload::from_toml("w.toml", text)?)?])
    }

    fn none(_: &Options) -> Result<Vec<Workload>, LabError> {
        Ok(Vec::new())
    }

    /// Four claims: one holds, one needs a low node rate, one never holds, and one has no sign.
    fn four(options: &Options, _: &(dyn Fn(usize, usize) + Sync)) -> Result<Done, LabError> {
        let low = options.varied.is_some_and(|varied| varied.end == End::Low && varied.kind == &KINDS[0]);
        let signs = [("a", Agrees), ("b", Verdict::of(low)), ("c", Differs), ("d", NotPrinted)];
        Ok((signs.map(|(id, sign)| claim(id, sign)).to_vec(), Vec::new()))
    }

    static COUNTED: AtomicUsize = AtomicUsize::new(0);

    fn counted(_: &Options, _: &(dyn Fn(usize, usize) + Sync)) -> Result<Done, LabError> {
        COUNTED.fetch_add(1, Ordering::Relaxed);
        Ok((vec![claim("e", Agrees)], Vec::new()))
    }

    fn fails(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Done, LabError> {
        if options.varied.is_some() { Err(LabError::Seats) } else { four(options, progress) }
    }

    const OPTIONS: Options = Options { quick: true, seed: 1, jobs: 1, varied: None };

    #[test]
    fn a_sign_that_flips_within_a_range_is_open_and_untouched_parts_run_once() {
        const PARTS: &[Part] = &[Part { workloads: nehalem, run: four }, Part { workloads: none, run: counted }];
        let seen = sensitivity(&Paper { name: "fake", parts: PARTS }, &OPTIONS, &|_, _, _| ()).unwrap();
        let standings: Vec<_> = seen.claims.iter().map(|claim| (claim.id, claim.standing)).collect();
        let expected = [
            ("a", ClaimState::Reproduced),
            ("b", ClaimState::Open),
            ("c", ClaimState::NotReproduced),
            ("d", ClaimState::NotPrinted),
            ("e", ClaimState::Untouched),
        ];
        assert_eq!(standings, expected);
        let flipped = &seen.claims[1].ends[0];
        assert_eq!((flipped.low.sign, flipped.high.sign, &*flipped.low.ours), (Agrees, Differs, "Agrees"));
        let names: Vec<_> = seen.estimates.iter().map(|one| one.name).collect();
        assert_eq!(names, ["node rates", "link rates", "prefetching", "phases"]);
        assert_eq!((seen.claims[4].ends.len(), COUNTED.load(Ordering::Relaxed)), (0, 1));
    }

    #[test]
    fn a_claim_stands_by_its_signs() {
        assert_eq!(standing(Agrees, &[]), ClaimState::Untouched);
        assert_eq!(standing(Agrees, &[Agrees, Differs]), ClaimState::Open);
        assert_eq!(standing(Differs, &[Differs, Agrees]), ClaimState::Open);
        assert_eq!(standing(Differs, &[Differs]), ClaimState::NotReproduced);
        assert_eq!(standing(NotPrinted, &[]), ClaimState::NotPrinted);
    }

    #[test]
    fn a_failed_run_is_reported() {
        const PARTS: &[Part] = &[Part { workloads: nehalem, run: fails }];
        assert!(sensitivity(&Paper { name: "fake", parts: PARTS }, &OPTIONS, &|_, _, _| ()).is_err());
        const WITHOUT: &[Part] = &[Part { workloads: none, run: fails }];
        assert!(sensitivity(&Paper { name: "fake", parts: WITHOUT }, &OPTIONS, &|_, _, _| ()).is_ok());
    }
}
