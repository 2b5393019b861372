//! Claims as text for people: one line per claim with its verdicts, then the figures and the
//! reasons.

use crate::reproduce::claim::{Claim, Reproduction, Verdict};
use isobar_model::text::hanging;
use std::fmt::Write;

/// Maximum number of characters in a line.
const WIDTH: usize = 110;
/// Column at which the text of an entry begins.
const INDENT: usize = 10;

/// The claims of a paper: id, sign, size and claim on one line, and below it the paper's figure,
/// ours, and the reason.
#[must_use]
pub fn claims_table(reproduction: &Reproduction) -> String {
    let mut text = format!("{:<INDENT$}{:<6}{:<9}{}\n", "claim", "sign", "size", "what the paper says");
    for claim in &reproduction.claims {
        one(&mut text, claim);
    }
    let agree =
        |read: fn(&Claim) -> Verdict| reproduction.claims.iter().filter(|claim| read(claim) == Verdict::Agrees).count();
    let _ = writeln!(
        text,
        "\n{}: of {} claims {} agree in sign and {} in size.",
        reproduction.paper,
        reproduction.claims.len(),
        agree(|claim| claim.sign),
        agree(|claim| claim.size)
    );
    text
}

fn one(text: &mut String, claim: &Claim) {
    let head = format!("{:<INDENT$}{:<6}{:<9}", claim.id, claim.sign.word(), claim.size.word());
    text.push('\n');
    entry(text, &head, claim.claim);
    for (label, words) in [("paper", claim.paper), ("ours", &claim.ours), ("why", &claim.band)] {
        entry(text, &format!("{:INDENT$}{label:<6}", ""), words);
    }
}

/// Writes a heading and, after it, the words of a text.
fn entry(text: &mut String, head: &str, words: &str) {
    text.push_str(&hanging(head, &words.split_whitespace().collect::<Vec<_>>(), " ", WIDTH));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_stay_below_their_head() {
        let claim = Claim {
            id: "nmass-1",
            claim: "short",
            paper: "1.0",
            ours: "word ".repeat(40),
            sign: Verdict::Agrees,
            size: Verdict::NotPrinted,
            band: "why".into(),
        };
        let text = claims_table(&Reproduction { paper: "nmass", claims: vec![claim], figures: vec![] });
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH && !line.ends_with(' ')), "{text}");
        assert!(text.contains("\nnmass-1   yes   -        short\n"), "{text}");
        assert!(text.contains("\n                word word"), "{text}");
        assert!(text.ends_with("nmass: of 1 claims 1 agree in sign and 0 in size.\n"), "{text}");
    }
}
