//! The guest's memory, as the CPU that runs sees it.

use crate::qemu::{self, Array};

/// The bytes from an address on; `None` where nothing is mapped. Within a callback of code.
pub fn at<const N: usize>(address: u64) -> Option<[u8; N]> {
    // SAFETY: a new array of bytes, of which this is the only user.
    let bytes: *mut Array = unsafe { qemu::g_byte_array_new() };
    // SAFETY: the array is ours, and a CPU runs.
    let mapped = unsafe { qemu::qemu_plugin_read_memory_vaddr(address, bytes, N) };
    // SAFETY: ours, not freed yet.
    let held = unsafe { &*bytes };
    let value = (mapped && held.len as usize == N).then(|| {
        // SAFETY: it holds that many bytes.
        unsafe { held.data.cast::<[u8; N]>().read_unaligned() }
    });
    // SAFETY: ours; a byte array is an array.
    unsafe { qemu::g_array_free(bytes, 1) };
    value
}
