//! The claims of papers, as `isobar reproduce --json` prints them, with the figures that were
//! drawn.

use crate::data::Head;
use crate::page::page;
use isobar_model::text::plain;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The results for the claims of papers.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// What the report is about.
    pub head: Head,
    /// The summary, in words.
    pub summary: Vec<String>,
    /// Paper by paper.
    pub papers: Vec<Paper>,
}

/// A document of `isobar reproduce --json`.
#[derive(Deserialize)]
struct Document {
    seed: u64,
    #[serde(default)]
    quick: bool,
    papers: Vec<Paper>,
}

/// A paper.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Paper {
    /// Its short name.
    pub paper: String,
    /// Its claims.
    pub claims: Vec<Claim>,
    /// Its figures.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// A claim.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// What the paper says.
    pub claim: String,
    /// The value in the paper.
    #[serde(rename(deserialize = "paper", serialize = "paper_figure"))]
    pub paper: String,
    /// Our value.
    pub ours: String,
    /// Whether the direction agrees.
    pub sign: Verdict,
    /// Whether the size does.
    pub size: Verdict,
    /// The band in which values agree, and the reason for it.
    pub band: String,
}

/// Whether something agrees.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It does.
    Agrees,
    /// It does not.
    Differs,
    /// The paper gives nothing to compare with.
    NotPrinted,
}

/// A figure.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Figure {
    /// The name of its file.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// The picture, if it exists.
    #[serde(default)]
    pub svg: Option<String>,
}

impl Reproduction {
    /// Whether a document looks like one of `isobar reproduce --json`.
    #[must_use]
    pub fn is(document: &Value) -> bool {
        document.get("papers").is_some_and(Value::is_array)
    }

    /// Reads such a document; `picture` finds a figure by its file name.
    ///
    /// # Errors
    /// Why the document is not suitable.
    pub fn read(
        document: Value,
        mut head: Head,
        picture: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, serde_json::Error> {
        let Document { seed, quick, mut papers } = serde_json::from_value(document)?;
        for figure in papers.iter_mut().flat_map(|paper| &mut paper.figures) {
            figure.svg = figure.svg.take().or_else(|| picture(&figure.file));
        }
        head.facts.push(("first seed".to_owned(), seed.to_string()));
        if quick {
            head.remarks.push("Shorter and fewer runs (--quick): directions are reliable, sizes are rough.".to_owned());
        }
        let mut all = Self { head, summary: Vec::new(), papers };
        all.harmless();
        all.summary = words(&all.papers);
        Ok(all)
    }

    fn harmless(&mut self) {
        for paper in &mut self.papers {
            paper.paper = plain(&paper.paper).into_owned();
            for claim in &mut paper.claims {
                for text in [&mut claim.id, &mut claim.claim, &mut claim.paper, &mut claim.ours, &mut claim.band] {
                    *text = plain(text).into_owned();
                }
            }
        }
    }

    /// The page as one file of HTML.
    #[must_use]
    pub fn html(&self) -> String {
        page("reproduction", &self.head.title, &self.summary, &[include_str!("assets/reproduction.js")], self)
    }
}

fn words(papers: &[Paper]) -> Vec<String> {
    let claims: Vec<&Claim> = papers.iter().flat_map(|paper| &paper.claims).collect();
    let count = |of: fn(&Claim) -> Verdict, verdict| claims.iter().filter(|claim| of(claim) == verdict).count();
    let line = |what: &str, of: fn(&Claim) -> Verdict| {
        let (agrees, differs) = (count(of, Verdict::Agrees), count(of, Verdict::Differs));
        format!("{what} agrees with the paper in {agrees} of {} claims that can be compared.", agrees + differs)
    };
    let names: Vec<&str> = papers.iter().map(|paper| paper.paper.as_str()).collect();
    let mut lines = vec![format!("{} claims of {}, run again on simulated machines.", claims.len(), names.join(", "))];
    lines.push(line("The direction", |claim| claim.sign));
    lines.push(line("The size", |claim| claim.size));
    let differs = claims.iter().filter(|claim| claim.sign == Verdict::Differs || claim.size == Verdict::Differs);
    let differs: Vec<String> = differs.map(|claim| claim.id.clone()).collect();
    if !differs.is_empty() {
        lines.push(format!("Claims that are not reproduced: {}; the last column says why.", differs.join(", ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn claims_are_counted_and_figures_found_by_name() {
        let claim = |id: &str, sign: &str, size: &str| json!({"id": id, "claim": "a", "paper": "10 %", "ours": "9 %", "sign": sign, "size": size, "band": "half"});
        let claims = [claim("x-1", "agrees", "not_printed"), claim("x-2", "agrees", "differs")];
        let figures = [json!({"file": "x-1.svg", "title": "one"}), json!({"file": "x-2.svg", "title": "two"})];
        let document =
            json!({"seed": 1, "quick": true, "papers": [{"paper": "x", "claims": claims, "figures": figures}]});
        let picture = |file: &str| (file == "x-1.svg").then(|| "<svg/>".to_owned());
        let read = Reproduction::read(document, Head::default(), picture).unwrap();
        assert_eq!(read.summary[1], "The direction agrees with the paper in 2 of 2 claims that can be compared.");
        assert_eq!(read.summary[2], "The size agrees with the paper in 0 of 1 claims that can be compared.");
        assert!(read.summary[3].contains("x-2;"), "{:?}", read.summary);
        let figures = &read.papers[0].figures;
        assert_eq!((figures[0].svg.as_deref(), &figures[1].svg), (Some("<svg/>"), &None));
    }
}
