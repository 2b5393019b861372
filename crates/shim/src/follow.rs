//! The thread that follows the decision.

use crate::{policy, shared, sweep};
use isobar_allocation::{Decision, Page};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

/// Between two looks while mappings come and go, in milliseconds ...
const SOON: i64 = 10;
/// ... and at most, while nothing does.
const LATER: i64 = 80;
/// While pages are placed, every mapping is looked at in at least one of this many looks.
const SWEEP_EVERY: u64 = 8;
/// Its stack: enough for a buffer of 4 KiB, in programs with much thread-local storage, too.
const STACK: usize = 256 << 10;

/// What the page says now; `last` where it does not say.
fn decided(page: &Page<'_>, last: (u64, Decision)) -> (u64, Decision) {
    page.read(std::process::id()).map_or(last, |reading| (reading.sequence, reading.decision))
}

/// Gives the decision to the thread that begins the program, and to what is mapped already.
pub fn adopt(page: Page<'static>) {
    let (_, decision) = decided(&page, (0, Decision::Free));
    policy::set_for_program(decision.mode());
    sweep::sweep(policy::of_mappings(&decision));
}

/// Has the thread started again in every child: a fork copies only the thread that forks.
pub fn after_forks() {
    // SAFETY: the handler is a function of this library, which is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

extern "C" fn in_child() {
    start();
}

/// Starts the thread. Without it the program runs on with what [`adopt`] has given it.
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
    // Without a policy of its own, the kernel says of a mapping whether that has one.
    policy::set_for_thread(Decision::Free.mode());
    if let Some(page) = shared::open() {
        watch(page);
    }
    ptr::null_mut()
}

/// Gives this thread a table of descriptors of its own, with none in it. What it opens is then
/// nothing that the program could close, or take the number of. False where the kernel refuses.
fn own_descriptors() -> bool {
    const CLOSE_RANGE_UNSHARE: u32 = 2;
    // SAFETY: numbers only; the table that is emptied is this thread's own from then on.
    unsafe { libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, CLOSE_RANGE_UNSHARE) == 0 }
}

fn watch(page: Page<'static>) {
    let (mut seen, mut last, mut pause) = ((0, Decision::Free), None, SOON);
    for looks in 1_u64.. {
        let now = sweep::look();
        // The last thread of a program that ended without calling exit.
        if now.is_some_and(|now| now.leader_ended && now.threads <= 2) {
            return;
        }
        let newer = page.is_newer(seen.0);
        if newer {
            seen = decided(&page, seen);
        }
        // A mapping that took the place of one of the same size changes no sum.
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
