//! Why an event could not be opened, found out rather than guessed: a pure function from what the kernel answered and what
//! the machine says about itself to one line with the remedy. "Permission denied" is said only where it is that.

use rustix::io::Errno;

/// What is known when a hardware event does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What `perf_event_open(2)` answered.
    pub errno: Errno,
    /// Whether a software event opens.
    pub software_opens: bool,
    /// `kernel.perf_event_paranoid`, where it can be read.
    pub paranoid: Option<i32>,
    /// Whether the process has `CAP_PERFMON` (or `CAP_SYS_ADMIN`, which counts as it).
    pub has_cap_perfmon: bool,
    /// Whether this is a virtual machine.
    pub is_vm: bool,
    /// How to get capabilities without being root.
    pub recipe: &'static str,
}

/// The reason in one line, with the remedy.
#[must_use]
pub fn reason(evidence: &Evidence) -> String {
    match evidence.errno {
        Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP | Errno::NXIO => no_pmu(evidence),
        Errno::ACCESS | Errno::PERM => forbidden(evidence),
        Errno::NOSYS => "the kernel has no perf events (CONFIG_PERF_EVENTS), or a seccomp filter hides them: allow \
                         perf_event_open in the container's seccomp profile"
            .to_owned(),
        Errno::MFILE => "the process's descriptor limit is reached: raise LimitNOFILE (ulimit -n)".to_owned(),
        Errno::NFILE => "the system's table of open files is full: raise fs.file-max".to_owned(),
        Errno::BUSY => "the CPU's counters are held by someone else (a profiler with exclusive counters, or a VM \
                        monitor): stop it, then start isobar again"
            .to_owned(),
        Errno::INVAL => "the kernel knows no such event on this CPU (EINVAL): a newer kernel may".to_owned(),
        other => format!("perf_event_open failed: {}", std::io::Error::from(other)),
    }
}

fn no_pmu(evidence: &Evidence) -> String {
    match (evidence.software_opens, evidence.is_vm) {
        (true, true) => "no PMU: this is a virtual machine whose host passes no performance counters through: enable \
                         a virtual PMU on the host, with KVM `-cpu host,pmu=on`"
            .to_owned(),
        (true, false) => "no PMU: software events open and hardware events do not; the kernel has no driver for this \
                          CPU's counters, or firmware has turned them off"
            .to_owned(),
        (false, _) => {
            "neither hardware nor software events open: the kernel was built without usable perf events".to_owned()
        }
    }
}

fn forbidden(evidence: &Evidence) -> String {
    let level = evidence.paranoid.map_or_else(|| "cannot be read".to_owned(), |level| format!("is {level}"));
    // Level 3 is not mainline's: Debian's kernel refuses perf events there to all who lack CAP_SYS_ADMIN
    // (debian/patches/features/all/security-perf-allow-further-restriction-of-perf_event_open.patch), Ubuntu's at level 4.
    let beyond = evidence.paranoid.is_some_and(|level| level > 2);
    if evidence.has_cap_perfmon && beyond {
        format!(
            "not permitted: kernel.perf_event_paranoid {level}, where the kernels of Debian and Ubuntu demand CAP_SYS_ADMIN and \
             CAP_PERFMON is not enough; set it to 2, as root: sysctl kernel.perf_event_paranoid=2"
        )
    } else if evidence.has_cap_perfmon {
        format!(
            "perf_event_open is refused in spite of CAP_PERFMON (kernel.perf_event_paranoid {level}): a seccomp filter, \
             security module or kernel lockdown forbids it"
        )
    } else {
        let lowered = if beyond { "sysctl kernel.perf_event_paranoid=2 && " } else { "" };
        format!(
            "not permitted: kernel.perf_event_paranoid {level} and CAP_PERFMON is missing; run as root, set \
             kernel.perf_event_paranoid to -1, or let a group run it with all that it needs, as root: {lowered}{}",
            evidence.recipe
        )
    }
}

/// The remark for the descriptor limit.
#[must_use]
pub fn descriptor_limit(limit: u64, counted: usize, wanted: usize) -> String {
    format!("descriptor limit {limit} reached, {counted} of {wanted} threads counted; raise LimitNOFILE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_errno_gets_its_own_reason() {
        let base = Evidence {
            errno: Errno::NOENT,
            software_opens: true,
            paranoid: Some(2),
            has_cap_perfmon: false,
            is_vm: false,
            recipe: "RECIPE",
        };
        let cases = [
            (Evidence { is_vm: true, ..base }, "no PMU: this is a virtual machine"),
            (Evidence { errno: Errno::OPNOTSUPP, is_vm: true, ..base }, "no PMU: this is a virtual machine"),
            (Evidence { errno: Errno::NODEV, ..base }, "no PMU: software events open"),
            (Evidence { software_opens: false, ..base }, "neither hardware nor software"),
            (
                Evidence { errno: Errno::ACCESS, ..base },
                "not permitted: kernel.perf_event_paranoid is 2 and CAP_PERFMON",
            ),
            (
                Evidence { errno: Errno::PERM, paranoid: None, ..base },
                "not permitted: kernel.perf_event_paranoid cannot be read and CAP_PERFMON",
            ),
            (
                Evidence { errno: Errno::PERM, has_cap_perfmon: true, ..base },
                "perf_event_open is refused in spite of CAP_PERFMON (kernel.perf_event_paranoid is 2)",
            ),
            (
                Evidence { errno: Errno::ACCESS, has_cap_perfmon: true, paranoid: Some(3), ..base },
                "not permitted: kernel.perf_event_paranoid is 3, where the kernels of Debian and Ubuntu demand CAP_SYS_ADMIN",
            ),
            (Evidence { errno: Errno::NOSYS, ..base }, "the kernel has no perf events"),
            (Evidence { errno: Errno::MFILE, ..base }, "the process's descriptor limit is reached"),
            (Evidence { errno: Errno::NFILE, ..base }, "the system's table of open files is full"),
            (Evidence { errno: Errno::BUSY, ..base }, "the CPU's counters are held"),
            (Evidence { errno: Errno::INVAL, ..base }, "the kernel knows no such event"),
            (Evidence { errno: Errno::IO, ..base }, "perf_event_open failed: "),
        ];
        for (evidence, start) in cases {
            let said = reason(&evidence);
            assert!(said.starts_with(start), "{evidence:?}: {said}");
            assert!(!said.contains('\n') && !said.contains("  "), "{said}");
        }
    }

    #[test]
    fn a_full_descriptor_table_is_never_called_a_permission() {
        for errno in [Errno::MFILE, Errno::NFILE] {
            let (has_cap_perfmon, is_vm) = (false, true);
            let evidence =
                Evidence { errno, software_opens: true, paranoid: Some(4), has_cap_perfmon, is_vm, recipe: "RECIPE" };
            assert!(!reason(&evidence).contains("permi"));
        }
        assert_eq!(
            descriptor_limit(1024, 200, 300),
            "descriptor limit 1024 reached, 200 of 300 threads counted; raise LimitNOFILE"
        );
    }
}
