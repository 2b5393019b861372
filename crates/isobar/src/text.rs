//! Text for terminals and logs. It knows which characters can break a line, move a cursor or
//! reorder what is read, and writes them as escapes, because a process can give itself any name.

pub use isobar_model::text::{plain, signed_percent};
pub use isobar_tui::text::{short, width};

use isobar_model::text::is_dangerous;
use std::borrow::Cow;
use std::fmt::Write;

/// The text padded with spaces to a number of columns. With `to_the_left` the spaces follow the
/// text, otherwise they precede it.
pub fn padded(text: &str, columns: usize, to_the_left: bool) -> String {
    let spaces = " ".repeat(columns.saturating_sub(width(text)));
    if to_the_left { format!("{text}{spaces}") } else { format!("{spaces}{text}") }
}

/// Columns separated by two spaces, each as wide as its widest cell. The columns in `left` are
/// aligned at the left, the others at the right.
pub fn aligned(rows: &[Vec<String>], left: &[usize]) -> Vec<String> {
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(widest).collect();
    let cell = |(column, (text, width)): (usize, (&String, &usize))| padded(text, *width, left.contains(&column));
    let cells = |row: &Vec<String>| row.iter().zip(&widths).enumerate().map(cell).collect::<Vec<_>>();
    rows.iter().map(|row| cells(row).join("  ").trim_end().to_owned()).collect()
}

/// The first `most` names, and how many more there are.
pub fn some_of(names: &[String], most: usize) -> String {
    let (named, more) = names.split_at(names.len().min(most));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    named.join(", ") + &more
}

/// A longer word is not the name of a file (`NAME_MAX`), and nothing that a reader would want to
/// read whole.
const LONG_WORD: usize = 255;

/// A longer message quotes something that is not worth reading whole.
const LONG_MESSAGE: usize = 2000;

/// Shortens the parts of a message that are too long. Words (which include the parts of paths) keep
/// their ends. The message itself keeps its head, which says where the fault is, and its tail,
/// which says what would be right.
pub fn brief(message: &str) -> Cow<'_, str> {
    let between = |c: char| c.is_whitespace() || c == '/';
    if message.len() <= LONG_MESSAGE && message.split(between).all(|word| word.len() <= LONG_WORD) {
        return Cow::Borrowed(message);
    }
    let words = message.split_inclusive(between).map(|word| ends(word, LONG_WORD, 60));
    Cow::Owned(ends(&words.collect::<String>(), LONG_MESSAGE, 900).into_owned())
}

/// The first and the last `kept` characters of a text of more than `most`.
fn ends(text: &str, most: usize, kept: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= most {
        return Cow::Borrowed(text);
    }
    let head: String = text.chars().take(kept).collect();
    let tail: String = text.chars().skip(count - kept).collect();
    Cow::Owned(format!("{head}… ({} characters left out) …{tail}", count - 2 * kept))
}

/// A JSON document as one line of text. serde leaves C1 controls and bidirectional characters as
/// they are. Inside a JSON string, their `\u` escapes mean the same and do no harm.
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
pub fn plural(count: impl TryInto<u64>, noun: &str) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}{}", if noun.ends_with("ss") { "es" } else { "s" }),
    }
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
    fn long_names_are_cut_by_columns() {
        assert_eq!(short("größer", 4), "grö…");
        assert_eq!(short("ab", 4), "ab");
        assert_eq!(short("测试数据库", 10), "测试数据库");
        assert_eq!(short("测试数据库", 9), "测试数据…");
        assert_eq!(short("测试数据库", 8), "测试数…", "half a character is none");
        assert_eq!(short("🦀🦀🦀", 5), "🦀🦀…");
        assert_eq!(short("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!((short("ab", 1), short("ab", 0)), ("…".to_owned(), String::new()));
    }

    #[test]
    fn padding_counts_columns() {
        assert_eq!(padded("测试", 6, true), "测试  ");
        assert_eq!(padded("🦀", 3, false), " 🦀");
        assert_eq!(padded("abc", 2, true), "abc");
    }

    #[test]
    fn what_is_long_is_shortened_and_what_is_not_stays() {
        let path = format!("/{}/{}: no such file", "a".repeat(255), "b".repeat(200));
        assert!(matches!(brief(&path), Cow::Borrowed(_)));
        let name = "x".repeat(1 << 20);
        let refusal = brief(&format!("unknown policy `{name}`: expected one of a, b")).into_owned();
        assert!(
            refusal.starts_with("unknown policy `xxx") && refusal.ends_with("xxx`: expected one of a, b"),
            "{refusal}"
        );
        assert!(refusal.contains("… (1048460 characters left out) …") && refusal.len() < 300, "{refusal}");
        let many = format!("w.toml:3: `{}` is wrong: expected a number", "ü ".repeat(1 << 19));
        let refusal = brief(&many).into_owned();
        assert!(refusal.starts_with("w.toml:3: `ü ü") && refusal.ends_with("is wrong: expected a number"), "{refusal}");
        assert!(refusal.chars().count() <= 1900, "{refusal}");
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_it_may_be(text in any::<String>(), most in 0usize..40) {
            prop_assert!(width(&short(&text, most)) <= most);
        }

        #[test]
        fn any_text_becomes_harmless_and_stays_so(text in any::<String>()) {
            let once = plain(&text).into_owned();
            prop_assert!(!once.contains(is_dangerous));
            prop_assert_eq!(plain(&once).into_owned(), once);
        }
    }
}
