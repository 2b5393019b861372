//! Makes text from outside fit for one line of a message. This file knows which characters a
//! terminal would act on. It does not know what the text means.

use crate::num;
use std::borrow::Cow;

/// The text with control characters escaped (`\n`, `\u{1b}`), so that a message stays on its line
/// and no file or document can steer the reader's terminal. Everything else is left as it is.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// The text with every character that could break a log line or a terminal written as an escape:
/// control characters (C0, DEL, C1), line and paragraph separators, and the invisible and
/// bidirectional format characters (Unicode technical report 36, section 3; "Trojan Source").
/// Harmless text is returned unchanged.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            c if is_dangerous(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Whether a character could break a log line or a terminal, or change the order in which text is
/// read ([`plain`]).
#[must_use]
pub fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A gain as a fraction of a speed, in per cent: `+12.3 %`.
#[must_use]
pub fn signed_percent(part: f64) -> String {
    let tenths = num::round(part.abs() * 1000.0);
    let sign = if part < 0.0 && tenths > 0 { '-' } else { '+' };
    format!("{sign}{}.{} %", tenths / 10, tenths % 10)
}

/// Ascending numbers as a list of ranges, as the kernel writes it: `0-3,8`.
#[must_use]
pub fn ranges(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match found.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(number) => *end = number,
            _ => found.push((number, number)),
        }
    }
    let text = |(start, end): &(u32, u32)| if start == end { start.to_string() } else { format!("{start}-{end}") };
    found.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Words after a head, on as many lines of `width` columns as needed, with `between` after each
/// word but the last. Continued lines begin below the first word.
#[must_use]
pub fn hanging(head: &str, words: &[&str], between: &str, width: usize) -> String {
    let (mut text, mut line) = (String::new(), head.to_owned());
    for (index, word) in words.iter().enumerate() {
        let tail = if index + 1 < words.len() { between.trim_end() } else { "" };
        if index > 0 && line.chars().count() + 1 + word.chars().count() + tail.len() > width {
            text.extend([line.trim_end(), "\n"]);
            line = " ".repeat(head.chars().count());
        } else if index > 0 {
            line.push(' ');
        }
        line.extend([*word, tail]);
    }
    text.extend([line.trim_end(), "\n"]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_are_escaped_and_nothing_else() {
        assert_eq!(one_line("a\nb\u{1b}[2J\t\u{9b}"), "a\\nb\\u{1b}[2J\\t\\u{9b}");
        assert_eq!(one_line("`0-3` — \"è\" \\"), "`0-3` — \"è\" \\");
    }

    proptest! {
        #[test]
        fn any_text_fits_one_line(text in any::<String>()) {
            prop_assert!(!one_line(&text).contains(char::is_control));
        }
    }
}
