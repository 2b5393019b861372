//! Reads the capability sets of a process from its status file (`proc_pid_status(5)`,
//! `capabilities(7)`), and names the bits that isobar checks. This file does not know what the
//! capabilities are used for.

/// `CAP_NET_ADMIN`. This and the constants below are bits of `linux/capability.h`.
pub const NET_ADMIN: u32 = 12;
/// `CAP_SYS_PTRACE`
pub const SYS_PTRACE: u32 = 19;
/// `CAP_SYS_ADMIN`
pub const SYS_ADMIN: u32 = 21;
/// `CAP_SYS_NICE`: permits moving the threads of other users.
pub const SYS_NICE: u32 = 23;
/// `CAP_PERFMON`, since Linux 5.8; before, `CAP_SYS_ADMIN` permitted the same, and it still does.
pub const PERFMON: u32 = 38;

/// The effective set of a status file; `None` if it is missing or not a number.
#[must_use]
pub fn effective(status: &str) -> Option<u64> {
    set(status, "CapEff:")
}

/// A set of a status file, by its key (`CapPrm:`); `None` if it is missing or not a number.
#[must_use]
pub fn set(status: &str, key: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(key))?;
    u64::from_str_radix(value.trim(), 16).ok()
}

/// Whether a capability is in a set.
#[must_use]
pub const fn has(set: u64, capability: u32) -> bool {
    set >> capability & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_found_among_others() {
        let status = "Name:\tx\nCapPrm:\t00ff\nCapEff:\t000001fffeffffff\nCapAmb:\tmany\n";
        assert_eq!((effective(status), set(status, "CapPrm:")), (Some(0x1ff_feff_ffff), Some(0xff)));
        assert_eq!((set(status, "CapAmb:"), effective("CapEff:\tmany\n"), effective("Name:\tx\n")), (None, None, None));
        assert!(has(0x1ff_feff_ffff, SYS_PTRACE) && !has(0x1ff_feff_ffff, 24));
    }
}
