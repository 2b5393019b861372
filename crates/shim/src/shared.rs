//! The page, mapped for reading.

use isobar_allocation::{BYTES, PAGE, Page, WORDS, place};
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

static WORDS_OF_PAGE: OnceLock<Option<&'static [AtomicU64; WORDS]>> = OnceLock::new();

/// The page that the environment names; `None` if there is no page that is certain to stay.
pub fn open() -> Option<Page<'static>> {
    WORDS_OF_PAGE.get_or_init(map).map(Page::new)
}

fn map() -> Option<&'static [AtomicU64; WORDS]> {
    let name = CString::new(PAGE).ok()?;
    // SAFETY: the name ends with a zero; no other thread runs yet that could change the
    // environment.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: not null, so a string of the environment that ends with a zero.
    let path = unsafe { CStr::from_ptr(value) };
    place(path.to_str().ok()?)?;
    // SAFETY: the path ends with a zero.
    let file =
        unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY) };
    if file < 0 {
        return None;
    }
    let mapped = if is_sealed(file) { map_file(file) } else { None };
    // SAFETY: the descriptor is ours.
    unsafe { libc::close(file) };
    mapped
}

/// Whether the file can never shrink, so that a mapping of it stays readable.
fn is_sealed(file: i32) -> bool {
    // SAFETY: asks for the seals of a descriptor of ours; `-1` if it has none.
    let seals = unsafe { libc::fcntl(file, libc::F_GET_SEALS) };
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut facts: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes the structure.
    let known = unsafe { libc::fstat(file, &raw mut facts) } == 0;
    let size = usize::try_from(facts.st_size).unwrap_or(0);
    seals >= 0 && seals & libc::F_SEAL_SHRINK != 0 && known && size == BYTES
}

fn map_file(file: i32) -> Option<&'static [AtomicU64; WORDS]> {
    // SAFETY: a new mapping of a file that is as long and never shrinks.
    let address = unsafe { libc::mmap(ptr::null_mut(), BYTES, libc::PROT_READ, libc::MAP_SHARED, file, 0) };
    if address == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is aligned to a page, has `WORDS` words, is never unmapped, and is only
    // loaded from; another process stores into it by atomics of the same size.
    Some(unsafe { &*address.cast::<[AtomicU64; WORDS]>() })
}
