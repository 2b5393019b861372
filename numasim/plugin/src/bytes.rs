//! Reads bytes that QEMU returns in a GLib array: the bytes of a register, and of the guest's
//! memory as the running CPU sees it.

use crate::qemu::{self, Array};
use std::ffi::c_void;

/// The value of a register of eight bytes. Must be called within a callback that was registered as
/// reading registers. The handle is QEMU's.
pub fn of_register(handle: *mut c_void) -> Option<u64> {
    // SAFETY: QEMU's handle, within such a callback; the array is of bytes.
    let read = |into| unsafe { qemu::qemu_plugin_read_register(handle, into) } == 8;
    filled(read).map(u64::from_le_bytes)
}

/// The bytes from an address on; `None` if nothing is mapped there. Must be called within a
/// callback of code.
pub fn at<const N: usize>(address: u64) -> Option<[u8; N]> {
    // SAFETY: a CPU runs; the array is of bytes.
    filled(|into| unsafe { qemu::qemu_plugin_read_memory_vaddr(address, into, N) })
}

/// What QEMU puts into a new array; `None` if QEMU fails or the number of bytes differs.
fn filled<const N: usize>(fill: impl FnOnce(*mut Array) -> bool) -> Option<[u8; N]> {
    // SAFETY: a new array of bytes, of which this is the only user.
    let bytes: *mut Array = unsafe { qemu::g_byte_array_new() };
    let done = fill(bytes);
    // SAFETY: ours, not freed yet.
    let held = unsafe { &*bytes };
    let value = (done && held.len as usize == N).then(|| {
        // SAFETY: it holds that many bytes.
        unsafe { held.data.cast::<[u8; N]>().read_unaligned() }
    });
    // SAFETY: ours; a byte array is an array.
    unsafe { qemu::g_array_free(bytes, 1) };
    value
}
