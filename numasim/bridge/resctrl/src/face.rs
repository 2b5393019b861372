//! Makes the guest's kernel look like a kernel on a machine with cache allocation, as far as
//! programs made for such machines look: the folder `/sys/fs/resctrl`, the file system's name, the
//! CPU's flags, and one id per cache, whichever CPU shows it. Each of these is a mount over the
//! kernel's own file. They stay mounted, and a second run changes nothing.

use crate::domains::Domains;
use anyhow::Context;
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_move};
use std::fs;
use std::path::Path;

/// Where the kernel mounts resctrl.
pub const RESCTRL: &str = "/sys/fs/resctrl";
/// Its parent, in which sysfs lets no process create a folder.
const PARENT: &str = "/sys/fs";
/// The folder of the copies that are mounted elsewhere.
const COPIES: &str = "/run/numasim-resctrl";
/// What `/proc/cpuinfo` shows for CPUs with the features that numasim models: allocation of the L3,
/// its occupancy, and traffic (arch/x86/include/asm/cpufeatures.h).
const FLAGS: [&str; 6] = ["rdt_a", "cat_l3", "cqm", "cqm_llc", "cqm_occup_llc", "cqm_mbm_total cqm_mbm_local"];

/// Creates the folder to mount on: a folder in memory, which contains everything that was in
/// `/sys/fs`, is mounted over `/sys/fs`.
///
/// # Errors
/// The kernel refuses.
pub fn make_folder() -> anyhow::Result<()> {
    if Path::new(RESCTRL).is_dir() {
        return Ok(());
    }
    let beside = format!("{COPIES}/fs");
    let failed = || format!("a folder {RESCTRL}");
    fs::create_dir_all(&beside).with_context(failed)?;
    mount("resctrl-folder", &beside, "tmpfs", MountFlags::empty(), None).with_context(failed)?;
    for entry in fs::read_dir(PARENT).with_context(failed)? {
        let from = entry.with_context(failed)?.path();
        let to = Path::new(&beside).join(from.file_name().unwrap_or_default());
        if from.is_dir() {
            fs::create_dir(&to).with_context(failed)?;
            mount_bind_recursive(&from, &to).with_context(failed)?;
        }
    }
    fs::create_dir(format!("{beside}/resctrl")).with_context(failed)?;
    mount_move(&beside, PARENT).with_context(failed)
}

/// Changes the other files to what tools look for.
///
/// # Errors
/// The kernel refuses.
pub fn tell_tools(cpus: &Path, domains: &Domains) -> anyhow::Result<()> {
    let name = "nodev\tresctrl\n";
    edit(
        Path::new("/proc/filesystems"),
        |text| if text.contains(name) { text.to_owned() } else { format!("{text}{name}") },
    )?;
    edit(Path::new("/proc/cpuinfo"), with_flags)?;
    domains
        .caches()
        .filter(|(_, cache)| cache.starts_with(cpus))
        .try_for_each(|(id, cache)| edit(&cache.join("id"), |_| format!("{id}\n")))
}

/// Mounts a changed copy over a file, unless the change makes no difference.
fn edit(file: &Path, change: impl Fn(&str) -> String) -> anyhow::Result<()> {
    let failed = || file.display().to_string();
    let text = fs::read_to_string(file).with_context(failed)?;
    let wanted = change(&text);
    if wanted == text {
        return Ok(());
    }
    fs::create_dir_all(COPIES).with_context(failed)?;
    let copy = Path::new(COPIES).join(file.to_string_lossy().trim_start_matches('/').replace('/', "-"));
    fs::write(&copy, wanted).with_context(failed)?;
    mount_bind(&copy, file).with_context(failed)
}

fn with_flags(text: &str) -> String {
    let line = |line: &str| {
        let has = line.starts_with("flags") && !line.contains(" cat_l3");
        if has { format!("{line} {}\n", FLAGS.join(" ")) } else { format!("{line}\n") }
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_added_once_to_every_cpu() {
        let text = "processor\t: 0\nflags\t\t: fpu vme\n\nprocessor\t: 1\nflags\t\t: fpu vme\n";
        let with = with_flags(text);
        assert_eq!(with.matches("fpu vme rdt_a cat_l3 cqm").count(), 2);
        assert_eq!(with_flags(&with), with);
    }
}
