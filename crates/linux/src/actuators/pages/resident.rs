//! Finds which pages of a range are resident, without asking for each one: `PAGEMAP_SCAN` (Linux
//! 6.7, `Documentation/admin-guide/mm/pagemap.rst`) walks the page tables and skips absent pages.
//!
//! Programs reserve far more than they use (a sanitizer, a language runtime: terabytes), and
//! `move_pages(2)` needs one entry for each page. On an older kernel every mapped page is asked
//! for, within the limit of one migration.

use super::around::PageRange;
use isobar_model::Pid;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `PAGE_IS_PRESENT` of `linux/fs.h`.
const PRESENT: u64 = 1 << 3;
/// Number of stretches that one call returns.
const STRETCHES: usize = 256;

/// `struct pm_scan_arg` of `linux/fs.h`.
#[repr(C)]
#[derive(Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `struct page_region` of `linux/fs.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

/// The page tables of a process.
#[derive(Debug)]
pub struct PageTables {
    file: File,
    page_size: u64,
}

impl PageTables {
    /// Opens them; `None` if they cannot be read, or if the kernel cannot scan them.
    pub fn open(pid: Pid, page_size: u64) -> Option<Self> {
        let tables = Self { file: File::open(format!("/proc/{pid}/pagemap")).ok()?, page_size };
        tables.scan(PageRange { start: 0, end: 1 }, 1).ok()?;
        Some(tables)
    }

    /// Every resident page of some ranges.
    ///
    /// # Errors
    /// As [`PageTables::scan`].
    pub fn resident(&self, ranges: &[PageRange]) -> io::Result<Vec<u64>> {
        let mut found = Vec::new();
        for range in ranges {
            let mut rest = *range;
            while !rest.is_empty() {
                let (pages, next) = self.scan(rest, rest.len())?;
                found.extend(pages);
                rest.start = next;
            }
        }
        Ok(found)
    }

    /// The first resident pages of a range, `most` at most, and the page at which the scan
    /// continues.
    ///
    /// # Errors
    /// The kernel's error; `ESRCH` if the process ended.
    pub fn scan(&self, range: PageRange, most: u64) -> io::Result<(Vec<u64>, u64)> {
        let mut stretches = [PageRegion::default(); STRETCHES];
        let mut arguments = ScanArguments {
            size: u64::try_from(size_of::<ScanArguments>()).unwrap_or(0),
            start: range.start.saturating_mul(self.page_size),
            end: range.end.saturating_mul(self.page_size),
            vec: u64::try_from(stretches.as_mut_ptr().expose_provenance()).unwrap_or(0),
            vec_len: u64::try_from(STRETCHES).unwrap_or(0),
            max_pages: most,
            category_mask: PRESENT,
            return_mask: PRESENT,
            ..ScanArguments::default()
        };
        let request = libc::_IOWR::<ScanArguments>(u32::from(b'f'), 16);
        // SAFETY: the kernel reads and writes `size` bytes of `arguments`, and writes at most
        // `vec_len` entries to `stretches`; both are ours, laid out as it expects, and live past
        // the call.
        let filled = unsafe { libc::ioctl(self.file.as_raw_fd(), request, &raw mut arguments) };
        let filled = usize::try_from(filled).map_err(|_| io::Error::last_os_error())?;
        let found = stretches.iter().take(filled);
        let pages = found.flat_map(|stretch| stretch.start / self.page_size..stretch.end / self.page_size).collect();
        // If the kernel makes no progress, isobar must not loop for ever.
        Ok((pages, (arguments.walk_end / self.page_size).clamp(range.start + 1, range.end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::Pid;

    #[test]
    fn of_a_large_reservation_only_what_was_touched_is_found() {
        let own = Pid(std::process::id());
        let page_size = procfs::page_size();
        let Some(tables) = PageTables::open(own, page_size) else {
            eprintln!("SKIPPED: this kernel has no PAGEMAP_SCAN");
            return;
        };
        let page = usize::try_from(page_size).unwrap();
        let count = 1 << 16;
        // Zeroed memory of this size is reserved, not touched. A whole huge page may become
        // resident when one of its pages is touched.
        let mut memory = vec![0u8; count * page];
        let first = (memory.as_ptr().addr() / page + 1) as u64;
        memory[page * 40_000] = 1;
        memory[page * 50_000] = 1;
        let touched = (std::ptr::from_ref(&memory[page * 40_000]).addr() / page) as u64;
        let range = PageRange { start: first, end: first + count as u64 - 2 };
        let (pages, next) = tables.scan(range, 100_000).unwrap();
        assert!(pages.contains(&touched));
        assert!(pages.len() <= 2 * 512, "{}", pages.len());
        assert_eq!(next, range.end);
        let (one, after) = tables.scan(range, 1).unwrap();
        assert_eq!((one.len(), one[0]), (1, pages[0]));
        assert!(pages[0] < after && after <= pages[1], "the second is left for the next scan");
    }
}
