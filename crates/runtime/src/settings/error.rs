//! Errors in settings. Each error is one line that names the file and line (or the `--set`), the
//! key, and what is expected.

use isobar_policy::registry::RegistryError;
use std::io;
use std::path::PathBuf;

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A configuration file that cannot be read.
    #[error("{}: cannot be read: {}: expected a TOML configuration", .0.display(), .1)]
    Unreadable(PathBuf, #[source] io::Error),
    /// A line of a configuration file: what is wrong there, and what is expected.
    #[error("{}:{}: {}", .0.display(), .1, .2)]
    Line(PathBuf, usize, String),
    /// A `--set` that is malformed, or one for isobar's own sections: as typed, and what is
    /// expected.
    #[error("--set {0}: {1}")]
    Set(String, String),
    /// A section of a configuration file that does not belong to a policy, and the existing
    /// policies.
    #[error("{}: unknown section [{}]: expected [manage], [exec], [metrics], [daemon], [{}]", .0.display(), .1, .2)]
    Section(PathBuf, String, String),
    /// An error that the policies themselves report, prefixed with where the value was set:
    /// `FILE: `, `--set `, or nothing for a policy's name.
    #[error("{0}{1}")]
    Policy(String, #[source] RegistryError),
    /// An entry `[[manage.group]]`: where it is, what is wrong, and what is expected.
    #[error("{0}")]
    Group(String),
    /// A file of measured NUMA penalties: the key that names it, the file with the line, what is
    /// wrong.
    #[error("{0}: {1}: {2}: expected a TOML file with [numa_penalty] and lines such as soplex = 1.3")]
    Profile(String, String, String),
}
