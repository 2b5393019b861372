//! Bytes as text.

/// The longest text at the beginning of these bytes.
pub fn of(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_else(|error| str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default())
}

/// The beginning of a text, of no more than this many bytes.
pub fn first(text: &str, most: usize) -> &str {
    of(&text.as_bytes()[..text.len().min(most)])
}

#[cfg(test)]
mod tests {
    use super::{first, of};

    #[test]
    fn text_ends_before_what_is_none() {
        assert_eq!([of(b"abc"), of(b"ab\xffc"), of(b"\xff"), of("a\u{e9}".as_bytes())], ["abc", "ab", "", "a\u{e9}"]);
        assert_eq!([first("a\u{e9}b", 2), first("a\u{e9}b", 3), first("ab", 9)], ["a", "a\u{e9}", "ab"]);
    }
}
