//! Shows how claims depend on estimates, as text for people: a row for each claim, and two columns
//! for each kind of estimate.

use crate::reproduce::sensitivity::{Answer, ClaimState, Sensitivity};
use isobar_model::text::hanging;
use std::fmt::Write;

/// Maximum number of characters in a line.
const WIDTH: usize = 110;
/// Width of the id of a claim.
const ID: usize = 10;
/// Width of its standing.
const STANDING: usize = 16;
/// Width of an answer: `yes/no`.
const CELL: usize = 9;
/// Number of kinds of estimates side by side, so that a line stays within [`WIDTH`].
const SIDE_BY_SIDE: usize = (WIDTH - ID - STANDING - CELL) / (2 * CELL + GAP);
/// Width of the gap between kinds.
const GAP: usize = 2;

/// The claims of a paper with their signs and sizes at both ends of every kind of estimate, and a
/// description of the estimates.
#[must_use]
pub fn sensitivity_table(seen: &Sensitivity) -> String {
    let mut text = String::from(
        "Sign/size of each claim with one kind of estimate at the low and at the high end of its range:\n",
    );
    let kinds = seen.estimates.len();
    for first in (0..kinds.max(1)).step_by(SIDE_BY_SIDE) {
        block(&mut text, seen, first..(first + SIDE_BY_SIDE).min(kinds));
    }
    text.push('\n');
    for one in &seen.estimates {
        let words: Vec<_> = one.what.split_whitespace().collect();
        text.push_str(&hanging(&format!("{}: ", one.name), &words, "", WIDTH));
    }
    let of = |standing| seen.claims.iter().filter(|claim| claim.standing == standing).count();
    let _ = writeln!(
        text,
        "\nOpen: the sign flips within the range of an estimate.\n\
         -: no estimate affects the claim, or the paper prints no sign.\n\n\
         {}: of {} claims {} are reproduced, {} open, {} not reproduced.",
        seen.paper,
        seen.claims.len(),
        of(ClaimState::Reproduced),
        of(ClaimState::Open),
        of(ClaimState::NotReproduced)
    );
    text
}

/// Writes some of the kinds.
fn block(text: &mut String, seen: &Sensitivity, kinds: std::ops::Range<usize>) {
    let mut heads = format!("\n{:ID$}{:STANDING$}{:CELL$}", "", "", "");
    let mut columns = format!("{:<ID$}{:<STANDING$}{:<CELL$}", "claim", "standing", "as given");
    for one in &seen.estimates[kinds.clone()] {
        let _ = write!(heads, "{:GAP$}{:<width$}", "", one.name, width = 2 * CELL);
        let _ = write!(columns, "{:GAP$}{:<CELL$}{:<CELL$}", "", "low", "high");
    }
    line(text, &heads);
    line(text, &columns);
    for claim in &seen.claims {
        let mut row = format!("{:<ID$}{:<STANDING$}{:<CELL$}", claim.id, standing(claim.standing), cell(&claim.given));
        for one in &seen.estimates[kinds.clone()] {
            let ends = claim.ends.iter().find(|ends| ends.estimate == one.name);
            let [low, high] = ends.map_or(["-".into(), "-".into()], |ends| [cell(&ends.low), cell(&ends.high)]);
            let _ = write!(row, "{:GAP$}{low:<CELL$}{high:<CELL$}", "");
        }
        line(text, &row);
    }
}

fn line(text: &mut String, row: &str) {
    text.extend([row.trim_end(), "\n"]);
}

fn cell(answer: &Answer) -> String {
    format!("{}/{}", answer.sign.word(), answer.size.word())
}

const fn standing(standing: ClaimState) -> &'static str {
    match standing {
        ClaimState::Reproduced => "reproduced",
        ClaimState::Open => "open",
        ClaimState::NotReproduced => "not reproduced",
        ClaimState::NotPrinted | ClaimState::Untouched => "-",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::Verdict;
    use crate::reproduce::sensitivity::{Ends, Estimated, Tested};

    fn answer(sign: Verdict) -> Answer {
        Answer { sign, size: Verdict::NotPrinted, ours: "2".into() }
    }

    fn seen(kinds: usize) -> Sensitivity {
        let (low, high) = (answer(Verdict::Agrees), answer(Verdict::Differs));
        let ends = Ends { estimate: "link rates", low, high };
        let claim = Tested {
            id: "nmass-1",
            claim: "slow is slow",
            given: answer(Verdict::Agrees),
            ends: vec![ends; kinds],
            standing: ClaimState::Open,
        };
        let estimate = Estimated { name: "link rates", what: "what a link carries" };
        Sensitivity { paper: "nmass", estimates: vec![estimate; kinds], claims: vec![claim] }
    }

    #[test]
    fn a_claim_stands_beside_its_ends() {
        let text = sensitivity_table(&seen(1));
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.contains(&vec!["claim", "standing", "as", "given", "low", "high"]), "{text}");
        assert!(rows.contains(&vec!["nmass-1", "open", "yes/-", "yes/-", "no/-"]), "{text}");
        assert!(
            text.contains("link rates: what a link carries") && text.contains("0 are reproduced, 1 open"),
            "{text}"
        );
    }

    #[test]
    fn what_no_estimate_touches_is_told_apart() {
        let mut one = seen(1);
        (one.claims[0].ends, one.claims[0].standing) = (Vec::new(), ClaimState::Untouched);
        assert!(sensitivity_table(&one).contains("nmass-1   -               yes/-      -        -\n"));
    }

    #[test]
    fn many_kinds_break_into_blocks_and_none_shows_the_claims_alone() {
        let many = sensitivity_table(&seen(SIDE_BY_SIDE + 1));
        assert_eq!(many.lines().filter(|line| line.starts_with("nmass-1")).count(), 2, "{many}");
        assert!(many.lines().all(|line| line.chars().count() <= WIDTH && !line.ends_with(' ')), "{many}");
        assert!(sensitivity_table(&seen(0)).contains("nmass-1   open            yes/-\n"));
    }
}
