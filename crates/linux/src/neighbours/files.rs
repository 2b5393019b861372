//! Reads the kernel's files that show neighbours.

use crate::resctrl::Root;
use isobar_model::CpuSet;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The prefix of isobar's own resctrl groups.
const OURS: &str = "isobar";

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The number that is the whole content of a file.
pub fn number(path: &Path) -> Option<u32> {
    text(path)?.parse().ok()
}

/// A list of CPUs; empty if there is no such file.
pub fn cpus(path: &Path) -> CpuSet {
    text(path).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The name of the active scheduler (`Documentation/scheduler/sched-ext.rst`).
pub fn sched_ext(folder: &Path) -> Option<String> {
    let state = text(&folder.join("state")).filter(|state| state == "enabled")?;
    Some(text(&folder.join("root/ops")).filter(|name| !name.is_empty()).unwrap_or(state))
}

/// Whether cache-aware scheduling is on (Linux 7.2, `CONFIG_SCHED_CACHE`): by its switch in
/// debugfs, or in earlier patch series by a scheduler feature. A tolerance of 0 turns it off as
/// well.
pub fn cache_aware(folder: &Path) -> bool {
    let is_off = |file: &str| text(&folder.join(file)).is_some_and(|text| matches!(&*text, "0" | "N"));
    let is_on = |file: &str| text(&folder.join(file)).is_some_and(|text| matches!(&*text, "1" | "Y"));
    let feature = || text(&folder.join("features")).is_some_and(|all| all.split(' ').any(|one| one == "SCHED_CACHE"));
    (is_on("llc_balancing/enabled") || feature()) && !is_off("llc_balancing/aggr_tolerance")
}

/// Groups of resctrl that another program has made, including monitoring groups of the default
/// group (`Documentation/filesystems/resctrl.rst`).
pub fn groups_of_others(root: &Path) -> BTreeSet<String> {
    if !root.join("schemata").exists() && !root.join("mon_groups").exists() {
        return BTreeSet::new();
    }
    let root = Root::new(root);
    let (control, monitoring) = (root.groups().unwrap_or_default(), root.monitors("").unwrap_or_default());
    control.into_iter().chain(monitoring).filter(|name| !name.starts_with(OURS)).collect()
}
