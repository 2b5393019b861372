//! The entries `[[manage.group]]`: which processes have a policy of their own, and with which
//! settings. `policies` checks whether the policy exists.

use super::names::named;
use crate::selection::Pattern;
use serde::Deserialize;
use toml::Table;

/// One `[[manage.group]]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GroupConfig {
    /// The names, pids, groups and cgroup paths that it applies to, as in `manage.only`.
    pub only: Vec<String>,
    /// Its policy.
    pub policy: String,
    /// Settings of that policy that hold for this group only.
    pub set: Table,
}

impl GroupConfig {
    /// # Errors
    /// Which key is missing or impossible, and what is expected.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.only.is_empty() {
            return Err(
                "no `only`: expected the processes that it is for, such as only = [\"unit:redis.service\"]".to_owned()
            );
        }
        if self.policy.is_empty() {
            return Err("no `policy`: expected the policy that decides for them, such as policy = \"linux\"".to_owned());
        }
        named("only", &self.only)?;
        match self.only.iter().find(|name| matches!(Pattern::parse(name), Pattern::Tree(_))) {
            Some(tree) => {
                Err(format!("only: `{tree}`: expected a name, pid, group or cgroup path; tree:PID is for --only"))
            }
            None => Ok(()),
        }
    }
}
