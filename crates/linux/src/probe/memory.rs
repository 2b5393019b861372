//! Keeps some pages on one node: if any are found elsewhere, all are given back to the kernel and
//! allocated anew. This file knows where pages are; it loads nothing.

use super::reason::NotMeasured;
use crate::kernel::{mbind, move_pages};
use isobar_model::{NodeId, Pid};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::ptr::{self, NonNull};

/// Pages of a node.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    length: usize,
    page: usize,
    node: NodeId,
}

// SAFETY: the mapping belongs to this value alone, and to no particular thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// `bytes` of memory that come from `node`, none of it allocated yet: in base pages or, if
    /// `huge` is set, in huge pages if the kernel has them.
    ///
    /// # Errors
    /// The cpuset forbids the node, or the kernel refuses the mapping.
    pub fn new(node: NodeId, bytes: usize, huge: bool) -> Result<Self, NotMeasured> {
        let page = rustix::param::page_size();
        let length = bytes.next_multiple_of(page);
        let refused = NotMeasured::refused("cannot map memory for the probe");
        // SAFETY: a new private mapping at an address of the kernel's choice.
        let mapped =
            unsafe { mmap_anonymous(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) };
        let start = mapped.map_err(|errno| refused(errno.into()))?.cast();
        let start = NonNull::new(start).ok_or_else(|| refused(io::ErrorKind::OutOfMemory.into()))?;
        let buffer = Self { start, length, page, node };
        // Kernels without huge pages refuse, and have nothing to switch off.
        let _ = buffer.advise(if huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage });
        match mbind::prefer(start, length, node) {
            Ok(()) => Ok(buffer),
            // Without NUMA there is one node, which has all memory.
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(buffer),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Err(NotMeasured::MemoryForbidden(node)),
            Err(error) => Err(NotMeasured::refused("cannot place memory on a node (mbind)")(error)),
        }
    }

    /// Bytes per page.
    pub const fn page_size(&self) -> usize {
        self.page
    }

    /// The number of base pages.
    pub const fn pages(&self) -> usize {
        self.length / self.page
    }

    /// Allocates every page that is missing. If pages are on another node, all are given back first
    /// and allocated again. Returns the number of pages that were on another node.
    ///
    /// # Errors
    /// Pages are still elsewhere: the node is full.
    pub fn settle(&self) -> Result<usize, NotMeasured> {
        let astray = match self.elsewhere()? {
            (0, 0) => return Ok(0),
            (0, _) => 0,
            (astray, _) => {
                let refused = NotMeasured::refused("cannot give back memory of the probe");
                self.advise(Advice::LinuxDontNeed).map_err(|errno| refused(errno.into()))?;
                astray
            }
        };
        self.touch();
        match self.elsewhere()? {
            (0, 0) => Ok(astray),
            _ => Err(NotMeasured::Full(self.node)),
        }
    }

    /// Writes to every page.
    pub fn touch(&self) {
        for page in 0..self.pages() {
            // SAFETY: within the mapping, to which nothing else refers.
            unsafe { self.word(page, 0).cast_mut().write_volatile(0) };
        }
    }

    /// The word at an offset of a page. A caller that reads there keeps both within the mapping.
    #[inline(always)]
    pub fn word(&self, page: usize, offset: usize) -> *const usize {
        self.start.as_ptr().wrapping_add(page * self.page + offset).cast::<usize>()
    }

    /// The number of pages on other nodes, and of pages that are not allocated yet.
    fn elsewhere(&self) -> Result<(usize, usize), NotMeasured> {
        let size = self.page as u64;
        let first = self.start.as_ptr().addr() as u64 / size;
        let pages: Vec<u64> = (first..).take(self.pages()).collect();
        let located = match move_pages::locate(Pid(std::process::id()), &pages, size) {
            Ok(located) => located,
            // Without NUMA no page can be elsewhere, and missing pages are allocated on first use.
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => return Ok((0, 0)),
            Err(error) => return Err(NotMeasured::refused("cannot ask where memory is (move_pages)")(error)),
        };
        let astray = located.iter().filter(|status| **status >= 0).count();
        let home = located.iter().filter(|status| move_pages::node(**status) == Some(self.node)).count();
        Ok((astray - home, located.len() - astray))
    }

    fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        // SAFETY: the range is our own mapping; what is dropped of it reads as zeros afterwards.
        unsafe { madvise(self.start.as_ptr().cast(), self.length, advice) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing refers to any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> NodeId {
        crate::topology::read(&crate::tree::Tree::live()).unwrap().nodes()[0].id
    }

    #[test]
    fn pages_are_taken_once_and_again_when_they_went_away() {
        let buffer = Buffer::new(home(), 20 * 4096, false).unwrap();
        let count = buffer.pages();
        assert_eq!(buffer.elsewhere().unwrap(), (0, count), "nothing is taken before it is touched");
        assert_eq!(buffer.settle().unwrap(), 0);
        assert_eq!(buffer.elsewhere().unwrap(), (0, 0));
        buffer.advise(Advice::LinuxDontNeed).unwrap();
        assert_eq!(buffer.elsewhere().unwrap(), (0, count));
        assert_eq!((buffer.settle().unwrap(), buffer.elsewhere().unwrap()), (0, (0, 0)));
    }

    #[test]
    fn a_node_that_the_machine_lacks_gives_no_memory() {
        for node in [NodeId(1023), NodeId(u32::MAX)] {
            assert_eq!(Buffer::new(node, 4096, false).unwrap_err(), NotMeasured::MemoryForbidden(node));
        }
    }
}
