//! Where a process is among the machine's control groups: what services, containers, pods and
//! virtual machines are told apart by. What a path means is `crates/groups`' business.

use serde::{Deserialize, Serialize};

/// A control group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cgroup {
    /// Its path below the root of its hierarchy, such as `/system.slice/redis.service`.
    pub path: String,
    /// What its pod (`NAMESPACE/NAME`) or container is called by the program that runs it, where
    /// that is known: the path has an id only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Cgroup {
    /// One of which only the path is known.
    #[must_use]
    pub fn at(path: &str) -> Self {
        Self { path: path.to_owned(), name: None }
    }
}
