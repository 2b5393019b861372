//! Settings that were refused: each error is one line that names the file and line, or the `--set`, the key, and what
//! would be right.

use isobar_policy::settings::ConfigError;
use std::io;
use std::path::PathBuf;

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A configuration file that cannot be read.
    #[error("{}: cannot be read: {problem}: expected a TOML configuration", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system, or the reader, said.
        #[source]
        problem: io::Error,
    },
    /// A line of a configuration file.
    #[error("{}:{line}: {why}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// A `--set` that is wrong in itself, or one of the section `[manage]`.
    #[error("--set {set}: {why}")]
    Set {
        /// As typed.
        set: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// A section of a configuration file that is no policy's.
    #[error("{}: unknown section [{section}]: expected [manage], [{known}]", file.display())]
    Section {
        /// The file.
        file: PathBuf,
        /// The section.
        section: String,
        /// The policies that there are.
        known: String,
    },
    /// What the policies themselves refuse.
    #[error("{place}{fault}")]
    Policy {
        /// Where it was set: `FILE: `, `--set `, or nothing for the policy's name.
        place: String,
        /// What is wrong, with the key.
        #[source]
        fault: ConfigError,
    },
    /// A file of measured NUMA penalties.
    #[error("{key}: {place}: {why}: expected a TOML file with [numa_penalty] and lines such as soplex = 1.3")]
    Profile {
        /// The key that names the file, as `n-mass.profile`.
        key: String,
        /// The file, and the line where there is one.
        place: String,
        /// What is wrong.
        why: String,
    },
}
