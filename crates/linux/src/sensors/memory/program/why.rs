//! Explains why accesses cannot be sampled, and what to do about it.

use crate::kernel::cpu_model::CpuModel;
use crate::kernel::privilege;
use crate::kernel::proc_fs::read_text;
use rustix::io::Errno;
use std::path::Path;

/// What is missing, and the remedy: one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What is missing.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

impl Missing {
    fn new(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: remedy.into() }
    }

    /// The kernel does not open the events.
    pub(super) fn refused(errno: Errno) -> Self {
        match errno {
            Errno::ACCESS | Errno::PERM => {
                let level = read_text("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
                let why = format!("perf events are forbidden (kernel.perf_event_paranoid is {})", level.trim());
                Self::new(why, format!("as root: sysctl kernel.perf_event_paranoid=1, or {}", privilege::remedy()))
            }
            Errno::MFILE => Self::new("too few descriptors for an event on each CPU", "ulimit -n 65536"),
            Errno::NOSYS => Self::new(
                "the kernel has no perf events, or a container hides them",
                "allow perf_event_open in the container's seccomp profile",
            ),
            other => Self::new(format!("perf_event_open failed: {}", std::io::Error::from(other)), ELSE),
        }
    }
}

/// A remedy that always works.
const ELSE: &str = "`--engine qemu-user` sees every access on any machine";

/// The CPU lists no event that samples addresses.
pub(super) fn no_source(devices: &Path) -> Missing {
    if devices.join("arm_spe_0").exists() {
        let remedy = "perf record -e arm_spe_0// -- COMMAND, perf script -F tid,time,event,addr --itrace=M > FILE, \
                      isobar pages FILE";
        return Missing::new("this CPU samples through Arm SPE, which perf supports and isobar does not", remedy);
    }
    let guest = CpuModel::live().hypervisor;
    let remedy = if guest { format!("run it on the host, or {ELSE}") } else { ELSE.to_owned() };
    let place = if guest { "this virtual machine" } else { "this machine" };
    let why = format!(
        "{place} cannot sample addresses: {} has neither cpu/events/mem-loads (Intel) nor ibs_op (AMD)",
        devices.display()
    );
    Missing::new(why, remedy)
}
