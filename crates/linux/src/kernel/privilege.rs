//! Finds the capabilities that this process lacks for its work, and gives the one recipe by which a
//! group of users gets them. This file does not know what is done with capabilities, nor which
//! users may use those that the executable carries (that is `actuators/file_capabilities.rs`).

use super::capability::{NET_ADMIN, PERFMON, SYS_NICE, SYS_PTRACE, effective, has};
use super::executable;
use isobar_model::text::one_line;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The capabilities that isobar uses: bit (`linux/capability.h`), name, and what is impossible
/// without it. What is not counted without `CAP_PERFMON` is reported by the sensors, which know
/// whether there is anything to count. What is missed without `CAP_NET_ADMIN` is reported by the
/// readers of the kernel's process events.
const USED: [(u32, &str, Option<&str>); 4] = [
    (SYS_NICE, "CAP_SYS_NICE", Some("cannot move the threads of others")),
    (SYS_PTRACE, "CAP_SYS_PTRACE", Some("cannot find or move the pages of others")),
    (PERFMON, "CAP_PERFMON", None),
    (NET_ADMIN, "CAP_NET_ADMIN", None),
];

/// The names of the capabilities that isobar uses and that are not effective. Empty if the kernel
/// does not say: whatever is refused later is reported then.
#[must_use]
pub fn missing_capabilities() -> Vec<&'static str> {
    missing().into_iter().map(|(name, _)| name).collect()
}

/// Whether this process may move the threads of other users.
#[must_use]
pub fn may_move_others() -> bool {
    !missing_capabilities().contains(&"CAP_SYS_NICE")
}

/// Remarks for a person about privileges, before anything is refused: one line for everything that
/// is missing, with the remedy, and one if every user may run an executable that carries
/// capabilities.
#[must_use]
pub fn remarks() -> Vec<String> {
    let missing = missing();
    let any = missing.len() < USED.len();
    let everybody = (any && executable::lends_capabilities_to_all()).then(|| {
        format!("every user may run this isobar with its capabilities; to keep them to a group, as root: {}", recipe())
    });
    without(&missing).into_iter().chain(everybody).collect()
}

/// How to get what is missing, worded to follow "run as root, or".
#[must_use]
pub fn remedy() -> String {
    format!("let a group run it with all that it needs, as root: {}", recipe())
}

/// The commands that let a group of users, and only them, run this executable with everything that
/// isobar needs. All messages use this one text: a second `setcap` would take away what the first
/// one gave.
#[must_use]
pub fn recipe() -> &'static str {
    static RECIPE: OnceLock<String> = OnceLock::new();
    RECIPE.get_or_init(|| recipe_for(&executable::path()))
}

fn recipe_for(executable: &Path) -> String {
    let path = quoted(&executable.to_string_lossy());
    let capabilities: Vec<_> = USED.iter().map(|(_, name, _)| name.to_ascii_lowercase()).collect();
    let capabilities = capabilities.join(",");
    format!(
        "groupadd -f isobar && chgrp isobar {path} && chmod 0750 {path} && setcap {capabilities}+ep {path} \
         (then `usermod -aG isobar USER`, and log in again)"
    )
}

/// A path for a shell, quoted if it needs quotes.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { one_line(&format!("'{}'", path.replace('\'', r"'\''"))) }
}

fn without(missing: &[(&str, Option<&str>)]) -> Option<String> {
    let parts: Vec<_> =
        missing.iter().filter_map(|(name, what)| Some(format!("without {name} it {}", (*what)?))).collect();
    if parts.is_empty() {
        return None;
    }
    Some(format!("isobar keeps observing, but {} (run as root, or {})", parts.join(", "), remedy()))
}

fn missing() -> Vec<(&'static str, Option<&'static str>)> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    lacking(effective(&status).unwrap_or(u64::MAX))
}

fn lacking(effective: u64) -> Vec<(&'static str, Option<&'static str>)> {
    let lacks = |(bit, _, _): &&(u32, _, _)| !has(effective, *bit);
    USED.iter().filter(lacks).map(|&(_, name, without)| (name, without)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(effective: u64) -> Vec<&'static str> {
        lacking(effective).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn bits_are_those_of_capability_h() {
        assert_eq!(names(0), ["CAP_SYS_NICE", "CAP_SYS_PTRACE", "CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(names(1 << 23 | 1 << 12), ["CAP_SYS_PTRACE", "CAP_PERFMON"]);
        assert_eq!(names(1 << 19 | 1 << 38 | 1 << 12), ["CAP_SYS_NICE"]);
        assert!(names(0x1ff_ffff_ffff).is_empty());
    }

    #[test]
    fn the_recipe_is_one_setcap_for_a_group() {
        let recipe = recipe_for(Path::new("/usr/local/bin/isobar"));
        let commands = "groupadd -f isobar && chgrp isobar /usr/local/bin/isobar && chmod 0750 \
                        /usr/local/bin/isobar && \
                        setcap cap_sys_nice,cap_sys_ptrace,cap_perfmon,cap_net_admin+ep /usr/local/bin/isobar (then";
        assert!(recipe.starts_with(commands), "{recipe}");
        let awkward = recipe_for(Path::new("/home/it's me/\n/isobar"));
        assert!(awkward.contains(r"chgrp isobar '/home/it'\''s me/\n/isobar' &&"), "{awkward}");
        assert!(!awkward.contains(char::is_control), "{awkward}");
    }

    #[test]
    fn what_is_missing_is_one_line_with_the_recipe_once() {
        let line = without(&lacking(0)).unwrap();
        assert!(line.contains("without CAP_SYS_NICE it cannot move the threads of others, without CAP_SYS_PTRACE it"));
        assert_eq!((line.matches("setcap ").count(), line.lines().count()), (1, 1), "{line}");
        assert_eq!(without(&lacking(1 << 23 | 1 << 19)), None, "the sensors speak of the counters");
    }
}
