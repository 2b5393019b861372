//! The mappings of this process (`/proc/self/maps`), which contain those of the program.

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// Where in its file it begins.
    pub offset: u64,
    /// Its file; empty for anonymous memory.
    pub path: String,
}

/// Parses the text; lines that are not mappings are left out.
pub fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(one).collect()
}

fn one(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let offset = words.nth(1)?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    // A path may contain blanks; it begins with a slash, or is a name in brackets.
    let path = line.find(['/', '[']).map_or("", |at| &line[at..]);
    Some(Mapping { start: hex(start)?, end: hex(end)?, offset: hex(offset)?, path: path.to_owned() })
}

/// What was added since `before`: mappings of files, and anonymous memory directly after one, which
/// holds the data that a file declares but does not contain (`.bss`).
pub fn files_since(before: &[Mapping], now: &[Mapping]) -> Vec<Mapping> {
    let mut found: Vec<Mapping> = Vec::new();
    for mapping in now.iter().filter(|mapping| !before.iter().any(|old| old.start == mapping.start)) {
        if mapping.path.starts_with('/') {
            found.push(mapping.clone());
        } else if let Some(last) = found.last().filter(|last| last.end == mapping.start && mapping.path.is_empty()) {
            let offset = last.offset + (last.end - last.start);
            found.push(Mapping { offset, path: last.path.clone(), ..mapping.clone() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_what_follows_them_are_found() {
        let before = parse("7f00000000-7f00001000 r-xp 00000000 fe:00 12                         /usr/bin/qemu\n");
        let now = parse(
            "00400000-00401000 r--p 00000000 fe:00 99   /tmp/a b/matrix\n\
             00404000-00405000 rw-p 00003000 fe:00 99   /tmp/a b/matrix\n\
             00405000-00436000 rw-p 00000000 00:00 0 \n\
             00500000-00600000 rw-p 00000000 00:00 0 \n\
             7f00000000-7f00001000 r-xp 00000000 fe:00 12                         /usr/bin/qemu\n\
             7f00002000-7f00003000 rw-p 00000000 00:00 0    [stack]\n",
        );
        let found = files_since(&before, &now);
        let short: Vec<_> = found.iter().map(|found| (found.start, found.offset, found.path.as_str())).collect();
        let path = "/tmp/a b/matrix";
        assert_eq!(short, [(0x40_0000, 0, path), (0x40_4000, 0x3000, path), (0x40_5000, 0x4000, path)]);
    }
}
