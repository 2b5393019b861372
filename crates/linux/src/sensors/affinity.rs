//! The CPUs that a thread may run on, by `sched_getaffinity(2)`: the owner's mask within its cpuset, online CPUs only.
//! The system call costs a twentieth of reading `/proc/PID/task/TID/status`.

use isobar_model::{CpuId, CpuSet, Tid, num};
use rustix::io::Errno;

/// 65,536 CPUs, eight times the kernel's own limit: the call fails where the mask is shorter than the kernel's.
const WORDS: usize = 1024;

/// The mask of a thread.
///
/// # Errors
/// `ESRCH` where the thread has ended; `EPERM` where a security module forbids it.
pub fn allowed(tid: Tid) -> Result<CpuSet, Errno> {
    let mut mask = [0u64; WORDS];
    let thread = libc::pid_t::try_from(tid.0).map_err(|_| Errno::SRCH)?;
    // SAFETY: the kernel writes at most `size_of_val(&mask)` bytes to `mask`, which lives through the call.
    let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, size_of_val(&mask), mask.as_mut_ptr()) };
    let bytes = usize::try_from(written).map_err(|_| last_errno())?;
    Ok(set_of(&mask[..bytes.div_ceil(8).min(WORDS)]))
}

/// The errno of the system call that just failed.
pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn set_of(words: &[u64]) -> CpuSet {
    let bits = |(word, index): (&u64, usize)| {
        let word = *word;
        let first = num::narrow(index * 64);
        (0..64u32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| CpuId(first + bit))
    };
    words.iter().zip(0..).filter(|(word, _)| **word != 0).flat_map(bits).collect()
}

/// Whether an owner narrowed a thread's affinity: `allowed` leaves out a CPU that is online and that its cpuset permits
/// (`None` = any).
#[must_use]
pub fn is_pinned(allowed: &CpuSet, permitted: Option<&CpuSet>, online: &CpuSet) -> bool {
    permitted.map_or_else(|| !online.is_subset(allowed), |cpuset| !cpuset.intersection(online).is_subset(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    #[test]
    fn pinned_means_narrower_than_the_cpuset() {
        let online = set("0-3");
        assert!(!is_pinned(&set("0-3"), None, &online));
        assert!(is_pinned(&set("0-2"), None, &online));
        assert!(!is_pinned(&set("2-3"), Some(&set("2-3")), &online));
        assert!(is_pinned(&set("2"), Some(&set("2-3")), &online));
        // CPU 7 of the cpuset is offline: leaving it out narrows nothing.
        assert!(!is_pinned(&set("2-3"), Some(&set("2-3,7")), &online));
        assert!(!is_pinned(&set("0-7"), None, &online));
    }

    #[test]
    fn words_become_cpu_numbers() {
        assert_eq!(set_of(&[0b1001, 0, 1]).to_string(), "0,3,128");
    }

    #[test]
    fn our_own_mask_is_read_and_a_thread_that_is_not_there_is_esrch() {
        let own = allowed(Tid(std::process::id())).unwrap();
        assert!(!own.is_empty());
        assert_eq!(allowed(Tid(u32::MAX)).unwrap_err(), Errno::SRCH);
        assert_eq!(allowed(Tid(0x7fff_fff0)).unwrap_err(), Errno::SRCH);
    }
}
