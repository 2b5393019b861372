//! The parts of a reproduction.

use serde::Serialize;

/// One claim of a paper, and the result here (docs/design/reproductions.md).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Its id in the design's table, such as `nmass-1`.
    pub id: &'static str,
    /// What the paper says, in one line.
    pub claim: &'static str,
    /// The paper's figure, in words.
    pub paper: &'static str,
    /// Our figure, in the same words.
    pub ours: String,
    /// Whether the direction agrees with the paper's.
    pub sign: Verdict,
    /// Whether the size agrees, within the band that `band` states.
    pub size: Verdict,
    /// The band and the reason for its width; for a claim that does not come out, the reason.
    pub band: String,
}

/// Whether something agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It agrees.
    Agrees,
    /// It differs.
    Differs,
    /// The paper gives nothing to compare with.
    NotPrinted,
}

impl Verdict {
    /// The verdict of a comparison.
    #[must_use]
    pub const fn of(agrees: bool) -> Self {
        if agrees { Self::Agrees } else { Self::Differs }
    }

    /// The verdict as a cell of a table.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "yes",
            Self::Differs => "no",
            Self::NotPrinted => "-",
        }
    }
}

/// A figure of the paper, redrawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// File name, such as `nmass-figure-3.svg`.
    pub file: String,
    /// What it shows, with the paper's figure number.
    pub title: String,
    /// The picture.
    #[serde(skip)]
    pub svg: String,
}

impl Figure {
    /// A figure from its file name, title and picture.
    pub(crate) fn new(file: &str, title: &str, svg: String) -> Self {
        Self { file: file.to_owned(), title: title.to_owned(), svg }
    }
}

/// The result of reproducing a paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduction {
    /// The paper: `nmass`, `dino`.
    pub paper: &'static str,
    /// The claims in the order of the design's table.
    pub claims: Vec<Claim>,
    /// The figures.
    pub figures: Vec<Figure>,
}

#[cfg(test)]
impl Reproduction {
    /// Asserts that the claims are these, that each has words and numbers, and that every figure is
    /// a picture with a file name of its own.
    pub(crate) fn is_whole(&self, ids: &[&str]) {
        assert_eq!(self.claims.iter().map(|claim| claim.id).collect::<Vec<_>>(), ids);
        for claim in &self.claims {
            let texts = [claim.claim, claim.paper, &claim.ours, &claim.band];
            let sound = |text: &&str| !text.is_empty() && !text.contains("NaN") && !text.contains("inf");
            assert!(texts.iter().all(sound), "{claim:?}");
        }
        for Figure { file, svg, .. } in &self.figures {
            assert!(roxmltree::Document::parse(svg).is_ok(), "{file}");
            assert!(file.starts_with(self.paper) && file.ends_with(".svg"), "{file}");
        }
        let files: std::collections::BTreeSet<_> = self.figures.iter().map(|figure| &figure.file).collect();
        assert_eq!(files.len(), self.figures.len());
    }
}
