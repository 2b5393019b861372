//! systemd's escapes in the names of units (systemd.unit(5), "String Escaping"): a byte as `\xHH`.

/// Replaces each `\xHH` by the byte that it stands for. Invalid escapes are left as they are.
pub fn unescape(text: &str) -> String {
    if !text.contains("\\x") {
        return text.to_owned();
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        let escaped = rest.strip_prefix("\\x").and_then(|rest| rest.get(..2));
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.extend(c.to_string().as_bytes());
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        assert_eq!(unescape(r"qemu\x2d1\x2dweb"), "qemu-1-web");
        assert_eq!(unescape(r"f\xc3\xbcr"), "für");
        for text in [r"a\x", r"a\x2", r"a\xzz", r"\xff", "ä\\xé", "\\x+1"] {
            assert!(unescape(text).len() <= text.len() + 1, "{text}");
        }
        assert_eq!([unescape(r"a\xzz"), unescape(r"\xff")], [r"a\xzz", r"\xff"]);
    }
}
