//! Parses the line with which a mapping begins in `/proc/PID/maps` and `/proc/PID/smaps`
//! (`proc_pid_maps(5)`). Pure.
//!
//! The `procfs` crate (0.18) parses these files, too, but does not fit: it refuses the whole file
//! if one line is not a mapping, copies the name of every mapping, and panics if a file is called
//! `/SYSV`.

use super::page_range::PageRange;
use super::parse::{decimal, hex};

/// The fields of such a line, without the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapLine<'a> {
    /// The first byte.
    pub(crate) start: u64,
    /// The byte after the last.
    pub(crate) end: u64,
    /// The access rights, such as `rw-p`.
    rights: &'a str,
    /// Where in its file the mapping begins, in bytes.
    pub(crate) offset: u64,
    /// The inode of its file; 0 if it has none.
    inode: u64,
    /// The path of its file, or a name in brackets; empty for most memory without a file.
    pub(crate) name: &'a str,
}

impl<'a> MapLine<'a> {
    /// Reads `7f62779a3000-7f62779c3000 rw-p 00000000 08:01 1234   /path with blanks (deleted)`.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let (rights, offset, _device, inode) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let name = fields.next().unwrap_or("").trim_start_matches(' ');
        Some(Self { start: hex(start)?, end: hex(end)?, rights, offset: hex(offset)?, inode: decimal(inode)?, name })
    }

    /// Its pages of `page_size` bytes.
    pub(crate) fn pages(&self, page_size: u64) -> PageRange {
        let page = |address: u64| address / page_size.max(1);
        PageRange { start: page(self.start), end: page(self.end) }
    }

    /// Whether no file backs it.
    pub(crate) const fn is_anonymous(&self) -> bool {
        self.inode == 0
    }

    /// Whether it is address space without any access right.
    pub(crate) fn is_reserved(&self) -> bool {
        self.rights.starts_with("---")
    }

    /// Whether the kernel made its pages itself: `[vdso]`, `[vvar]`, `[vvar_vclock]`, `[vsyscall]`,
    /// and `[vectors]` of a 32-bit program on Arm. No program can give such a name: names that
    /// programs give to memory begin with `[anon`.
    pub(crate) fn is_kernels(&self) -> bool {
        self.name.starts_with("[v")
    }
}

/// The mappings in the text of `maps`, ascending, as the kernel writes them. Lines that are not
/// mappings, and lines out of order, are left out: the file changes while it is read.
pub(crate) fn in_order(maps: &str) -> impl Iterator<Item = MapLine<'_>> {
    let mut end = 0;
    // Not `lines()`, because a file name may end in a carriage return.
    maps.split('\n').filter_map(MapLine::parse).filter(move |line| {
        let follows = end <= line.start && line.start < line.end;
        end = if follows { line.end } else { end };
        follows
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 wrote it, some lines left out; the third has no name, and a blank at its end.
    const MAPS: &str = "\
55e4bd138000-55e4bd13d000 r-xp 00002000 fe:00 247026                     /usr/bin/cat
55e4ee5a1000-55e4ee5c2000 rw-p 00000000 00:00 0                          [heap]
7ff579132000-7ff579154000 rw-p 00000000 00:00 0 
7ff579332000-7ff579385000 ---p 0017c000 fe:00 326269                     /tmp/a b (deleted)
7ff5793a4000-7ff5793a8000 r--p 00000000 00:00 0                          [vvar]
7ff5793a8000-7ff5793aa000 r--p 00000000 00:00 0                          [vvar_vclock]
7ff5793aa000-7ff5793ac000 r-xp 00000000 00:00 0                          [vdso]
7ffc1cb50000-7ffc1cb71000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn captured_lines_are_read() {
        let lines: Vec<_> = in_order(MAPS).collect();
        let names: Vec<_> = lines.iter().map(|line| line.name).collect();
        let first = ["/usr/bin/cat", "[heap]", "", "/tmp/a b (deleted)"];
        assert_eq!(names, [&first[..], &["[vvar]", "[vvar_vclock]", "[vdso]", "[stack]", "[vsyscall]"]].concat());
        let (start, end) = (0x55e4_bd13_8000, 0x55e4_bd13_d000);
        let program = MapLine { start, end, rights: "r-xp", offset: 0x2000, inode: 247_026, name: "/usr/bin/cat" };
        assert_eq!(lines[0], program);
        assert_eq!(program.pages(4096), PageRange { start: start >> 12, end: end >> 12 });
        let places = |flags: Vec<bool>| (0..flags.len()).filter(|at| flags[*at]).collect::<Vec<_>>();
        assert_eq!(places(lines.iter().map(MapLine::is_anonymous).collect()), [1, 2, 4, 5, 6, 7, 8]);
        assert_eq!(places(lines.iter().map(MapLine::is_reserved).collect()), [3]);
        assert_eq!(places(lines.iter().map(MapLine::is_kernels).collect()), [4, 5, 6, 8]);
    }

    #[test]
    fn a_line_without_a_name_may_end_after_the_inode() {
        let line = MapLine::parse("00400000-00401000 rw-p 00000000 00:00 0").unwrap();
        assert_eq!((line.start, line.name), (0x40_0000, ""));
    }

    #[test]
    fn broken_lines_and_other_lines_are_none() {
        for broken in [
            "",
            "-",
            "VmFlags: rd wr mr mw me ac",
            "KernelPageSize:        4 kB",
            "55d1ab200000 default heap anon=25 dirty=25 N0=25 kernelpagesize_kB=4",
            "400000-401000",
            "400000-401000 rw-p 00000000 00:00",
            "400000-401000 rw-p 00000000 00:00 x",
            "400000-401000 rw-p zero 00:00 0",
            "400000-401000-402000 rw-p 00000000 00:00 0",
            "+400000-401000 rw-p 00000000 00:00 0",
            "400000-10000000000000000 rw-p 00000000 00:00 0",
        ] {
            assert_eq!(MapLine::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn mappings_that_overlap_or_are_empty_are_left_out() {
        let line = |range: &str| format!("{range} rw-p 00000000 00:00 0 \n");
        let text = ["2000-4000", "3000-5000", "4000-4000", "0-1000", "4000-5000"].map(line).concat();
        let starts: Vec<_> = in_order(&text).map(|line| line.start).collect();
        assert_eq!(starts, [0x2000, 0x4000]);
    }
}
