//! The signals that ask a process to stop: every signal that would end isobar and can be caught,
//! because each of them would leave threads where they are. This file knows which signals; what is
//! done then is up to the caller.
//!
//! Left out: SIGKILL and SIGSTOP, which cannot be caught; the signals of a fault in our own code
//! (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP), after which none of our code can be trusted.
//! After any of these, `isobar restore` puts everything back.
//!
//! SIGPIPE is a special case. Sent by another process, it asks to stop. Sent by the kernel to a
//! thread that writes to a closed pipe, it repeats the error of the write. Threads that write call
//! [`hold_writers_signals`].

use crate::kernel::capability;
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPIPE, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
    SIGXFSZ,
};
use std::ffi::c_int;
use std::fs;

const NAMED: [c_int; 16] = [
    SIGABRT,
    SIGALRM,
    SIGHUP,
    SIGINT,
    SIGIO,
    SIGPIPE,
    SIGPROF,
    SIGQUIT,
    SIGTERM,
    SIGUSR1,
    SIGUSR2,
    SIGVTALRM,
    SIGXCPU,
    SIGXFSZ,
    libc::SIGPWR,
    libc::SIGSTKFLT,
];

/// The signals to catch. SIGHUP is left out if it was ignored when the process started: `nohup
/// isobar manage` outlives its terminal.
#[must_use]
pub fn signals() -> Vec<c_int> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let nohup = is_ignored(&status, SIGHUP);
    let all = NAMED.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX());
    all.filter(|signal| *signal != SIGHUP || !nohup).collect()
}

/// Keeps this thread from receiving SIGPIPE for closed pipes, because its writes report them, and
/// from stopping the process when it writes to a terminal from the background (`stty tostop`). A
/// SIGPIPE that another process sends goes to other threads.
pub fn hold_writers_signals() {
    // SAFETY: a signal set is plain integers, for which zeros are a value.
    let mut held: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours, and the number is that of a signal.
    unsafe { libc::sigaddset(&raw mut held, SIGPIPE) };
    // SAFETY: as before.
    unsafe { libc::sigaddset(&raw mut held, libc::SIGTTOU) };
    // SAFETY: the set outlives the call, which only reads it; the old mask is not wanted.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const held, std::ptr::null_mut()) };
}

/// Whether this process ignores a signal: the programs that it starts then ignore it, too.
#[must_use]
pub fn ignores(signal: c_int) -> bool {
    is_ignored(&fs::read_to_string("/proc/self/status").unwrap_or_default(), signal)
}

/// Whether the mask `SigIgn` of a status file (`proc_pid_status(5)`) has a signal.
fn is_ignored(status: &str, signal: c_int) -> bool {
    capability::set(status, "SigIgn:").is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_that_ends_a_process_is_caught_or_named_in_the_head() {
        let caught = signals();
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGXFSZ, SIGABRT, SIGPIPE]
        {
            assert!(caught.contains(&signal), "signal {signal}");
        }
        for fault in [libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV, libc::SIGBUS, libc::SIGCHLD] {
            assert!(!caught.contains(&fault), "signal {fault}");
        }
    }

    #[test]
    fn ignored_signals_are_bits_counted_from_one() {
        assert!(is_ignored("Name:\tx\nSigIgn:\t0000000000001001\n", SIGHUP));
        assert!(!is_ignored("SigIgn:\t0000000000001000\n", SIGHUP));
        assert!(!is_ignored("", SIGHUP));
    }
}
