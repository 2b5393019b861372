//! Time while no CPU runs. QEMU's main loop normally sleeps until the next timer. Here it does not
//! sleep: time jumps to the timer.
//!
//! Whether no CPU runs is known from QEMU's thread of CPUs: it waits on a condition, and the thread
//! that wakes it signals the condition. Time therefore cannot jump between an interrupt and the CPU
//! that it wakes.
//!
//! The main loop computes how long to sleep, then sleeps. CPUs may run in between, and the computed
//! time is then outdated. Time therefore jumps only in a sleep that was computed after the CPUs had
//! come to rest. Any other sleep ends at once, and the main loop computes it again. Otherwise a
//! timer would be late by however long the host took.

use crate::world::clock::{self, RUNNING, runs_cpus};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

static MAIN: AtomicU64 = AtomicU64::new(0);
/// How often the thread of CPUs has changed between running and waiting for an interrupt: odd while
/// it waits.
static STATE: AtomicU32 = AtomicU32::new(0);
/// The state in which the main loop began to compute its sleep.
static KNOWN: AtomicU32 = AtomicU32::new(0);
static CONDITION: AtomicUsize = AtomicUsize::new(0);

/// Must be called once, from the thread that becomes QEMU's main loop.
pub fn begin() {
    // SAFETY: takes no arguments.
    MAIN.store(unsafe { libc::pthread_self() }, SeqCst);
}

fn is_main() -> bool {
    // SAFETY: takes no arguments.
    let this = unsafe { libc::pthread_self() };
    MAIN.load(SeqCst) == this
}

/// How long the main loop lets CPUs run before it looks for events.
const LOOK: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 5_000_000 };
const NOW: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// Replaces the call in which QEMU's main loop sleeps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    files: *mut libc::pollfd,
    count: libc::nfds_t,
    limit: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the caller passes null or a valid timespec.
    let limit = unsafe { limit.as_ref() }.copied();
    if !RUNNING.load(SeqCst) || !is_main() {
        return kernel_ppoll(files, count, limit, mask);
    }
    let ready = sleep(files, count, limit, mask);
    KNOWN.store(STATE.load(SeqCst), SeqCst);
    ready
}

/// Returns when a file is ready, when time has passed to the next timer, or when the sleep has to
/// be computed again.
fn sleep(
    files: *mut libc::pollfd,
    count: libc::nfds_t,
    limit: Option<libc::timespec>,
    mask: *const libc::sigset_t,
) -> c_int {
    loop {
        let state = STATE.load(SeqCst);
        let ready = kernel_ppoll(files, count, Some(NOW), mask);
        if ready != 0 || limit.is_some_and(|limit| limit.tv_sec == 0 && limit.tv_nsec == 0) {
            return ready;
        }
        if !rests(state) {
            sleep_while_cpus_run(state);
        } else if state != KNOWN.load(SeqCst) {
            return 0;
        } else if let Some(limit) = limit {
            clock::pass_to(clock::shown() + picos(limit));
            return 0;
        } else {
            return kernel_ppoll(files, count, Some(LOOK), mask);
        }
    }
}

const fn rests(state: u32) -> bool {
    state % 2 == 1
}

fn picos(time: libc::timespec) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000_000 + time.tv_nsec.cast_unsigned() * 1000
}

/// Sleeps while CPUs run. The thread of CPUs runs the timers then, so the main loop has little to
/// do; and each time that it wakes it takes QEMU's global lock from the CPUs.
fn sleep_while_cpus_run(state: u32) {
    let look = LOOK;
    // SAFETY: the kernel reads one word and one timespec, both of which live as long as the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            STATE.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            state,
            &raw const look,
            0,
            0,
        )
    };
}

fn wake_main_loop() {
    // SAFETY: the kernel reads one word.
    unsafe { libc::syscall(libc::SYS_futex, STATE.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1, 0, 0, 0) };
}

/// The same for programs that were built with checks of buffer lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ppoll_chk(
    files: *mut libc::pollfd,
    count: libc::nfds_t,
    limit: *const libc::timespec,
    mask: *const libc::sigset_t,
    _room: usize,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { ppoll(files, count, limit, mask) }
}

fn kernel_ppoll(
    files: *mut libc::pollfd,
    count: libc::nfds_t,
    limit: Option<libc::timespec>,
    mask: *const libc::sigset_t,
) -> c_int {
    let mut limit = limit;
    let limit = limit.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
    // SAFETY: pointers are the caller's, who has made them valid; the kernel's signal sets have 8
    // bytes.
    let ready = unsafe { libc::syscall(libc::SYS_ppoll, files, count, limit, mask, 8_usize) };
    c_int::try_from(ready).unwrap_or(-1)
}

type Wait = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Signal = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The C library's function of this name, looked up once.
fn original(cache: &AtomicUsize, name: &CStr) -> usize {
    let known = cache.load(SeqCst);
    if known != 0 {
        return known;
    }
    // SAFETY: C strings; the version is the one that programs for this architecture are linked
    // with.
    let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr()) }.addr();
    cache.store(found, SeqCst);
    found
}

/// If the thread of CPUs waits, no CPU runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int {
    static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
    if runs_cpus() {
        CONDITION.store(condition.addr(), SeqCst);
        STATE.fetch_or(1, SeqCst);
        wake_main_loop();
    }
    // SAFETY: the C library's function of this name has this type.
    let wait: Wait = unsafe { std::mem::transmute(original(&ORIGINAL, c"pthread_cond_wait")) };
    // SAFETY: the caller's contract is passed on.
    unsafe { wait(condition, mutex) }
}

/// If the condition that the thread of CPUs waits for is signalled, a CPU will run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: *mut c_void) -> c_int {
    static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
    if condition.addr() == CONDITION.load(SeqCst) {
        // Counts as one wake-up, however often it is signalled.
        let _ = STATE.fetch_update(SeqCst, SeqCst, |state| rests(state).then(|| state.wrapping_add(1)));
    }
    // SAFETY: the C library's function of this name has this type.
    let signal: Signal = unsafe { std::mem::transmute(original(&ORIGINAL, c"pthread_cond_broadcast")) };
    // SAFETY: the caller's contract is passed on.
    unsafe { signal(condition) }
}
