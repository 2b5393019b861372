//! Parses numbers as the kernel does: `kstrtoul` and `kstrtoint` (lib/kstrtox.c). It knows nothing
//! of resctrl.

/// A whole number as `kstrtoul` takes it: an optional `+`, digits of the base (`0x` before
/// hexadecimal), one line break at the end. Base 0 recognises 16, 8 and 10 by their prefix.
#[must_use]
pub fn unsigned(text: &str, base: u32) -> Option<u64> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_prefix('+').unwrap_or(text);
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, base) = match (base, hexadecimal) {
        (0 | 16, Some(digits)) => (digits, 16),
        (0, None) if text.len() > 1 && text.starts_with('0') => (text, 8),
        (0, None) => (text, 10),
        (base, _) => (text, base),
    };
    // The standard library would accept a further sign here; the kernel accepts only one.
    let plain = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    plain.then(|| u64::from_str_radix(digits, base).ok()).flatten()
}

/// A signed whole number as `kstrtoint` takes it.
#[must_use]
pub fn signed(text: &str, base: u32) -> Option<i32> {
    match text.strip_prefix('-') {
        Some(rest) if !rest.starts_with('+') => i32::try_from(-i128::from(unsigned(rest, base)?)).ok(),
        Some(_) => None,
        None => i32::try_from(unsigned(text, base)?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_kstrtoul_does() {
        for (text, base, value) in [
            ("7f", 16, Some(0x7f)),
            ("0x7F", 16, Some(0x7f)),
            ("+7f\n", 16, Some(0x7f)),
            ("7g", 16, None),
            ("", 16, None),
            ("0x", 16, None),
            (" 1", 10, None),
            ("1 ", 10, None),
            ("-1", 10, None),
            ("++1", 10, None),
            ("10", 0, Some(10)),
            ("010", 0, Some(8)),
            ("0x10", 0, Some(16)),
            ("ffffffffffffffff", 16, Some(u64::MAX)),
            ("10000000000000000", 16, None),
        ] {
            assert_eq!(unsigned(text, base), value, "{text:?} in base {base}");
        }
        assert_eq!((signed("-3", 0), signed("2147483648", 0), signed("12", 0)), (Some(-3), None, Some(12)));
        assert_eq!((signed("--3", 0), signed("-+3", 0), signed("-", 0)), (None, None, None));
    }
}
