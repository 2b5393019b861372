//! Reads the address space of a command from its `/proc/PID/maps`, as the regions of a trace. The
//! stacks of all threads but the first are anonymous, because the kernel does not mark them.

use isobar_pages::trace::{Region, RegionKind};

/// The regions in a text. Mappings of other kinds and lines that are not mappings are left out.
pub fn regions(maps: &str) -> Vec<Region> {
    let (mut regions, mut order): (Vec<Region>, u32) = (Vec::new(), 0);
    for (start, end, offset, path) in maps.lines().filter_map(mapping) {
        let behind = regions.last().filter(|last| last.end == start).map(|last| (last.start, last.kind.clone()));
        let kind = match (path, behind) {
            ("[heap]", _) => RegionKind::Heap,
            ("[stack]", _) => RegionKind::Stack(0),
            // Memory that a file asks for and does not contain (`.bss`) lies directly behind the
            // file.
            ("", Some((from, RegionKind::File { path, offset }))) => {
                RegionKind::File { path, offset: offset + (start - from) }
            }
            ("", _) => {
                order += 1;
                RegionKind::Anonymous { order: order - 1 }
            }
            (path, _) if path.starts_with('/') => RegionKind::File { path: path.to_owned(), offset },
            _ => continue,
        };
        regions.push(Region { start, end, kind });
    }
    regions
}

/// Start, end, offset and path of a line.
fn mapping(line: &str) -> Option<(u64, u64, u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let offset = words.nth(1)?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let path = line.find(['/', '[']).map_or("", |at| &line[at..]);
    Some((hex(start)?, hex(end)?, hex(offset)?, path)).filter(|(start, end, ..)| start < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_become_regions() {
        let maps = "\
00400000-00401000 r--p 00000000 00:02 99   /bin/cg
00404000-00405000 rw-p 00003000 00:02 99   /bin/cg
00405000-00436000 rw-p 00000000 00:00 0
00436000-00457000 rw-p 00000000 00:00 0    [heap]
7f0000000000-7f0000010000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0    [stack]
7ffd00030000-7ffd00034000 r--p 00000000 00:00 0    [vvar]
";
        let found = regions(maps);
        let kinds: Vec<_> = found.iter().map(|region| (region.start, region.kind.clone())).collect();
        let file = |offset| RegionKind::File { path: "/bin/cg".to_owned(), offset };
        let expected = [
            (0x40_0000, file(0)),
            (0x40_4000, file(0x3000)),
            (0x40_5000, file(0x4000)),
            (0x43_6000, RegionKind::Heap),
            (0x7f00_0000_0000, RegionKind::Anonymous { order: 0 }),
            (0x7ffd_0000_0000, RegionKind::Stack(0)),
        ];
        assert_eq!(kinds, expected);
    }
}
