//! Numbers and CPU sets as the kernel reads and writes them: `kstrtoul` (lib/kstrtox.c),
//! `cpumask_parse`, `cpulist_parse` and `%*pb[l]` (lib/bitmap-str.c, lib/vsprintf.c). Text in,
//! values out; nothing of resctrl.

use std::collections::BTreeSet;
use std::fmt::Write;

use rustix::io::Errno;

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
    // The standard library would take a sign here, the kernel takes only one.
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

/// The CPUs of a list such as `0-3,8`.
///
/// # Errors
/// `EINVAL` for what is no list, `ERANGE` for a CPU that cannot be.
pub fn cpu_list(text: &str, possible: u32) -> Result<BTreeSet<u32>, Errno> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| unsigned(text, 10).ok_or(Errno::INVAL);
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(Errno::INVAL);
        }
        if last >= u64::from(possible) {
            return Err(Errno::RANGE);
        }
        cpus.extend((first..=last).filter_map(|cpu| u32::try_from(cpu).ok()));
    }
    Ok(cpus)
}

/// The CPUs of a mask such as `ff` or `1,00000000`: hexadecimal words of 32 bits, the most
/// significant first.
///
/// # Errors
/// `EINVAL` for what is no mask, `EOVERFLOW` for a CPU that cannot be.
pub fn cpu_mask(text: &str, possible: u32) -> Result<BTreeSet<u32>, Errno> {
    let mut cpus = BTreeSet::new();
    let words: Vec<&str> = text.trim().split(',').collect();
    for (index, word) in (0u32..).zip(words.iter().rev()) {
        if word.is_empty() || word.len() > 8 || !word.chars().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(Errno::INVAL);
        }
        let bits = u32::from_str_radix(word, 16).map_err(|_| Errno::INVAL)?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| index * 32 + bit));
    }
    if cpus.last().is_some_and(|last| *last >= possible) { Err(Errno::OVERFLOW) } else { Ok(cpus) }
}

/// The CPUs as `%*pbl` prints them.
#[must_use]
pub fn show_cpu_list(cpus: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let show = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(show).collect::<Vec<_>>().join(",")
}

/// The CPUs as `%*pb` prints them: every possible CPU has its place, so the width is fixed.
#[must_use]
pub fn show_cpu_mask(cpus: &BTreeSet<u32>, possible: u32) -> String {
    let words = possible.max(1).div_ceil(32);
    let mut text = String::new();
    for word in (0..words).rev() {
        let bits = if word + 1 == words && !possible.is_multiple_of(32) { possible % 32 } else { 32 };
        let width = usize::try_from(bits.div_ceil(4)).unwrap_or(8);
        let value = (0..32).filter(|bit| cpus.contains(&(word * 32 + bit))).fold(0u32, |value, bit| value | 1 << bit);
        let comma = if word + 1 == words { "" } else { "," };
        // Writing into a string cannot fail.
        let _ = write!(text, "{comma}{value:0width$x}");
    }
    text
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

    #[test]
    fn cpu_sets_are_read_and_written() {
        let set = |cpus: &[u32]| cpus.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(cpu_list("0-2,5\n", 8), Ok(set(&[0, 1, 2, 5])));
        assert_eq!(cpu_list("", 8), Ok(set(&[])));
        assert_eq!((cpu_list("3-1", 8), cpu_list("x", 8)), (Err(Errno::INVAL), Err(Errno::INVAL)));
        assert_eq!(cpu_list("9", 8), Err(Errno::RANGE));
        assert_eq!(cpu_mask("1,00000003", 40), Ok(set(&[0, 1, 32])));
        assert_eq!(
            (cpu_mask("zz", 8), cpu_mask("", 8), cpu_mask("100", 8)),
            (Err(Errno::INVAL), Err(Errno::INVAL), Err(Errno::OVERFLOW))
        );
        assert_eq!(show_cpu_list(&set(&[0, 1, 2, 5, 7, 8])), "0-2,5,7-8");
        assert_eq!(show_cpu_list(&set(&[])), "");
        assert_eq!(show_cpu_mask(&set(&[0, 1, 32]), 34), "1,00000003");
        assert_eq!(show_cpu_mask(&set(&[0, 7]), 8), "81");
        assert_eq!(show_cpu_mask(&set(&[]), 6), "00");
    }
}
