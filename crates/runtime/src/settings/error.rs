//! Settings that were refused: each error is one line that names the file and line, or the `--set`,
//! the key, and what would be right.

use isobar_policy::registry::RegistryError;
use std::io;
use std::path::PathBuf;

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A configuration file that cannot be read.
    #[error("{}: cannot be read: {}: expected a TOML configuration", .0.display(), .1)]
    Unreadable(PathBuf, #[source] io::Error),
    /// A line of a configuration file: what is wrong there, and what would be right.
    #[error("{}:{}: {}", .0.display(), .1, .2)]
    Line(PathBuf, usize, String),
    /// A `--set` that is wrong in itself, or one of the section `[manage]`: as typed, and what
    /// would be right.
    #[error("--set {0}: {1}")]
    Set(String, String),
    /// A section of a configuration file that is no policy's, and the policies that there are.
    #[error("{}: unknown section [{}]: expected [manage], [exec], [metrics], [daemon], [{}]", .0.display(), .1, .2)]
    Section(PathBuf, String, String),
    /// What the policies themselves refuse, behind where it was set: `FILE: `, `--set `, or nothing
    /// for a policy's name.
    #[error("{0}{1}")]
    Policy(String, #[source] RegistryError),
    /// An entry `[[manage.group]]`: where it is, what is wrong, and what would be right.
    #[error("{0}")]
    Group(String),
    /// A file of measured NUMA penalties: the key that names it, the file with the line, what is
    /// wrong.
    #[error("{0}: {1}: {2}: expected a TOML file with [numa_penalty] and lines such as soplex = 1.3")]
    Profile(String, String, String),
}
