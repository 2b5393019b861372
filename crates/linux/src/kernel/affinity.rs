//! Reads, sets and lifts the affinity masks of threads, which name the CPUs that a thread may run
//! on (`sched_setaffinity(2)`, `sched_getaffinity(2)`), on machines of any size. The usual wrappers
//! stop at 1024 CPUs.
//!
//! Reading a mask this way costs a twentieth of reading `/proc/PID/task/TID/status`. This file does
//! not know who set a mask.

use super::id::kernel_id;
use super::proc_fs::read_text;
use isobar_model::cpuset::MAX_CPU;
use isobar_model::{CpuId, CpuSet, Pid, Tid, num};
use std::io;

/// One word of the kernel's mask (`unsigned long`).
type Word = libc::c_ulong;

/// Words for [`MAX_CPU`], eight times the kernel's own limit: the kernel refuses to write a mask
/// into fewer words than its own mask has.
const WORDS: usize = num::index(MAX_CPU + 1) / num::index(Word::BITS);

/// The CPUs that a thread may run on now: its mask within its cpuset, online CPUs only.
///
/// # Errors
/// `ESRCH`: the thread has ended; `EPERM`: a security module forbids it.
pub fn get(tid: Tid) -> io::Result<CpuSet> {
    let thread = kernel_id(tid.0).ok_or_else(ended)?;
    let mut words: [Word; WORDS] = [0; WORDS];
    // SAFETY: the kernel writes at most `size_of_val(&words)` bytes to `words`, which lives through
    // the call.
    let written =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, size_of_val(&words), words.as_mut_ptr()) };
    let bytes = usize::try_from(written).map_err(|_| io::Error::last_os_error())?;
    Ok(to_set(&words[..bytes.div_ceil(size_of::<Word>()).min(WORDS)]))
}

/// The CPUs of a thread's mask, offline ones included (`Cpus_allowed_list` of
/// `proc_pid_status(5)`); `None` if it cannot be read.
#[must_use]
pub fn with_offline(pid: Pid, tid: Tid) -> Option<CpuSet> {
    let status = read_text(format!("/proc/{pid}/task/{tid}/status"))?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().parse().ok()
}

/// Restricts a thread to these CPUs. The kernel uses those of them that the thread's cpuset allows.
///
/// # Errors
/// `ESRCH`: the thread has ended; `EPERM`: the thread is another user's and `CAP_SYS_NICE` is
/// missing; `EINVAL`: no CPU of the set is online and in the thread's cpuset.
pub fn set(tid: Tid, cpus: &CpuSet) -> io::Result<()> {
    set_words(tid, &to_words(cpus))
}

/// Lifts every restriction: the thread may run wherever its cpuset allows, now and after the cpuset
/// grows.
///
/// # Errors
/// The same as for [`set`].
pub fn lift(tid: Tid) -> io::Result<()> {
    set_words(tid, &[Word::MAX; WORDS])
}

/// Whether the owner narrowed a thread's affinity: `allowed` leaves out a CPU that is online and
/// that the thread's cpuset permits (`None` = any CPU).
#[must_use]
pub fn is_pinned(allowed: &CpuSet, permitted: Option<&CpuSet>, online: &CpuSet) -> bool {
    permitted.map_or_else(|| !online.is_subset(allowed), |cpuset| !cpuset.intersection(online).is_subset(allowed))
}

fn set_words(tid: Tid, words: &[Word; WORDS]) -> io::Result<()> {
    let thread = kernel_id(tid.0).ok_or_else(ended)?;
    // SAFETY: the kernel reads at most `size_of_val(words)` bytes from `words`, which lives through
    // the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, size_of_val(words), words.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Treats ids that the kernel never gives (0 would mean ourselves) as threads that have ended.
fn ended() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

fn to_words(cpus: &CpuSet) -> [Word; WORDS] {
    let mut words = [0; WORDS];
    for cpu in cpus.iter() {
        words[num::index(cpu.0 / Word::BITS)] |= 1 << (cpu.0 % Word::BITS);
    }
    words
}

fn to_set(words: &[Word]) -> CpuSet {
    let bits = |(first, word): (u32, Word)| {
        (0..Word::BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| CpuId(first + bit))
    };
    let words = (0..).step_by(num::index(Word::BITS)).zip(words.iter().copied());
    words.filter(|(_, word)| *word != 0).flat_map(bits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::cpus;
    use proptest::prelude::*;

    fn errno<T>(result: io::Result<T>) -> Option<i32> {
        result.err()?.raw_os_error()
    }

    #[test]
    fn an_id_that_no_thread_has_is_no_thread_and_never_ourselves() {
        for tid in [0, u32::MAX, 0x7fff_fff0] {
            assert_eq!(errno(get(Tid(tid))), Some(libc::ESRCH), "{tid}");
            assert_eq!(errno(lift(Tid(tid))), Some(libc::ESRCH), "{tid}");
        }
    }

    #[test]
    fn our_own_mask_is_read_and_a_cpu_that_no_machine_has_is_invalid() {
        let own = Tid(std::process::id());
        assert!(!get(own).unwrap().is_empty());
        assert!(get(own).unwrap().is_subset(&with_offline(Pid(own.0), own).unwrap()));
        let nowhere: CpuSet = [CpuId(MAX_CPU)].into_iter().collect();
        assert_eq!(errno(set(own, &nowhere)), Some(libc::EINVAL));
    }

    #[test]
    fn a_word_is_64_cpus_and_the_lowest_bit_is_the_first() {
        assert_eq!(to_set(&[1 << 3, 1]), [CpuId(3), CpuId(64)].into_iter().collect());
    }

    #[test]
    fn pinned_means_narrower_than_the_cpuset() {
        let online = cpus("0-3");
        assert!(!is_pinned(&cpus("0-3"), None, &online));
        assert!(is_pinned(&cpus("0-2"), None, &online));
        assert!(!is_pinned(&cpus("2-3"), Some(&cpus("2-3")), &online));
        assert!(is_pinned(&cpus("2"), Some(&cpus("2-3")), &online));
        // CPU 7 of the cpuset is offline: leaving it out narrows nothing.
        assert!(!is_pinned(&cpus("2-3"), Some(&cpus("2-3,7")), &online));
        assert!(!is_pinned(&cpus("0-7"), None, &online));
    }

    proptest! {
        #[test]
        fn masks_of_large_machines_round_trip(ids in prop::collection::btree_set(0u32..=MAX_CPU, 0..40)) {
            let set: CpuSet = ids.into_iter().map(CpuId).collect();
            prop_assert_eq!(to_set(&to_words(&set)), set);
        }
    }
}
