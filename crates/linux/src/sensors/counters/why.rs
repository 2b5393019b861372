//! Explains why an event could not be opened, by evidence rather than by guess: a pure function
//! from the kernel's answer and what the machine says about itself to one line with the remedy.
//! "Permission denied" is only said if it is the reason.

use super::events::Role;
use super::proof;
use crate::kernel::arch::Arch;
use rustix::io::Errno;

/// What keeps an event from being opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The error of `perf_event_open(2)`.
    Refused(Errno),
    /// The PMU's list of events in sysfs has none of these names; no names if sysfs shows no list.
    Unlisted(Vec<&'static str>),
}

/// What is known when a hardware event does not open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What should be counted.
    pub role: Role,
    /// Why it is not.
    pub cause: Cause,
    /// Another role that the PMU counts, if any.
    pub counted: Option<Role>,
    /// Whether software events open.
    pub software_opens: bool,
    /// `kernel.perf_event_paranoid`, if it can be read.
    pub paranoid: Option<i32>,
    /// Whether the process has `CAP_PERFMON` (or `CAP_SYS_ADMIN`, which includes it).
    pub has_cap_perfmon: bool,
    /// Whether this is a virtual machine.
    pub is_vm: bool,
    /// The architecture.
    pub arch: Arch,
    /// How to get capabilities without being root.
    pub recipe: &'static str,
}

/// The reason in one line, with the remedy.
#[must_use]
pub fn reason(evidence: &Evidence) -> String {
    let errno = match &evidence.cause {
        Cause::Refused(errno) => *errno,
        Cause::Unlisted(names) => return unlisted(evidence, names),
    };
    match errno {
        Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP | Errno::NXIO => no_event(evidence),
        Errno::ACCESS | Errno::PERM => forbidden(evidence),
        Errno::NOSYS => "the kernel has no perf events (CONFIG_PERF_EVENTS), or a seccomp filter hides them: allow \
                         perf_event_open in the container's seccomp profile"
            .to_owned(),
        Errno::MFILE => "the process's descriptor limit is reached: raise LimitNOFILE (ulimit -n)".to_owned(),
        Errno::NFILE => "the system's table of open files is full: raise fs.file-max".to_owned(),
        Errno::BUSY => "another program holds the CPU's counters (a profiler with exclusive counters, or a VM \
                        monitor): stop it, then start isobar again"
            .to_owned(),
        Errno::INVAL => "the kernel does not know this event on this CPU (EINVAL): a newer kernel may".to_owned(),
        other => format!("perf_event_open failed: {}", std::io::Error::from(other)),
    }
}

fn no_event(evidence: &Evidence) -> String {
    match evidence.counted {
        Some(counted) => half_pmu(evidence, counted),
        None => no_pmu(evidence),
    }
}

/// There is a PMU, and it counts something else.
fn half_pmu(evidence: &Evidence, counted: Role) -> String {
    let (counted, lacks) = (in_words(counted), in_words(evidence.role));
    let remedy = match (evidence.is_vm, evidence.role) {
        (true, Role::Instructions | Role::Cycles) => {
            format!("in this virtual machine, {}", evidence.arch.guest_instructions())
        }
        (true, _) => "this virtual machine's PMU has no such event: run isobar on the host".to_owned(),
        (false, _) => {
            "the kernel's driver for this CPU has no such event, or firmware hides it: a newer kernel or newer \
             firmware may help"
                .to_owned()
        }
    };
    format!("the CPU counts {counted} but no {lacks}: {remedy}")
}

fn unlisted(evidence: &Evidence, names: &[&str]) -> String {
    let (lacks, names) = (in_words(evidence.role), names.join(", "));
    if names.is_empty() {
        return format!(
            "isobar counts {lacks} of this CPU by the name of the event in sysfs, and sysfs lists no events here: in a \
             container, mount /sys of the host"
        );
    }
    let remedy = if evidence.is_vm {
        "in a virtual machine the hypervisor decides this: run isobar on the host"
    } else {
        "this CPU does not count them, or firmware hides the event"
    };
    format!("sysfs lists the events of this CPU, but none for {lacks} (none of {names}): {remedy}")
}

const fn in_words(role: Role) -> &'static str {
    match role {
        Role::Instructions => "instructions",
        Role::Cycles => "cycles",
        Role::LlcReferences => "LLC references",
        Role::LlcMisses => "LLC misses",
        Role::CacheTransfers => "transfers between caches",
    }
}

fn no_pmu(evidence: &Evidence) -> String {
    match (evidence.software_opens, evidence.is_vm) {
        (true, true) => format!(
            "no PMU: this is a virtual machine whose host passes no performance counters through: {}",
            evidence.arch.guest_pmu()
        ),
        (true, false) => "no PMU: software events can be opened, but hardware events cannot; the kernel has no driver \
                          for this CPU's counters, or firmware has turned them off"
            .to_owned(),
        (false, _) => "neither hardware nor software events can be opened: the kernel was built without usable perf \
                       events"
            .to_owned(),
    }
}

/// The reason for instructions or cycles that open but stand still while threads run.
#[must_use]
pub fn stands_still(is_vm: bool, arch: Arch) -> String {
    let remedy = if is_vm {
        format!("the hypervisor does not pass this event through: {}", arch.guest_instructions())
    } else {
        "something else holds the CPU's counters (firmware, or a hidden hypervisor)".to_owned()
    };
    format!("the counter can be opened but does not count while threads run: {remedy}")
}

/// The reason for a last-level-cache event that opens and has counted nothing since isobar was
/// started.
#[must_use]
pub fn never_counted(evidence: &proof::Evidence, is_vm: bool, arch: Arch) -> String {
    let unit = in_words(if evidence.in_instructions { Role::Instructions } else { Role::Cycles });
    let billions = evidence.work / 1_000_000_000;
    let remedy = match (is_vm, arch) {
        (true, _) => "the hypervisor does not count this event: run isobar on the host",
        (false, Arch::Arm) => {
            "this CPU does not count it, or firmware keeps the last level from being counted (CPUECTLR_EL1.EXTLLC)"
        }
        (false, _) => "this CPU does not count it, or firmware keeps it from counting",
    };
    let threads = evidence.threads;
    format!(
        "the counter can be opened but read 0 over {billions} billion {unit} of {threads} threads: either they had no \
         misses, or {remedy}"
    )
}

/// The remark on an LLC event that opens and has not counted yet, before there is enough evidence
/// against it.
#[must_use]
pub fn no_miss_yet() -> String {
    "no LLC miss has been counted yet: until one is, LLC misses are treated as not measured".to_owned()
}

/// The remark on cores whose last-level-cache event opens and never counts, while that of other
/// cores counts.
#[must_use]
pub fn mute_cores(pmu: &str) -> String {
    format!("LLC misses are not measured on the cores of {pmu}: there the counter can be opened but reads 0")
}

/// The remark on processes whose pages by node may not be read. The kernel asks for the right to
/// trace the process (`ptrace_may_access` in `kernel/ptrace.c`). CAP_SYS_PTRACE in the user
/// namespace of the process is enough for that, whether the process is dumpable or not, so with it
/// only security modules and namespaces remain as causes.
#[must_use]
pub fn numa_maps_denied(processes: usize, has_sys_ptrace: bool) -> String {
    let cause = if has_sys_ptrace {
        "isobar has CAP_SYS_PTRACE, so a security module forbids it, or they are outside isobar's user namespace (a \
         container): let the module allow it, or run isobar outside the container"
    } else {
        "they belong to other users, or are not dumpable; run as root to read them"
    };
    let noun = if processes == 1 { "process" } else { "processes" };
    format!("numa_maps of {processes} {noun} cannot be read: {cause}")
}

fn forbidden(evidence: &Evidence) -> String {
    let level = evidence.paranoid.map_or_else(|| "cannot be read".to_owned(), |level| format!("is {level}"));
    // Level 3 is not mainline's: Debian's kernel refuses perf events there to every process without
    // CAP_SYS_ADMIN (its patch security-perf-allow-further-restriction-of-perf_event_open),
    // Ubuntu's at level 4.
    let beyond = evidence.paranoid.is_some_and(|level| level > 2);
    if evidence.has_cap_perfmon && beyond {
        format!(
            "not permitted: kernel.perf_event_paranoid {level}, where the kernels of Debian and Ubuntu \
             demand CAP_SYS_ADMIN and \
             CAP_PERFMON is not enough; set it to 2, as root: sysctl kernel.perf_event_paranoid=2"
        )
    } else if evidence.has_cap_perfmon {
        format!(
            "perf_event_open is refused in spite of CAP_PERFMON (kernel.perf_event_paranoid {level}): a \
             seccomp filter, security module or kernel lockdown forbids it"
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

/// The remark on the descriptor limit.
#[must_use]
pub fn descriptor_limit(limit: u64, counted: usize, wanted: usize) -> String {
    format!("descriptor limit {limit} reached, {counted} of {wanted} threads counted; raise LimitNOFILE")
}

#[cfg(test)]
#[path = "why_tests.rs"]
mod tests;
