//! Parses a line of `/proc/PID/maps`, to find mappings whose new anonymous pages isobar may place.

/// An address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// The range of a private, writable, anonymous mapping: the heap, large allocations, stacks of
/// threads, zeroed data. `None` for every other line: whoever maps files and shared memory places
/// them, the main stack grows by itself, and memory that cannot be written gets no pages.
#[must_use]
pub fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut range = words.next()?.splitn(2, |byte| *byte == b'-');
    let (start, end) = (hex(range.next()?)?, hex(range.next()?)?);
    let rights = words.next()?;
    let ours = rights.starts_with(b"rw") && rights.get(3) == Some(&b'p');
    let inode = words.nth(2)?;
    let named_ok = match words.next() {
        None => true,
        Some(name) => name == b"[heap]" || name.starts_with(b"[anon:"),
    };
    (ours && inode == b"0" && named_ok && start < end).then_some(Mapping { start, end })
}

fn hex(digits: &[u8]) -> Option<usize> {
    let digit = |value: usize, byte: &u8| {
        let digit = char::from(*byte).to_digit(16)?;
        value.checked_mul(16)?.checked_add(usize::try_from(digit).ok()?)
    };
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, digit))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_anonymous_memory_is_ours_to_place() {
        let range = |line: &str| mapping(line.as_bytes()).map(|found| (found.start, found.end));
        assert_eq!(range("7f00-7f10 rw-p 00000000 00:00 0 "), Some((0x7f00, 0x7f10)));
        assert_eq!(
            range("55d0c000-55d2d000 rw-p 00000000 00:00 0                          [heap]"),
            Some((0x55d0_c000, 0x55d2_d000))
        );
        assert_eq!(range("10-20 rw-p 00000000 00:00 0 [anon:glibc: malloc]"), Some((0x10, 0x20)));
        for other in [
            "7f00-7f10 rw-s 00000000 00:01 1024 /dev/zero (deleted)",
            "7f00-7f10 rw-s 00000000 00:00 0 ",
            "7f00-7f10 rw-p 00001000 fe:00 7431 /usr/lib/libc.so.6",
            "7f00-7f10 r--p 00000000 00:00 0 ",
            "7f00-7f10 ---p 00000000 00:00 0 ",
            "7ffd0-7ffe0 rw-p 00000000 00:00 0 [stack]",
            "7f10-7f00 rw-p 00000000 00:00 0 ",
            "fffffffffffffffff-1 rw-p 0 00:00 0",
            "zz-10 rw-p 0 00:00 0",
            "7f00-7f10",
            "",
        ] {
            assert_eq!(range(other), None, "{other}");
        }
    }
}
