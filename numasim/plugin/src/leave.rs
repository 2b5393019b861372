//! Leaves a CPU at once, in the middle of an instruction. QEMU continues with the next CPU, and
//! this one later begins the same instruction again. QEMU itself does this when an access faults.
//! Plugins have no interface for it, so QEMU's own functions are used, which Debian's builds
//! export.
//!
//! A callback of a load may leave, because the instruction has changed nothing yet. So may a
//! callback at the beginning of a block, or of an instruction if it was registered as reading
//! registers (otherwise QEMU has not written them back). A step of REP STOS may leave, because
//! repeating it changes nothing.

use crate::error;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

type Exit = unsafe extern "C" fn(*mut c_void);
type Restore = unsafe extern "C" fn(*mut c_void, usize) -> bool;
type LoopExit = unsafe extern "C" fn(*mut c_void) -> !;

static EXIT: AtomicUsize = AtomicUsize::new(0);
static RESTORE: AtomicUsize = AtomicUsize::new(0);
static LOOP_EXIT: AtomicUsize = AtomicUsize::new(0);

/// Finds QEMU's functions.
pub fn find() {
    let all = [(&EXIT, c"cpu_exit"), (&RESTORE, c"cpu_restore_state"), (&LOOP_EXIT, c"cpu_loop_exit")];
    for (place, name) in all {
        // SAFETY: a C string, and the default search order.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if found.is_null() {
            let name = name.to_string_lossy();
            error::end(&format!(
                "this QEMU does not export '{name}', by which numasim lets CPUs take turns; use Debian's \
                 package of QEMU 10.0, or link with -rdynamic"
            ));
        }
        place.store(found.expose_provenance(), Relaxed);
    }
}

/// Makes QEMU leave the CPU before its next block.
pub fn soon(cpu: usize) {
    // SAFETY: QEMU's function of this name has this type; found when the CPUs were made.
    let exit: Exit = unsafe { std::mem::transmute(EXIT.load(Relaxed)) };
    // SAFETY: the CPU that runs.
    unsafe { exit(std::ptr::with_exposed_provenance_mut(cpu)) };
}

/// Leaves the CPU now, and does not return. It returns only if the callback was not called from
/// generated code, for example by an instruction that QEMU executes in C.
///
/// # Safety
/// `cpu` is the one that runs, `from` the address to which the callback would return; nothing of
/// the callback's is left to be dropped.
pub unsafe fn now(cpu: usize, from: usize) -> bool {
    let this = std::ptr::with_exposed_provenance_mut(cpu);
    // SAFETY: as in `soon`.
    let restore: Restore = unsafe { std::mem::transmute(RESTORE.load(Relaxed)) };
    // SAFETY: any address is allowed; where it is not generated code nothing happens.
    if !unsafe { restore(this, from) } {
        return false;
    }
    soon(cpu);
    // SAFETY: as in `soon`.
    let leave: LoopExit = unsafe { std::mem::transmute(LOOP_EXIT.load(Relaxed)) };
    // SAFETY: the CPU's state is whole; the frames between here and QEMU's loop have nothing to
    // drop.
    unsafe { leave(this) }
}
