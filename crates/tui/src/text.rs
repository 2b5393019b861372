//! Text in terminal columns: its width, cutting, wrapping. All text from outside goes through
//! [`short`] or [`plain`] before it is drawn.

pub use isobar_model::text::plain;

use unicode_width::UnicodeWidthStr;

/// Number of columns that [`plain`] text takes on a terminal: Chinese characters and emoji take
/// two, combining characters none.
#[must_use]
pub fn width(plain: &str) -> usize {
    plain.width()
}

/// At most `most` columns of [`plain`] text; a cut is shown as `…`.
#[must_use]
pub fn short(text: &str, most: usize) -> String {
    let safe = plain(text);
    if width(&safe) <= most {
        return safe.into_owned();
    }
    let Some(room) = most.checked_sub(1) else { return String::new() };
    let ends = safe.char_indices().map(|(start, c)| start + c.len_utf8());
    let end = ends.take_while(|end| width(&safe[..*end]) <= room).last().unwrap_or(0);
    format!("{}…", &safe[..end])
}

/// [`plain`] text in lines of at most `columns`, broken between words; a longer word is cut. At
/// most `lines` lines; left-out text is shown as `…`.
#[must_use]
pub fn wrapped(text: &str, columns: usize, lines: usize) -> Vec<String> {
    let safe = plain(text);
    let mut done: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in safe.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() && width(&line) + 1 + width(word) > columns {
            done.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    done.push(line);
    let more = done.len() > lines;
    done.truncate(lines);
    if let Some(last) = done.last_mut().filter(|_| more) {
        *last = short(&format!("{last} …"), columns.max(1));
        if !last.ends_with('…') {
            last.push('…');
        }
    }
    done.iter().map(|line| short(line, columns)).collect()
}

/// The text aligned left in `columns` columns, cut if it is wider.
#[must_use]
pub fn left(text: &str, columns: usize) -> String {
    let text = short(text, columns);
    let spaces = columns.saturating_sub(width(&text));
    text + &" ".repeat(spaces)
}

/// The same, aligned right.
#[must_use]
pub fn right(text: &str, columns: usize) -> String {
    let text = short(text, columns);
    " ".repeat(columns.saturating_sub(width(&text))) + &text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_wrapped_and_what_is_left_out_is_marked() {
        assert_eq!(wrapped("one two three", 7, 9), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 7, 1), ["one tw…"]);
        assert_eq!(wrapped("a\u{1b}b", 9, 9), ["a\\u{1b}b"]);
        assert_eq!((left("ab", 4), right("ab", 4), left("abc", 2)), ("ab  ".into(), "  ab".into(), "a…".into()));
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_it_may_be(text in any::<String>(), columns in 1usize..40, lines in 1usize..5) {
            let wrapped = wrapped(&text, columns, lines);
            prop_assert!(wrapped.len() <= lines);
            prop_assert!(wrapped.iter().all(|line| width(line) <= columns), "{:?}", wrapped);
            prop_assert_eq!(width(&left(&text, columns)), columns);
        }
    }
}
