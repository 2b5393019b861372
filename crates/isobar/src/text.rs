//! Text for terminals and logs. It knows which characters can break a line, move a cursor or reorder what is read, and
//! writes them as escapes; a process may call itself anything.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with every character that could break a log line or a terminal written as an escape: control characters
/// (C0, DEL, C1), line and paragraph separators, and the invisible and bidirectional format characters
/// (Unicode technical report 36, section 3; "Trojan Source"). Harmless text comes back as it is.
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

/// At most `width` characters of [`plain`] text; what is cut off shows as `…`.
pub fn short(text: &str, width: usize) -> String {
    let safe = plain(text);
    if safe.chars().count() <= width {
        return safe.into_owned();
    }
    safe.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A JSON document as one line of text. serde leaves C1 controls and bidirectional characters as they are; inside a JSON
/// string their `\u` escapes mean the same and harm nobody.
pub fn json_line(document: &serde_json::Value) -> String {
    let text = document.to_string();
    if !text.contains(is_dangerous) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_dangerous(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing into a String cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// `1 node`, `2 nodes`.
pub fn plural(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}{}", if noun.ends_with("ss") { "es" } else { "s" }),
    }
}

fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_cannot_break_a_line_or_a_terminal() {
        assert_eq!(plain("a\nb\u{1b}[2J"), "a\\nb\\u{1b}[2J");
        assert_eq!(plain("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(plain("\u{202e}txt.exe\u{2069}"), "\\u{202e}txt.exe\\u{2069}");
        assert!(matches!(plain("mysqld / größe 测试"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_keeps_the_name_and_loses_the_danger() {
        let name = "a\u{9b}\u{202e}\u{e0041}\n";
        let line = json_line(&serde_json::json!({ "name": name }));
        assert!(!line.contains(is_dangerous), "{line}");
        let back: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(back["name"], name);
    }

    #[test]
    fn long_names_are_cut_by_characters() {
        assert_eq!(short("größer", 4), "grö…");
        assert_eq!(short("ab", 4), "ab");
    }

    proptest! {
        #[test]
        fn any_text_becomes_harmless_and_stays_so(text in any::<String>()) {
            let once = plain(&text).into_owned();
            prop_assert!(!once.contains(is_dangerous));
            prop_assert_eq!(plain(&once).into_owned(), once);
        }
    }
}
