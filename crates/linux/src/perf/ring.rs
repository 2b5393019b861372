//! The ring buffer that the kernel writes samples to (`perf_event_open(2)`, "MMAP layout"): one
//! page of bookkeeping, then a power of two of data pages. Reading copies the new bytes out and
//! gives the space back.

use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of a page, as a length.
#[must_use]
pub fn page_size() -> usize {
    usize::try_from(procfs::page_size()).unwrap_or(4096)
}

/// Offsets of the kernel's and of our position in the bookkeeping page.
const HEAD: usize = std::mem::offset_of!(perf_event_mmap_page, data_head);
const TAIL: usize = std::mem::offset_of!(perf_event_mmap_page, data_tail);

/// A mapped ring buffer; owns its event's descriptor.
#[derive(Debug)]
pub struct Ring {
    _event: OwnedFd,
    base: NonNull<c_void>,
    page: usize,
    /// Number of data pages; a power of two.
    pages: usize,
}

// SAFETY: the mapping belongs to this value alone, and nothing in it depends on the thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring buffer of a sampling event. The number of data pages is a power of two.
    ///
    /// # Errors
    /// `EPERM` if `kernel.perf_event_mlock_kb` is used up, or another error of the kernel.
    pub fn map(event: OwnedFd, pages: usize) -> Result<Self, Errno> {
        let page = page_size();
        let length = page * (1 + pages);
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory in use.
        let base = unsafe { mmap(std::ptr::null_mut(), length, rights, MapFlags::SHARED, &event, 0) }?;
        let base = NonNull::new(base).ok_or(Errno::NOMEM)?;
        Ok(Self { _event: event, base, page, pages })
    }

    /// Appends what the kernel has written since the last call to `bytes`, and frees the space.
    pub fn drain(&self, bytes: &mut Vec<u8>) {
        let (head_word, tail_word) = (self.word(HEAD), self.word(TAIL));
        // Acquire: the data before `head` was written before `head` itself was.
        let head = head_word.load(Ordering::Acquire);
        let tail = tail_word.load(Ordering::Relaxed);
        self.copy(tail, head, bytes);
        // Release: what was copied was read before the kernel may overwrite it.
        tail_word.store(head, Ordering::Release);
    }

    /// Copies the bytes from `tail` to `head`, which may wrap around the end.
    fn copy(&self, tail: u64, head: u64, bytes: &mut Vec<u8>) {
        let size = self.page * self.pages;
        let length = usize::try_from(head.wrapping_sub(tail)).unwrap_or(0).min(size);
        let start = usize::try_from(tail).unwrap_or(0) % size;
        let first = length.min(size - start);
        bytes.extend_from_slice(self.data(start, first));
        bytes.extend_from_slice(self.data(0, length - first));
    }

    fn data(&self, start: usize, length: usize) -> &[u8] {
        debug_assert!(start + length <= self.page * self.pages);
        // SAFETY: the data area begins one page after `base`; `start + length` is within it.
        let first = unsafe { self.base.byte_add(self.page + start) };
        // SAFETY: mapped as above, and the kernel does not write between tail and head until tail
        // is moved.
        unsafe { std::slice::from_raw_parts(first.cast::<u8>().as_ptr(), length) }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page of the mapping is a `perf_event_mmap_page`, and `offset` lies in
        // it.
        let address = unsafe { self.base.byte_add(offset) };
        // SAFETY: the field is an aligned u64 that lives as long as the mapping and is shared with
        // the kernel.
        unsafe { AtomicU64::from_ptr(address.cast::<u64>().as_ptr()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `base` was mapped with this length and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.base.as_ptr(), self.page * (1 + self.pages)) };
    }
}
