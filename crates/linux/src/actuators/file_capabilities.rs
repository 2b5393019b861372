//! Decides which users may use the capabilities that the executable carries. File capabilities
//! (`capabilities(7)`) are for the members of the executable's group, whatever its mode says. A
//! caller outside that group goes on without them. So does a caller who runs an executable that is
//! setuid or setgid, which isobar does not support.
//!
//! Capabilities that a service manager hands down (ambient ones) are the caller's own and stay.
//! This file does not know what the capabilities are good for.

use crate::kernel::{capability, executable, names, privilege};
use rustix::process::{DumpableBehavior, getegid, geteuid, getgid, getgroups, getuid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_thread_res_gid, set_thread_res_uid};
use std::fs;
use std::io;

/// Drops the capabilities that the caller may not use, and says so in one line. It must be called
/// before any thread is started, because capabilities belong to a thread.
///
/// # Errors
/// If the kernel does not let them go: in that case the command must not go on.
pub fn give_up_what_is_not_the_callers() -> io::Result<Option<String>> {
    let facts = Facts::live();
    let verdict = facts.verdict();
    match verdict {
        Verdict::Own => return Ok(None),
        Verdict::SetId => become_the_caller()?,
        Verdict::Outsider => {}
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(Some(facts.remark(verdict)))
}

/// Goes on as any ordinary program of the caller: without capabilities, and accessible to what the
/// caller starts (`/proc/PID/fd` of a process that gained some belongs to root). What is executed
/// from here on has the capabilities of its own executable. Root stays root.
///
/// # Errors
/// If the kernel does not let them go.
pub fn become_ordinary() -> io::Result<()> {
    if geteuid().is_root() {
        return Ok(());
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Whether the environment is that of a user who has all our power anyway: root, or a user who runs
/// an executable without capabilities.
#[must_use]
pub fn environment_is_trusted() -> bool {
    getuid().is_root() || (!executable::carries_capabilities() && geteuid() == getuid() && getegid() == getgid())
}

/// What the kernel reports about the caller and the executable.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    /// The real user.
    user: u32,
    /// Whether the executable is setuid or setgid, and that changed the user or group.
    set_id: bool,
    /// Whether the executable carries capabilities, and they take effect here (they do not if its
    /// file system is mounted `nosuid`).
    carries: bool,
    /// Whether there are ambient capabilities. The kernel clears them when an executable's own
    /// capabilities take effect, so in this case all capabilities are the caller's.
    ambient: bool,
    /// The executable's group; `None` if that cannot be read.
    group: Option<u32>,
    /// The real group and the supplementary groups.
    groups: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// All capabilities are the caller's own or meant for it.
    Own,
    /// The process has the user or group of the executable, not the caller's.
    SetId,
    /// The capabilities are for a group that the caller is not in.
    Outsider,
}

impl Facts {
    fn live() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let permitted = capability::set(&status, "CapPrm:");
        let supplementary = getgroups().unwrap_or_default();
        Self {
            user: getuid().as_raw(),
            set_id: geteuid() != getuid() || getegid() != getgid(),
            carries: permitted != Some(0) && executable::carries_capabilities(),
            ambient: capability::set(&status, "CapAmb:").is_some_and(|set| set != 0),
            group: executable::group(),
            groups: [getgid()].into_iter().chain(supplementary).map(rustix::process::Gid::as_raw).collect(),
        }
    }

    fn verdict(&self) -> Verdict {
        let member = self.group.is_some_and(|group| self.groups.contains(&group));
        if self.user == 0 {
            Verdict::Own
        } else if self.set_id {
            Verdict::SetId
        } else if self.carries && !self.ambient && !member {
            Verdict::Outsider
        } else {
            Verdict::Own
        }
    }

    fn remark(&self, verdict: Verdict) -> String {
        let recipe = privilege::recipe();
        let group = self.group.filter(|group| *group != 0).map(names::group);
        match (verdict, group) {
            (Verdict::SetId, _) => {
                format!(
                    "isobar ignores that its executable is setuid or setgid, and runs as you; to give it capabilities \
                     instead, as root: {recipe}"
                )
            }
            (_, Some(group)) => format!(
                "the executable's capabilities are for the group {group}, which you are not in: isobar runs without \
                 them (to join the group, as root: usermod -aG {group} {}, then log in again)",
                names::user(self.user)
            ),
            (_, None) => format!(
                "the executable's capabilities are not kept to a group of users: isobar runs without them; to keep \
                 them to a group, as root: {recipe}"
            ),
        }
    }
}

fn become_the_caller() -> io::Result<()> {
    let (user, group) = (getuid(), getgid());
    set_thread_res_gid(group, group, group)?;
    Ok(set_thread_res_uid(user, user, user)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user in two groups, and an executable with capabilities for one of them.
    fn member() -> Facts {
        Facts { user: 1000, set_id: false, carries: true, ambient: false, group: Some(77), groups: vec![100, 77] }
    }

    #[test]
    fn capabilities_are_for_the_group_of_the_executable_alone() {
        assert_eq!(member().verdict(), Verdict::Own);
        let outsider = Facts { groups: vec![100], ..member() };
        assert_eq!(outsider.verdict(), Verdict::Outsider);
        assert_eq!(Facts { group: Some(0), ..member() }.verdict(), Verdict::Outsider, "root's group is not theirs");
        assert_eq!(Facts { group: None, ..member() }.verdict(), Verdict::Outsider);
        assert_eq!(Facts { carries: false, ..outsider.clone() }.verdict(), Verdict::Own);
        assert_eq!(Facts { ambient: true, ..outsider.clone() }.verdict(), Verdict::Own, "of a service manager");
        assert_eq!(Facts { user: 0, ..outsider }.verdict(), Verdict::Own);
        assert_eq!(Facts { set_id: true, ..member() }.verdict(), Verdict::SetId);
    }

    #[test]
    fn remarks_say_what_to_do_in_one_line() {
        let outsider = Facts { groups: vec![100], group: Some(4_000_077), ..member() };
        let line = outsider.remark(Verdict::Outsider);
        assert!(line.contains("usermod -aG 4000077 ") && !line.contains('\n'), "{line}");
        let of_root = Facts { group: Some(0), ..outsider };
        for verdict in [Verdict::Outsider, Verdict::SetId] {
            assert!(of_root.remark(verdict).contains("groupadd -f isobar && "), "{verdict:?}");
        }
    }

    #[test]
    fn a_test_program_carries_nothing() {
        assert_eq!(Facts::live().verdict(), Verdict::Own);
        assert!(environment_is_trusted() && !executable::lends_capabilities_to_all());
        assert_eq!(give_up_what_is_not_the_callers().unwrap(), None);
    }
}
