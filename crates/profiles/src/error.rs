//! Errors in a file of programs: one line that names the file, the place in it, and what would be
//! right.

use isobar_model::profile::ProfileError;
use isobar_model::text::one_line;

/// Why a file holds no programs over ways.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReadError {
    /// a line that is not right
    #[error("{file}: line {line}: {problem}")]
    Line {
        /// the file, as the caller names it
        file: String,
        /// the line, from 1
        line: u64,
        /// key or column, what is wrong with it, and what would be right
        problem: String,
    },
    /// something that concerns no single line
    #[error("{file}: {problem}")]
    File {
        /// the file, as the caller names it
        file: String,
        /// what is wrong, and what would be right
        problem: String,
    },
    /// figures that no program can have
    #[error("{file}: {}", one_line(&cause.to_string()))]
    Figures {
        /// the file, as the caller names it
        file: String,
        /// the program and the figure
        #[source]
        cause: ProfileError,
    },
}

impl ReadError {
    pub(crate) fn line(file: &str, line: u64, problem: impl Into<String>) -> Self {
        Self::Line { file: file.to_owned(), line, problem: one_line(&problem.into()) }
    }

    pub(crate) fn file(file: &str, problem: impl Into<String>) -> Self {
        Self::File { file: file.to_owned(), problem: one_line(&problem.into()) }
    }

    pub(crate) fn figures(file: &str, cause: ProfileError) -> Self {
        Self::Figures { file: file.to_owned(), cause }
    }
}
