//! Parses `/proc/PID/smaps`: how much of each mapping is resident and was referenced. Pure.

use crate::kernel::map_line::MapLine;
use crate::kernel::page_range::PageRange;
use crate::kernel::parse::kibibytes;

/// A mapping, in base pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its pages.
    pub pages: PageRange,
    /// How much of it is resident (`Rss`).
    pub resident: u64,
    /// How much of it was accessed since the bits were cleared (`Referenced`).
    pub referenced: u64,
}

/// Reads the file, with pages of `page_size` bytes. Lines that do not parse are skipped: the file
/// changes while it is read. Pages that the kernel made itself (`[vdso]`, `[vvar]`, ...) are left
/// out.
#[must_use]
pub fn parse(text: &str, page_size: u64) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if let Some(head) = MapLine::parse(line) {
            let pages = head.pages(page_size);
            open = !head.is_kernels() && !pages.is_empty();
            mappings.extend(open.then_some(Mapping { pages, resident: 0, referenced: 0 }));
        } else if let Some(mapping) = mappings.last_mut().filter(|_| open) {
            let size = |key: &str| line.strip_prefix(key).and_then(kibibytes);
            let pages = |key: &str| size(key).map(|bytes| bytes.0 / page_size.max(1));
            mapping.resident = pages("Rss:").unwrap_or(mapping.resident);
            mapping.referenced = pages("Referenced:").unwrap_or(mapping.referenced);
        }
    }
    mappings
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As Linux 6.18 wrote it, without the lines between.
    const TEXT: &str = "\
55d1ab200000-55d1ab221000 rw-p 00000000 00:00 0                          [heap]
Size:                132 kB
KernelPageSize:        4 kB
Rss:                 100 kB
Referenced:           40 kB
Anonymous:           100 kB
VmFlags: rd wr mr mw me ac
7ffd1c5f7000-7ffd1c5fb000 r--p 00000000 00:00 0                          [vvar]
Rss:                  16 kB
Referenced:           16 kB
7f62779a3000-7f62779c3000 r-xp 00000000 08:01 1234                       /usr/lib/a b: Rss:
Rss:                 128 kB
Referenced:         many kB
";

    #[test]
    fn resident_and_referenced_pages_by_mapping() {
        let found = parse(TEXT, 4096);
        let brief: Vec<_> = found.iter().map(|it| (it.pages.len(), it.resident, it.referenced)).collect();
        // 100 KiB are 25 pages, 40 KiB are 10; text that is not a number is not counted.
        assert_eq!(brief, [(33, 25, 10), (32, 32, 0)]);
        assert_eq!(found[0].pages.start, 0x5_5d1a_b200);
    }

    proptest! {
        #[test]
        fn broken_text_is_read_as_far_as_it_goes(cut in 0usize..700, junk in "[-a-f0-9: kBRssReferenced\n]{0,60}") {
            let cut = cut.min(TEXT.len());
            let found = parse(&format!("{}{junk}{}", &TEXT[..cut], &TEXT[cut..]), 4096);
            prop_assert!(found.iter().all(|mapping| !mapping.pages.is_empty()));
        }
    }
}
