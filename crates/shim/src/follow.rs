//! The thread that follows isobar's decision.

use crate::{policy, shared, sweep};
use isobar_allocation::{Decision, Page};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

/// The shortest pause between two looks, while mappings come and go, in milliseconds ...
const SOON: i64 = 10;
/// ... and the longest, while none does.
const LATER: i64 = 80;
/// While pages are placed, every mapping is examined in at least one of this many looks.
const SWEEP_EVERY: u64 = 8;
/// Size of its stack in bytes: enough for a buffer of 4 KiB, even in programs with much
/// thread-local storage.
const STACK: usize = 256 << 10;

/// The decision that the page holds now; `last` if it cannot be read.
fn decided(page: &Page<'_>, last: (u64, Decision)) -> (u64, Decision) {
    page.read(std::process::id()).map_or(last, |reading| (reading.sequence, reading.decision))
}

/// Applies the decision to the thread that begins the program, and to existing mappings.
pub fn adopt(page: Page<'static>) {
    let (_, decision) = decided(&page, (0, Decision::Free));
    policy::set_for_program(decision.mode());
    sweep::sweep(policy::of_mappings(&decision));
}

/// Restarts the thread in every child: a fork copies only the thread that forks.
pub fn after_forks() {
    // SAFETY: the handler is a function of this library, which is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

extern "C" fn in_child() {
    start();
}

/// Starts the thread. If that fails, the program runs on with what [`adopt`] has applied.
pub fn start() {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: fills the set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: both sets live past the call, the first is filled. The new thread inherits the mask,
    // so that no handler of the program ever runs in it.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr()) };
    if !create(Some(STACK)) {
        create(None);
    }
    // SAFETY: the mask that the call above has written.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
}

fn create(stack: Option<usize>) -> bool {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: initialises the attributes.
    unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    // SAFETY: initialised above.
    unsafe { libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED) };
    if let Some(bytes) = stack {
        // SAFETY: initialised above.
        unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), bytes) };
    }
    // SAFETY: initialised above; the function takes no argument and never unwinds.
    let code = unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), follow, ptr::null_mut()) };
    // SAFETY: initialised above, and not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    code == 0
}

extern "C" fn follow(_: *mut c_void) -> *mut c_void {
    // SAFETY: names this thread by a string that ends with a zero.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"isobar-alloc".as_ptr()) };
    if !own_descriptors() {
        return ptr::null_mut();
    }
    // While this thread has no policy of its own, the kernel shows whether a mapping has one.
    policy::set_for_thread(Decision::Free.mode());
    if let Some(page) = shared::open() {
        watch(page);
    }
    ptr::null_mut()
}

/// Gives this thread a descriptor table of its own, with no descriptors in it. The program can then
/// neither close what the thread opens nor reuse its numbers. False if the kernel refuses.
fn own_descriptors() -> bool {
    const CLOSE_RANGE_UNSHARE: u32 = 2;
    // SAFETY: numbers only; the table that is emptied is this thread's own from then on.
    unsafe { libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, CLOSE_RANGE_UNSHARE) == 0 }
}

fn watch(page: Page<'static>) {
    let (mut seen, mut last, mut pause) = ((0, Decision::Free), None, SOON);
    for looks in 1_u64.. {
        let now = sweep::look();
        // Only this thread and the ended leader are left: the program ended without calling exit.
        if now.is_some_and(|now| now.leader_ended && now.threads <= 2) {
            return;
        }
        let newer = page.is_newer(seen.0);
        if newer {
            seen = decided(&page, seen);
        }
        // If a mapping replaces one of the same size, the sum does not change.
        let in_turn = seen.1 != Decision::Free && looks.is_multiple_of(SWEEP_EVERY);
        if newer || in_turn || now != last {
            sweep::sweep(policy::of_mappings(&seen.1));
            pause = if newer || now != last { SOON } else { pause };
        } else {
            pause = (pause * 2).min(LATER);
        }
        last = now;
        sleep(pause);
    }
}

fn sleep(milliseconds: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: milliseconds * 1_000_000 };
    // SAFETY: the kernel reads the time, and writes no rest.
    unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) };
}
