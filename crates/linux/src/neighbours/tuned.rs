//! Reads tuned's active profile, and which of the switches that matter here it sets. A profile is
//! an INI file that may include others (tuned-profiles(7), tuned.conf(5)).

use std::fs;
use std::path::Path;

/// The file that names the active profile.
const ACTIVE: &str = "etc/tuned/active_profile";
/// Folders of profiles; the first that has the profile wins.
const FOLDERS: [&str; 4] = ["etc/tuned/profiles", "etc/tuned", "usr/lib/tuned/profiles", "usr/lib/tuned"];
/// Profiles may include each other, so they are followed to this depth at most.
const DEPTH: usize = 8;

/// The active profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuned {
    /// Its name; several are separated by spaces.
    pub profile: String,
    /// What it sets `kernel.numa_balancing` to.
    pub numa_balancing: Option<String>,
}

impl Tuned {
    /// The profile according to files below a folder.
    pub(super) fn read(root: &Path) -> Option<Self> {
        let profile = fs::read_to_string(root.join(ACTIVE)).ok()?.trim().to_owned();
        if profile.is_empty() {
            return None;
        }
        let parts = profile.split_whitespace();
        let numa_balancing = parts.filter_map(|name| sets(root, name, DEPTH)).next_back();
        Some(Self { profile, numa_balancing })
    }
}

/// The value to which a profile sets NUMA balancing, included profiles considered; the last setting
/// counts.
fn sets(root: &Path, profile: &str, depth: usize) -> Option<String> {
    if profile.contains('/') || profile.starts_with('.') || depth == 0 {
        return None;
    }
    let files = FOLDERS.iter().map(|folder| root.join(folder).join(profile).join("tuned.conf"));
    let text = files.into_iter().find_map(|file| fs::read_to_string(file).ok())?;
    let mut found = None;
    for (key, value) in text.lines().filter_map(assignment) {
        match key {
            "include" => {
                let included = value.split([',', ' ']).filter(|name| !name.is_empty());
                found = included.filter_map(|name| sets(root, name, depth - 1)).next_back().or(found);
            }
            "kernel.numa_balancing" | "numa_balancing" => found = Some(value.to_owned()),
            _ => {}
        }
    }
    found
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (key, value) = line.split_once('=').filter(|_| !line.starts_with(['#', ';', '[']))?;
    let value = value.split('#').next().unwrap_or_default();
    // A value may begin with an operator of tuned: `>0` is "at least 0".
    Some((key.trim(), value.trim().trim_start_matches(['<', '>', '=']).trim()))
}
