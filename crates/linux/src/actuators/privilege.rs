//! Which capabilities this process lacks for its work, from `CapEff` in `/proc/self/status` (`proc_pid_status(5)`), and
//! what to tell a person about it. Knows nothing of what is done with them.

use std::fs;

/// The capabilities that isobar uses: bit (`linux/capability.h`), name, and what is impossible without it. What is not
/// counted without `CAP_PERFMON` the sensors tell, who know whether there is anything to count.
const USED: [(u32, &str, Option<&str>); 3] = [
    (23, "CAP_SYS_NICE", Some("cannot move the threads of others")),
    (19, "CAP_SYS_PTRACE", Some("cannot find or move the pages of others")),
    (38, "CAP_PERFMON", None),
];

/// The names of those of `CAP_SYS_NICE`, `CAP_SYS_PTRACE` and `CAP_PERFMON` that are not effective. Empty where the
/// kernel does not say: what is refused later is told then.
#[must_use]
pub fn missing_capabilities() -> Vec<&'static str> {
    missing().into_iter().map(|(name, _)| name).collect()
}

/// One line for each missing capability that acting needs, with the remedy: the only place that tells a person of them
/// before something is refused.
#[must_use]
pub fn remarks() -> Vec<String> {
    let line = |(name, without): (&str, Option<&str>)| {
        Some(format!("without {name} isobar {}; it goes on observing (run as root, or {})", without?, remedy(name)))
    };
    missing().into_iter().filter_map(line).collect()
}

/// How to get a capability without being root.
#[must_use]
pub fn remedy(capability: &str) -> String {
    format!("grant it: setcap {}+ep on the isobar executable", capability.to_ascii_lowercase())
}

fn missing() -> Vec<(&'static str, Option<&'static str>)> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    lacking(effective(&status).unwrap_or(u64::MAX))
}

fn lacking(effective: u64) -> Vec<(&'static str, Option<&'static str>)> {
    let lacks = |(bit, _, _): &&(u32, _, _)| effective >> bit & 1 == 0;
    USED.iter().filter(lacks).map(|&(_, name, without)| (name, without)).collect()
}

/// The effective set of a status file; `None` where it is not there or no number.
fn effective(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(value.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(effective: u64) -> Vec<&'static str> {
        lacking(effective).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn bits_are_those_of_capability_h() {
        assert_eq!(names(0), ["CAP_SYS_NICE", "CAP_SYS_PTRACE", "CAP_PERFMON"]);
        assert_eq!(names(1 << 23), ["CAP_SYS_PTRACE", "CAP_PERFMON"]);
        assert_eq!(names(1 << 19 | 1 << 38), ["CAP_SYS_NICE"]);
        assert!(names(0x1ff_ffff_ffff).is_empty());
    }

    #[test]
    fn the_effective_set_is_found_among_others() {
        assert_eq!(effective("CapPrm:\t00ff\nCapEff:\t000001fffeffffff\n"), Some(0x1ff_feff_ffff));
        assert_eq!(effective("CapEff:\tmany\n"), None);
        assert_eq!(effective(""), None);
    }
}
