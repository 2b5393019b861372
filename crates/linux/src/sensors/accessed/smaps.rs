//! Parses `/proc/PID/smaps`: how much of each mapping is resident and was referenced. Pure.

use crate::kernel::page_range::PageRange;

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
/// changes while it is read. Pages that the kernel made itself (`[vdso]`, `[vvar]`, `[vsyscall]`)
/// are left out.
#[must_use]
pub fn parse(text: &str, page_size: u64) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if let Some((pages, kernels)) = head(line, page_size) {
            open = !kernels && !pages.is_empty();
            mappings.extend(open.then_some(Mapping { pages, resident: 0, referenced: 0 }));
        } else if let Some(mapping) = mappings.last_mut().filter(|_| open) {
            let pages = |key: &str| kibibytes(line, key).map(|kib| kib.saturating_mul(1024) / page_size.max(1));
            mapping.resident = pages("Rss:").unwrap_or(mapping.resident);
            mapping.referenced = pages("Referenced:").unwrap_or(mapping.referenced);
        }
    }
    mappings
}

/// Reads `7f62779a3000-7f62779c3000 rw-p 00000000 08:01 1234   /path`: the mapping's pages, and
/// whether they are the kernel's.
fn head(line: &str, page_size: u64) -> Option<(PageRange, bool)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let name = words.nth(4).unwrap_or("");
    let kernels = ["[vdso", "[vvar", "[vsyscall"].iter().any(|own| name.starts_with(own));
    Some((PageRange { start: start / page_size.max(1), end: end / page_size.max(1) }, kernels))
}

/// `Referenced:         892 kB`
fn kibibytes(line: &str, key: &str) -> Option<u64> {
    line.strip_prefix(key)?.trim().strip_suffix("kB")?.trim_end().parse().ok()
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
