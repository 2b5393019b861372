//! Which CPUs a thread may run on: `sched_setaffinity(2)` and `sched_getaffinity(2)`, for machines of any size.
//!
//! The kernel's mask has as many bits as the machine has possible CPUs, and the usual wrappers stop at 1024, so masks
//! grow here until the kernel accepts them. Knows no plan and no owner: that is [`crate::actuators::ledger`]'s.

use super::identity::kernel_id;
use isobar_model::cpuset::MAX_CPU;
use isobar_model::{CpuId, CpuSet, Tid, num};
use std::io;

/// One word of the kernel's mask (`unsigned long`).
type Word = libc::c_ulong;

/// The CPUs that a thread may run on now: its mask within its cpuset, online CPUs only.
///
/// # Errors
/// `ESRCH` when the thread is gone.
pub fn get(tid: Tid) -> io::Result<CpuSet> {
    let mut words = vec![0; 16];
    loop {
        match get_words(tid, &mut words) {
            Ok(filled) => return Ok(to_set(&words[..filled])),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && words.len() < most_words() => {
                words.resize(words.len() * 2, 0);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Lets a thread run on these CPUs only. The kernel takes those that its cpuset allows.
///
/// # Errors
/// `ESRCH`: the thread is gone; `EPERM`: it is another user's and `CAP_SYS_NICE` is missing; `EINVAL`: no CPU of the
/// set is online and in its cpuset.
pub fn set(tid: Tid, cpus: &CpuSet) -> io::Result<()> {
    set_words(tid, &to_words(cpus))
}

/// Lifts every restriction: the thread may run wherever its cpuset allows, now and when the cpuset grows.
///
/// # Errors
/// As [`set`].
pub fn lift(tid: Tid) -> io::Result<()> {
    set_words(tid, &vec![Word::MAX; most_words()])
}

fn get_words(tid: Tid, words: &mut [Word]) -> io::Result<usize> {
    let tid = kernel_id(tid.0).ok_or_else(gone)?;
    // SAFETY: the kernel writes at most `size_of_val(words)` bytes to the buffer, which is ours and as long as that.
    let bytes = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, size_of_val(words), words.as_mut_ptr()) };
    usize::try_from(bytes).map(|bytes| bytes / size_of::<Word>()).map_err(|_| io::Error::last_os_error())
}

fn set_words(tid: Tid, words: &[Word]) -> io::Result<()> {
    let tid = kernel_id(tid.0).ok_or_else(gone)?;
    // SAFETY: the kernel reads at most `size_of_val(words)` bytes from the buffer, which is ours and as long as that.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, size_of_val(words), words.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ids that the kernel never gives (0 would mean ourselves) are treated as threads that have ended.
fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

fn most_words() -> usize {
    num::index(MAX_CPU + 1) / num::index(Word::BITS)
}

fn to_words(cpus: &CpuSet) -> Vec<Word> {
    let mut words = vec![0; most_words()];
    for cpu in cpus.iter() {
        words[num::index(cpu.0 / Word::BITS)] |= 1 << (cpu.0 % Word::BITS);
    }
    words
}

fn to_set(words: &[Word]) -> CpuSet {
    let bits = |(index, word): (u32, Word)| {
        (0..Word::BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| CpuId(index * Word::BITS + bit))
    };
    (0..).zip(words.iter().copied()).flat_map(bits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_id_means_nobody_and_never_ourselves() {
        assert_eq!(get(Tid(0)).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert_eq!(lift(Tid(0)).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert_eq!(get(Tid(u32::MAX)).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn a_cpu_that_no_machine_has_is_invalid() {
        let nowhere: CpuSet = [CpuId(MAX_CPU)].into_iter().collect();
        let own = Tid(std::process::id());
        assert_eq!(set(own, &nowhere).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    proptest! {
        #[test]
        fn masks_of_large_machines_round_trip(cpus in prop::collection::btree_set(0u32..=MAX_CPU, 0..40)) {
            let set: CpuSet = cpus.into_iter().map(CpuId).collect();
            prop_assert_eq!(to_set(&to_words(&set)), set);
        }
    }
}
