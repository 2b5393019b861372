//! What places the programs of a managed mix: stock Linux, or a policy of isobar by its name.

use isobar_runtime::policies;
use isobar_runtime::settings::{Config, SettingsError};

/// Seconds between two decisions of a policy.
pub const EPOCH_SECONDS: f64 = 0.25;

/// What places the programs of a managed mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime<'a> {
    /// Stock Linux with NUMA balancing.
    Linux,
    /// A policy of isobar, with NUMA balancing off.
    Policy(&'a str),
}

impl<'a> Regime<'a> {
    /// Stock Linux first, then the policies.
    pub fn all(policies: &'a [String]) -> impl Iterator<Item = Self> + Clone {
        std::iter::once(Self::Linux).chain(policies.iter().map(|policy| Self::Policy(policy)))
    }

    /// Its name in tables, which is also the policy that decides in the simulator: `linux` moves
    /// nothing.
    #[must_use]
    pub const fn name(self) -> &'a str {
        match self {
            Self::Linux => "linux",
            Self::Policy(name) => name,
        }
    }
}

/// The policy of a name, with its default settings.
pub(crate) fn policy(name: &str) -> Result<Box<dyn isobar_model::Policy>, SettingsError> {
    let no_file = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    policies::build(name, &Config::default(), &no_file)
}

/// Checks that a policy can be compared.
///
/// # Errors
/// There is no such policy, or it is stock Linux, which always runs.
pub fn check(name: &str) -> Result<(), String> {
    if name == Regime::Linux.name() {
        return Err(format!("policies: `{name}` runs in any case; leave it out"));
    }
    policy(name).map(drop).map_err(|error| format!("policies: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_compared_is_named() {
        assert_eq!(check("isobar"), Ok(()));
        assert!(check("linux").unwrap_err().contains("leave it out"));
        assert!(check("dyno").unwrap_err().contains("unknown policy `dyno`"), "{:?}", check("dyno"));
    }
}
