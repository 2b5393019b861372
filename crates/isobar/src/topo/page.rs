//! Breaks words into lines of a given width. It knows columns, and nothing of machines.

use crate::text::width;
use unicode_width::UnicodeWidthChar;

/// Words in lines. The first line has at most `first` columns, later lines at most `rest`. A word
/// that is wider than a line is cut.
pub(super) fn wrap(words: &[String], first: usize, rest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.iter().flat_map(|word| pieces(word, rest.min(first))) {
        let room = if lines.len() <= 1 { first } else { rest };
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word.trim_end()) <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// A sentence in lines of at most `columns`; all lines after the first are indented.
pub(super) fn paragraph(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let start = text.len() - text.trim_start().len();
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let lines = wrap(&words, columns.saturating_sub(start), columns.saturating_sub(indent));
    let left = |number: usize| " ".repeat(if number == 0 { start } else { indent });
    lines.iter().enumerate().map(|(number, line)| left(number) + line).collect()
}

/// A word in parts of at most `columns`.
fn pieces(word: &str, columns: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut used = 0;
    // Blanks after a word may extend beyond the edge, where they are cut off.
    let (body, tail) = word.split_at(word.trim_end().len());
    for character in body.chars() {
        let wide = character.width().unwrap_or(0);
        if used > 0 && used + wide > columns {
            parts.push(String::new());
            used = 0;
        }
        used += wide;
        parts.last_mut().into_iter().for_each(|part| part.push(character));
    }
    parts.last_mut().into_iter().for_each(|part| part.push_str(tail));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, first: usize, rest: usize) -> Vec<String> {
        wrap(&text.split(' ').map(str::to_owned).collect::<Vec<_>>(), first, rest)
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(wrapped("one two three four", 9, 5), ["one two", "three", "four"]);
        assert_eq!(wrapped("abcdefghij k", 4, 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrapped("", 4, 4), [""]);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(wrapped("测试 测试", 8, 8), ["测试", "测试"]);
        assert_eq!(wrapped("测试测试", 5, 5), ["测试", "测试"]);
    }

    #[test]
    fn a_paragraph_keeps_its_own_indent() {
        assert_eq!(paragraph("  a b c d", 5, 3), ["  a b", "   c", "   d"].map(str::to_owned));
        assert_eq!(paragraph("  a b c d", 6, 3), ["  a b", "   c d"].map(str::to_owned));
    }
}
