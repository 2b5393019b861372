//! The clocks that QEMU reads. When preloaded, these functions replace the C library's and return
//! guest time: a CPU that reads a clock gets its own time, everything else gets the start of the
//! window.
//!
//! QEMU runs its virtual timers when [`crate::world`] makes it move its virtual clock. The first
//! reading in that call returns zero, so that QEMU sees time pass and runs the timers that are due
//! at once, in the thread of the CPUs, at the same guest time in every run. Other threads see the
//! new window only from then on; otherwise QEMU's main loop would run the timers whenever the host
//! lets it.

use crate::world;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Whether there is a world, whose time is shown.
pub static RUNNING: AtomicBool = AtomicBool::new(false);
/// Start of the window in picoseconds: for the thread of CPUs, and for all other threads.
pub static BASE: AtomicU64 = AtomicU64::new(BEGINNING);
static SHOWN: AtomicU64 = AtomicU64::new(BEGINNING);
/// Guest time when QEMU starts. It is not zero, because QEMU's timers take zero as never.
pub const BEGINNING: u64 = 1_000_000_000_000;
/// Whether a CPU has been asked to yield and has not yet done so.
pub static ASKED: AtomicBool = AtomicBool::new(false);
/// The latest time that a time-stamp counter showed, in picoseconds. A CPU reads its counter only
/// when no other CPU is behind it (`World::counter`), so this should never hold a counter back. If
/// a counter ran backwards, QEMU would assume that the host had been suspended.
static TOLD: AtomicU64 = AtomicU64::new(0);
/// The stack of the code that QEMU generates; functions called from it are deeper in the stack.
static STACK: AtomicUsize = AtomicUsize::new(usize::MAX);
thread_local! {
    static RUNS_CPUS: Cell<bool> = const { Cell::new(false) };
}

const SECOND: i64 = 1_000_000_000;

/// The kernel's clock by system call, because the C library's vDSO function reads the time-stamp
/// counter.
fn kernel_time(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    time
}

/// Marks this thread as the one that runs CPUs, in generated code with this stack.
#[inline]
pub fn in_generated_code() {
    let here = 0_u8;
    let stack = (&raw const here).addr();
    if STACK.load(Relaxed) != stack {
        STACK.store(stack, Relaxed);
        RUNS_CPUS.set(true);
    }
}

/// Whether this thread runs CPUs.
pub fn runs_cpus() -> bool {
    RUNS_CPUS.get()
}

#[inline(never)]
fn within_generated_code() -> bool {
    let here = 0_u8;
    runs_cpus() && (&raw const here).addr() < STACK.load(Relaxed)
}

/// The time now, in nanoseconds from a second before the start: a CPU gets its own time.
fn now_ns() -> i64 {
    nanos(if within_generated_code() { world::local().max(BASE.load(Relaxed)) } else { SHOWN.load(Relaxed) })
}

/// The value of the time-stamp counter, in nanoseconds.
pub fn counter() -> i64 {
    nanos(if within_generated_code() { notify(world::local().max(BASE.load(Relaxed))) } else { SHOWN.load(Relaxed) })
}

fn nanos(picos: u64) -> i64 {
    i64::try_from(picos / 1000).unwrap_or(i64::MAX)
}

/// The time that all threads except the thread of CPUs see, in picoseconds.
pub fn shown() -> u64 {
    SHOWN.load(Relaxed)
}

/// Lets time pass to `due` while no CPU runs; if `due` is in the past, time stays.
pub fn pass_to(due: u64) {
    let now = BASE.fetch_max(due, Relaxed).max(due);
    SHOWN.store(now, Relaxed);
}

fn notify(picos: u64) -> u64 {
    let before = TOLD.fetch_max(picos, Relaxed);
    before.max(picos)
}

/// The clock that QEMU's virtual clock is based on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
    let time = if clock != libc::CLOCK_MONOTONIC {
        kernel_time(clock)
    } else if ASKED.load(Relaxed) && runs_cpus() && !within_generated_code() {
        // QEMU has left the CPU and moves its clock: see the head of the file.
        ASKED.store(false, Relaxed);
        SHOWN.store(BASE.load(Relaxed), Relaxed);
        libc::timespec { tv_sec: 0, tv_nsec: 0 }
    } else {
        let now = now_ns();
        libc::timespec { tv_sec: now / SECOND, tv_nsec: now % SECOND }
    };
    // SAFETY: the caller passes a buffer for one timespec.
    unsafe { to.write(time) };
    0
}

/// Guest time, once there is a world. QEMU sizes its translation caches by this clock, and sizes
/// that depend on the host's speed would make every boot different.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(to: *mut libc::timeval, _zone: *mut c_void) -> c_int {
    let (seconds, nanos) = if RUNNING.load(Relaxed) {
        let now = nanos(shown());
        (now / SECOND, now % SECOND)
    } else {
        let time = kernel_time(libc::CLOCK_REALTIME);
        (time.tv_sec, time.tv_nsec)
    };
    // SAFETY: the caller passes a buffer for one timeval.
    unsafe { to.write(libc::timeval { tv_sec: seconds, tv_usec: nanos / 1000 }) };
    0
}

/// The time without the C library's vDSO function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(to: *mut libc::time_t) -> libc::time_t {
    let time = kernel_time(libc::CLOCK_REALTIME).tv_sec;
    if !to.is_null() {
        // SAFETY: the caller passes a buffer for one time_t, or null.
        unsafe { to.write(time) };
    }
    time
}
