//! Functions of the next library that has them, looked up on the first call.

use std::ffi::{CStr, c_void};
use std::mem::{size_of, transmute_copy};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Bytes for what the loader allocates during a lookup.
const EARLY: usize = 64 << 10;

#[repr(C, align(16))]
struct Early(std::cell::UnsafeCell<[u8; EARLY]>);
// SAFETY: each byte of it is given away once.
unsafe impl Sync for Early {}

static EARLY_BYTES: Early = Early(std::cell::UnsafeCell::new([0; EARLY]));
static EARLY_USED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LOOKING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// A function, identified by its name.
pub struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    /// A function that has not been looked up yet.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The function; `None` if there is none, or if this thread is in the middle of a lookup.
    ///
    /// # Safety
    /// `F` is a function pointer of the function's own type.
    pub unsafe fn get<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            if LOOKING.replace(true) {
                return None;
            }
            // SAFETY: the name ends with a zero.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            LOOKING.set(false);
            self.found.store(found, Ordering::Relaxed);
        }
        // SAFETY: a function pointer is as large, and of the type that the caller promises.
        (!found.is_null()).then(|| unsafe { transmute_copy(&found) })
    }
}

/// Zeroed memory for the loader, which is never freed; null if it is used up.
pub fn early(size: usize) -> *mut c_void {
    let size = size.saturating_add(15) & !15;
    let at = EARLY_USED.fetch_add(size.min(EARLY), Ordering::Relaxed);
    if at.saturating_add(size) > EARLY {
        return std::ptr::null_mut();
    }
    // SAFETY: within the array.
    unsafe { EARLY_BYTES.0.get().cast::<u8>().add(at) }.cast()
}

/// Whether a pointer came from [`early`].
pub fn is_early(pointer: *mut c_void) -> bool {
    let start = EARLY_BYTES.0.get().addr();
    (start..start + EARLY).contains(&pointer.addr())
}

/// Copies an allocation from [`early`] to other memory of `size` bytes.
///
/// # Safety
/// `to` is null or has `size` bytes.
pub unsafe fn move_early(from: *mut c_void, to: *mut c_void, size: usize) {
    let rest = EARLY_BYTES.0.get().addr() + EARLY - from.addr();
    if !to.is_null() {
        // SAFETY: `rest` bytes can be read, and `size` written, as the caller promises.
        unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), size.min(rest)) };
    }
}
