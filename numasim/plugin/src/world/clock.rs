//! The clocks that QEMU reads. Preloaded, these functions come before the C library's, and return
//! guest time: to a CPU that reads a clock, its own; to everything else, the start of the window.
//!
//! QEMU runs its virtual timers when it moves its virtual clock in [`crate::world`]'s name: the
//! first reading in that call is answered with zero, so that QEMU sees time pass and runs what is
//! due there and then, in the thread of the CPUs, at the same guest time in every run. Other
//! threads see the new window only from then on, else QEMU's main loop would run the timers
//! whenever the host lets it.

use crate::world;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Whether there is a world, whose time this is.
pub static RUNNING: AtomicBool = AtomicBool::new(false);
/// Start of the window, picoseconds: for the thread of CPUs, and for all others.
pub static BASE: AtomicU64 = AtomicU64::new(BEGINNING);
static SHOWN: AtomicU64 = AtomicU64::new(BEGINNING);
/// Guest time when QEMU starts: not zero, which QEMU's timers take as never.
pub const BEGINNING: u64 = 1_000_000_000_000;
/// A CPU has been asked to yield, and has not yet done so.
pub static ASKED: AtomicBool = AtomicBool::new(false);
/// Latest time that a time-stamp counter showed, picoseconds. A CPU reads its counter only when no
/// other is behind it (`World::counter`), so this never holds one back; should it yet, QEMU would
/// take the host for one that was suspended.
static TOLD: AtomicU64 = AtomicU64::new(0);
/// The stack of the code that QEMU generates; what reads a clock from within is deeper.
static STACK: AtomicUsize = AtomicUsize::new(usize::MAX);
thread_local! {
    static RUNS_CPUS: Cell<bool> = const { Cell::new(false) };
}

const SECOND: i64 = 1_000_000_000;

/// The kernel's own: the C library's short cut reads the time-stamp counter.
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

/// The time now, in nanoseconds from a second before the start: to a CPU its own.
fn now_ns() -> i64 {
    nanos(if within_generated_code() { world::local().max(BASE.load(Relaxed)) } else { SHOWN.load(Relaxed) })
}

/// What the time-stamp counter shows: nanoseconds.
pub fn counter() -> i64 {
    nanos(if within_generated_code() { tell(world::local().max(BASE.load(Relaxed))) } else { SHOWN.load(Relaxed) })
}

fn nanos(picos: u64) -> i64 {
    i64::try_from(picos / 1000).unwrap_or(i64::MAX)
}

/// The time that all threads but that of the CPUs see, picoseconds.
pub fn shown() -> u64 {
    SHOWN.load(Relaxed)
}

/// Time passes while no CPU runs, until something is due; if that is past, it stays.
pub fn pass_to(due: u64) {
    let now = BASE.fetch_max(due, Relaxed).max(due);
    SHOWN.store(now, Relaxed);
}

fn tell(picos: u64) -> u64 {
    let before = TOLD.fetch_max(picos, Relaxed);
    before.max(picos)
}

/// The clock that QEMU's virtual clock stands on.
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

/// Guest time, once there is any: by this clock QEMU sizes its translation caches, and sizes that
/// hang on the host's speed would make no boot like another.
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

/// Without the C library's short cut.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(to: *mut libc::time_t) -> libc::time_t {
    let time = kernel_time(libc::CLOCK_REALTIME).tv_sec;
    if !to.is_null() {
        // SAFETY: the caller passes a buffer for one time_t, or null.
        unsafe { to.write(time) };
    }
    time
}
