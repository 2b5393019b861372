//! Where a process is among the machine's control groups, which distinguish services, containers,
//! pods and virtual machines. The meaning of a path is the subject of `crates/groups`.

use serde::{Deserialize, Serialize};

/// A control group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cgroup {
    /// Its path below the root of its hierarchy, such as `/system.slice/redis.service`.
    pub path: String,
    /// The name that the program which runs the pod (`NAMESPACE/NAME`) or container gives it, if
    /// that is known: the path has only an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Cgroup {
    /// A control group of which only the path is known.
    #[must_use]
    pub fn at(path: &str) -> Self {
        Self { path: path.to_owned(), name: None }
    }
}
