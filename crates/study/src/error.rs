//! Errors in a request for a study: one line that names the file, line or key, and what would be
//! right. All of them are bad input: a study that has begun does not fail.

use isobar_model::profile::ProfileError;
use isobar_model::text::one_line;
use isobar_partition::PartitionError;
use isobar_profiles::ReadError;
use isobar_sim::SimError;

/// Why a study cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// a file that is not right
    #[error("{file}: {problem}")]
    File {
        /// the file, as the caller names it
        file: String,
        /// where in it and what, and what would be right
        problem: String,
    },
    /// solutions that are not JSON of the expected form
    #[error(
        "{file}: {}: expected {{\"solutions\": [{{\"apps\": [..], \"llc\": [..], \"cluster\": \
         [..], \"ways\": [..]}}]}}",
        one_line(&format!("{path}: {cause}"))
    )]
    Json {
        /// the file, as the caller names it
        file: String,
        /// the place in the document
        path: String,
        /// what is wrong there
        #[source]
        cause: serde_json::Error,
    },
    /// a given solution that the machine cannot run
    #[error("{file}: solutions[{index}]: {}", one_line(&cause.to_string()))]
    Solution {
        /// the file, as the caller names it
        file: String,
        /// its position in the file, from 0
        index: usize,
        /// why it cannot
        #[source]
        cause: PartitionError,
    },
    /// a program of the simulator whose figures make no table
    #[error("{file}: {}", one_line(&cause.to_string()))]
    Figures {
        /// the machine that it ran on
        file: String,
        /// the program and the figure
        #[source]
        cause: ProfileError,
    },
    /// a request that makes no sense
    #[error("{0}")]
    Request(String),
    /// a file of programs that is not right
    #[error(transparent)]
    Read(#[from] ReadError),
    /// a machine or a program that is not right
    #[error(transparent)]
    Sim(#[from] SimError),
    /// no threads to compute with
    #[error("{jobs} worker threads cannot be started: {cause}; ask for fewer jobs")]
    Jobs {
        /// the threads asked for
        jobs: usize,
        /// the system's reason
        #[source]
        cause: rayon::ThreadPoolBuildError,
    },
}

impl StudyError {
    pub(crate) fn file(file: &str, problem: impl Into<String>) -> Self {
        Self::File { file: file.to_owned(), problem: one_line(&problem.into()) }
    }

    pub(crate) fn request(problem: impl Into<String>) -> Self {
        Self::Request(one_line(&problem.into()))
    }
}

/// `; did you mean ...?` with the known names closest to a misspelt one, otherwise how to go on.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, other: &str) -> String {
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

/// Longer names resemble no known name, and comparing them would take minutes.
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
