//! Reports allocations to the plugin.

use std::arch::asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of the system call; `isobar-tracer-plugin` has the same.
const REPORT: i64 = 0x6973_6f62;
/// Minimum size in bytes: smaller allocations get no names.
const LARGE: usize = 128 << 10;
/// Maximum number of allocations that get names, because a trace has an entry for each.
const MOST: u32 = 1 << 16;

static REPORTED: AtomicU32 = AtomicU32::new(0);

/// Reports a successful large allocation, and returns the pointer.
pub fn allocated(pointer: *mut c_void, size: usize, caller: u64) -> *mut c_void {
    if size >= LARGE && !pointer.is_null() && REPORTED.fetch_add(1, Ordering::Relaxed) < MOST {
        // SAFETY: the kernel has no call of this number, and touches no memory; `errno` stays.
        unsafe {
            asm!(
                "syscall",
                inlateout("rax") REPORT => _, in("rdi") pointer, in("rsi") size, in("rdx") caller,
                lateout("rcx") _, lateout("r11") _, options(nostack),
            );
        }
    }
    pointer
}
