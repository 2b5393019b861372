//! Errors in the text of a machine, a program or a workload. Each message is one line that names
//! the file, the key and the remedy.

use isobar_model::text::one_line;
use std::ops::RangeInclusive;

/// Why a simulated machine could not be made, or could not be run on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// the text is no TOML of the expected form
    #[error("{file}: {problem}")]
    Toml {
        /// the file, as the caller names it
        file: String,
        /// line, key and problem
        problem: String,
    },
    /// a measured table that does not hold together
    #[error(transparent)]
    Table(#[from] isobar_profiles::ReadError),
    /// the contention model could not say how fast the programs run
    #[error("{when}: {source}; change the workload, or shorten the run to end before")]
    NoAnswer {
        /// simulated time
        when: String,
        /// why
        #[source]
        source: isobar_contention::NoAnswer,
    },
    /// a value that cannot be
    #[error("{file}: `{key}` {problem}")]
    Value {
        /// the file, as the caller names it
        file: String,
        /// the key
        key: String,
        /// what is wrong with its value, and what would be right
        problem: String,
    },
    /// a program or machine that does not ship
    #[error("{file}: `{key}` names unknown {kind} `{name}`{hint}")]
    Unknown {
        /// the file, as the caller names it
        file: String,
        /// the key
        key: String,
        /// `program` or `machine`
        kind: &'static str,
        /// the name as written
        name: String,
        /// names that come near, or how to see all
        hint: String,
    },
}

impl From<isobar_contention::NoAnswer> for SimError {
    fn from(source: isobar_contention::NoAnswer) -> Self {
        Self::NoAnswer { when: "programs that run for ever".to_owned(), source }
    }
}

impl SimError {
    pub(crate) fn value(file: &str, key: &str, problem: impl Into<String>) -> Self {
        Self::Value { file: file.to_owned(), key: one_line(key), problem: one_line(&problem.into()) }
    }

    pub(crate) fn unknown(file: &str, key: &str, kind: &'static str, name: &str, known: &[&str]) -> Self {
        let hint = one_line(&hint(name, known));
        Self::Unknown { file: file.to_owned(), key: one_line(key), kind, name: one_line(name), hint }
    }
}

/// A number that must lie in a range.
pub(crate) fn within(file: &str, key: &str, value: f64, range: RangeInclusive<f64>) -> Result<(), SimError> {
    let problem = || format!("is {value}; it must be from {} to {}", range.start(), range.end());
    range.contains(&value).then_some(()).ok_or_else(|| SimError::value(file, key, problem()))
}

/// Reads TOML of type `T`; the error is one line.
///
/// # Errors
/// [`SimError::Toml`] with line and column if they are known.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> Result<T, SimError> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count());
        let message = one_line(&error.message().split_whitespace().collect::<Vec<_>>().join(" "));
        let problem = line.map_or_else(|| message.clone(), |line| format!("line {line}: {message}"));
        SimError::Toml { file: file.to_owned(), problem }
    })
}

/// No longer name is close to any known name, and comparing one would take minutes.
const LONGEST_NAME: usize = 100;

/// The known names that are similar to a misspelt one; all of them if none is.
fn hint(name: &str, known: &[&str]) -> String {
    let limit = name.chars().count().max(3) / 2;
    let comparable = known.iter().filter(|_| name.len() <= LONGEST_NAME);
    let mut near: Vec<_> = comparable.map(|other| (strsim::levenshtein(name, other), *other)).collect();
    near.sort_unstable();
    let near: Vec<_> = near.into_iter().filter(|(edits, _)| *edits <= limit).take(3).map(|(_, name)| name).collect();
    if near.is_empty() {
        format!("; known are {}", known.join(", "))
    } else {
        format!("; did you mean {}?", near.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered() {
        assert_eq!(hint("mlic", &["milc", "povray"]), "; did you mean milc?");
        assert_eq!(hint("zzzzzz", &["milc", "povray"]), "; known are milc, povray");
        assert_eq!(hint(&"milc".repeat(1 << 20), &["milc"; 100]).matches("milc").count(), 100);
    }
}
