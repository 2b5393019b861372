//! What can go wrong, each in one line that names the file or the thing, and the remedy.

use std::path::Path;

/// Why the laboratory cannot do what was asked.
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
    /// a file or folder refuses
    #[error("{path}: {source}")]
    Io {
        /// which
        path: String,
        /// why
        source: std::io::Error,
    },
    /// something that is needed cannot be had here
    #[error("{what}: {why}")]
    Missing {
        /// what is needed
        what: String,
        /// why it cannot be had, and what to do
        why: String,
    },
    /// a boot did not come to its end
    #[error("{0}")]
    Boot(String),
    /// Ctrl-C
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// Wrong input.
    pub fn input(file: &str, problem: impl Into<String>) -> Self {
        Self::Input { file: one_line(file), problem: one_line(&problem.into()) }
    }

    /// TOML of another form than expected, with the line.
    #[must_use]
    pub fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map_or(1, |span| 1 + text.bytes().take(span.start).filter(|b| *b == b'\n').count());
        Self::input(file, format!("line {line}: {}", error.message()))
    }

    /// A file that refuses.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.display().to_string(), source }
    }

    /// Something that is needed.
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
