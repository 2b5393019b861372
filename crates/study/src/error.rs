//! What can be wrong with what a study is asked, in one line that names the file, line or key and what would be right. All of it is
//! bad input: a study that has begun does not fail.

use isobar_model::text::one_line;
use isobar_sim::SimError;

/// Why a study cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    /// a file that is not right
    #[error("{file}: {problem}")]
    File {
        /// the file, as the caller names it
        file: String,
        /// where in it and what, and what would be right
        problem: String,
    },
    /// a request that makes no sense
    #[error("{0}")]
    Request(String),
    /// a measured table, a machine or a program that is not right
    #[error(transparent)]
    Sim(#[from] SimError),
    /// no threads to compute with
    #[error("{jobs} worker threads cannot be started: {problem}; ask for fewer jobs")]
    Jobs {
        /// how many were asked for
        jobs: usize,
        /// what the system said
        problem: String,
    },
}

impl StudyError {
    pub(super) fn file(file: &str, problem: impl Into<String>) -> Self {
        Self::File { file: file.to_owned(), problem: one_line(&problem.into()) }
    }

    pub(super) fn request(problem: impl Into<String>) -> Self {
        Self::Request(one_line(&problem.into()))
    }
}

/// `; did you mean ...?` with the known names that come near a misspelt one, else how to go on.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, other: &str) -> String {
    let mut near: Vec<(f64, &str)> = known
        .into_iter()
        .filter(|_| name.len() <= LONGEST_NAME)
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(like, _)| *like >= ALIKE)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    match near.iter().take(3).map(|(_, name)| format!("`{name}`")).collect::<Vec<_>>().as_slice() {
        [] => format!("; {other}"),
        names => format!("; did you mean {}?", names.join(" or ")),
    }
}

/// Nothing longer is like any known name, and comparing it would take minutes.
const LONGEST_NAME: usize = 100;

/// Names less alike than this (Jaro-Winkler) are not offered.
const ALIKE: f64 = 0.8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_offered_best_first() {
        let known = ["lbm06", "milc06", "bwaves06"];
        assert!(nearest("lbm6", known, "x").starts_with("; did you mean `lbm06`"));
        assert_eq!(nearest("zzz", known, "list them"), "; list them");
    }
}
