//! Tells whether a thread may be in the middle of creating another. `clone(2)` copies the affinity
//! mask of the calling thread when the call begins, and the new thread can only be seen when the
//! call ends. That may be some time slices later on a busy machine, and seconds later if `fork(2)`
//! copies the page tables of a large process.

use super::stat::Stat;
use isobar_model::{Pid, Tid};
use std::fs;

/// User time, in clock ticks, after which a thread is taken to have been outside the kernel. One
/// tick is not enough: the tick may have been nearly over when the thread was looked at.
const OUTSIDE: u64 = 2;

/// The calls that create threads and processes, by number, for programs of this architecture.
#[cfg(target_arch = "x86_64")]
const CALLS: &[i64] = &[libc::SYS_clone, libc::SYS_clone3, libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const CALLS: &[i64] = &[libc::SYS_clone, libc::SYS_clone3];

/// The same calls for 32-bit programs: `fork`, `clone`, `vfork` and `clone3` have these numbers on
/// x86 (`arch/x86/entry/syscalls/syscall_32.tbl`) and on Arm (`arch/arm/tools/syscall.tbl`).
const CALLS_32: &[i64] = &[2, 120, 190, 435];

/// The result of a look at a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// It creates nothing, or has ended.
    Nothing,
    /// It may be creating a thread or a process.
    Perhaps {
        /// Its user time so far, in clock ticks.
        user_ticks: u64,
        /// Whether it was seen in such a call.
        seen: bool,
    },
}

impl Making {
    /// Whether the thread has been outside the kernel since an earlier look, so that whatever it
    /// was creating then exists by now.
    #[must_use]
    pub const fn is_over_since(self, earlier: u64) -> bool {
        match self {
            Self::Nothing => true,
            Self::Perhaps { user_ticks, .. } => user_ticks >= earlier.saturating_add(OUTSIDE),
        }
    }
}

/// Looks at a thread whose state was just read as `stat`. The kernel does not say in which call a
/// thread is that runs or is about to run, nor does it say so if we lack the permission
/// (`ptrace(2)`, access mode `PTRACE_MODE_ATTACH`). Such a thread may be creating something.
#[must_use]
pub fn look(pid: Pid, tid: Tid, stat: &Stat) -> Making {
    // No sleep within `clone` can be ended by a signal, so a thread in a sleep that can be is not
    // in `clone`.
    if !matches!(stat.state, b'R' | b'D') {
        return Making::Nothing;
    }
    judged(stat, &fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap_or_default())
}

/// Judges by a line of `/proc/PID/task/TID/syscall` (`proc_pid_syscall(5)`): a call's number, its
/// arguments, the stack pointer and the instruction pointer; `-1` outside calls; `running`.
fn judged(stat: &Stat, line: &str) -> Making {
    let perhaps = |seen| Making::Perhaps { user_ticks: stat.user_ticks, seen };
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(number) = words.first().and_then(|word| word.parse::<i64>().ok()) else { return perhaps(false) };
    let stack = words.iter().rev().nth(1).and_then(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let may_be_32_bit = stack.is_some_and(|stack| u32::try_from(stack).is_ok());
    let makes = CALLS.contains(&number) || (may_be_32_bit && CALLS_32.contains(&number));
    if makes { perhaps(true) } else { Making::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::identity;
    use isobar_model::CpuId;

    const STACK: &str = "0x7ffcde67e2b8 0x7f21872992ad";

    fn of(line: &str) -> Making {
        let (parent, cpu) = (Pid(1), Some(CpuId(0)));
        let stat =
            Stat { id: 7, state: b'R', parent, kernel: false, ticks: 9, user_ticks: 5, threads: 1, start: 3, cpu };
        judged(&stat, line)
    }

    #[test]
    fn calls_are_known_by_number_and_width() {
        let perhaps = |seen| Making::Perhaps { user_ticks: 5, seen };
        let call =
            |number: i64, place: &str| of(&format!("{number} 0x3 0x7f218711e000 0x0 0x0 0xffffffff 0x0 {place}"));
        assert_eq!(call(libc::SYS_clone, STACK), perhaps(true));
        assert_eq!(call(libc::SYS_clone3, STACK), perhaps(true));
        assert_eq!(call(libc::SYS_read, STACK), Making::Nothing);
        assert_eq!(call(libc::SYS_clone, "0x40001000 0x7f21872992ad"), perhaps(true), "a stack of its own, low");
        assert_eq!(call(120, "0xffd0e2b8 0xf7fc2579"), perhaps(true), "`clone` of a 32-bit program");
        assert_eq!(call(libc::SYS_read, "0xffd0e2b8 0xf7fc2579"), Making::Nothing);
        assert_eq!(of(&format!("-1 {STACK}\n")), Making::Nothing, "outside the kernel");
        assert_eq!(of("running\n"), perhaps(false));
        assert_eq!(of(""), perhaps(false), "we may not see it");
    }

    #[test]
    fn two_ticks_of_user_time_are_outside_the_kernel() {
        assert!(Making::Nothing.is_over_since(5));
        assert!(!Making::Perhaps { user_ticks: 6, seen: true }.is_over_since(5));
        assert!(Making::Perhaps { user_ticks: 7, seen: true }.is_over_since(5));
    }

    #[test]
    fn a_sleeper_makes_nothing() {
        let mut sleeper = std::process::Command::new("sleep").arg("5").spawn().expect("sleep is there");
        let pid = Pid(sleeper.id());
        let making = || identity::process(pid).map(|stat| look(pid, Tid(pid.0), &stat));
        let began = std::time::Instant::now();
        // The process is first created, and then executes its program.
        while making() != Some(Making::Nothing) && began.elapsed().as_secs() < 4 {}
        assert_eq!(making(), Some(Making::Nothing));
        sleeper.kill().and_then(|()| sleeper.wait()).expect("ended");
    }
}
