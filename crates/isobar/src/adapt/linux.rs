//! The machine that the command runs on, and captured trees of others.

use super::absent::Absent;
use crate::config::ManageConfig;
use crate::failure::bad_input;
use crate::signals::StopFlag;
use anyhow::Context;
use isobar_linux::topology;
use isobar_linux::tree::Tree;
use isobar_model::{Pid, Topology};
use std::path::{Path, PathBuf};

/// The topology of this machine, or of a captured tree.
///
/// # Errors
/// Bad input where a captured tree cannot be read; a failure where this machine cannot.
pub fn read_topology(root: Option<&Path>) -> anyhow::Result<Topology> {
    match root {
        Some(root) => Tree::open(root).and_then(|tree| topology::read(&tree)).map_err(bad_input),
        None => topology::read(&Tree::live()).context("this machine"),
    }
}

/// This machine, to be watched and (unless it is a dry run) changed.
///
/// # Errors
/// Where it cannot be read, or the state file not be taken.
pub fn open(_config: &ManageConfig, _dry_run: bool, _stop: &StopFlag) -> anyhow::Result<Absent> {
    anyhow::bail!("the Linux machine is not connected")
}

/// What `isobar restore` did.
pub struct Restored {
    /// in words, one line
    pub text: String,
    /// for programs
    pub json: serde_json::Value,
}

/// Puts back what the state file records; `None` where there is none.
///
/// # Errors
/// Where another isobar runs, the file cannot be read, or the kernel refuses.
pub fn restore(_state: &Path) -> anyhow::Result<Option<Restored>> {
    anyhow::bail!("the actuators are not connected")
}

/// The state file, where none is named.
pub fn default_state() -> PathBuf {
    PathBuf::from("/run/isobar/state.json")
}

/// The cgroup of a process, as its path below the root of the unified hierarchy (cgroups(7), `/proc/PID/cgroup`).
pub fn cgroup_of(pid: Pid) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    unified_path(&text).map(str::to_owned)
}

/// The path in the line of the unified hierarchy (`0::/PATH`); on version 1 that of the first controller.
fn unified_path(text: &str) -> Option<&str> {
    let unified = text.lines().find_map(|line| line.strip_prefix("0::"));
    unified.or_else(|| text.lines().next()?.splitn(3, ':').nth(2))
}

#[cfg(test)]
mod tests {
    use super::unified_path;

    #[test]
    fn the_unified_hierarchy_comes_first() {
        assert_eq!(unified_path("4:memory:/a\n0::/b/c:d\n"), Some("/b/c:d"));
        assert_eq!(unified_path("4:memory:/a\n3:cpu:/b\n"), Some("/a"));
        assert_eq!(unified_path(""), None);
        assert_eq!(unified_path("nonsense"), None);
    }
}
