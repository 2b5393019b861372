//! The errors of numasim. Each is one line that names the file or the thing, and the remedy.

use std::path::Path;

/// Why numasim cannot do what it was asked to do.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// the input is wrong
    #[error("{file}: {problem}")]
    Input {
        /// the file, as it was named
        file: String,
        /// line or key, what is wrong, what would be right
        problem: String,
    },
    /// a file or folder cannot be read or written
    #[error("{path}: {source}")]
    Io {
        /// the path
        path: String,
        /// the system's error
        source: std::io::Error,
    },
    /// something that is needed is not available here
    #[error("{what}: {why}")]
    Missing {
        /// what is needed
        what: String,
        /// why it is not available, and what to do
        why: String,
    },
    /// a boot did not end as it should
    #[error("{0}")]
    Boot(String),
    /// Ctrl-C
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// An error of wrong input.
    pub fn input(file: &str, problem: impl Into<String>) -> Self {
        Self::Input { file: one_line(file), problem: one_line(&problem.into()) }
    }

    /// An error of a TOML file that does not have the expected form, with the line.
    #[must_use]
    pub fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map_or(1, |span| 1 + text.bytes().take(span.start).filter(|b| *b == b'\n').count());
        Self::input(file, format!("line {line}: {}", error.message()))
    }

    /// An error of a file that cannot be read or written.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.display().to_string(), source }
    }

    /// An error of something that is needed and not available.
    pub fn missing(what: &str, why: impl Into<String>) -> Self {
        Self::Missing { what: what.to_owned(), why: one_line(&why.into()) }
    }

    /// Exit code: 2 for wrong input, else 1.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        if matches!(self, Self::Input { .. }) { 2 } else { 1 }
    }
}

/// The text on one line.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
