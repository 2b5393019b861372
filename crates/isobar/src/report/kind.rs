//! Decides when two texts are the same message: if they differ only in figures.
//! `2 threads left alone` and `1 thread left alone` are the same message; so are texts with lists
//! of numbers of any length.

/// A text without its figures: each number, and each list of numbers, becomes one `#`, and the noun
/// that is counted becomes singular.
pub fn kind(text: &str) -> String {
    let words = text.split(' ').map(without_figures);
    let mut kept: Vec<String> = Vec::new();
    for word in words {
        let last = kept.last().map(String::as_str);
        if last == Some("#,") && (word == "#" || word == "#,") {
            kept.pop();
        }
        let counted = kept.last().is_some_and(|last| last == "#");
        kept.push(if counted { singular(&word).to_owned() } else { word });
    }
    kept.join(" ")
}

/// A word with `#` for each number in it, decimals included. A digit after a letter is part of a
/// name (`worker1`).
fn without_figures(word: &str) -> String {
    let mut kept = String::with_capacity(word.len());
    let mut rest = word.chars().peekable();
    while let Some(c) = rest.next() {
        let inside = kept.ends_with('#') && c == '.' && rest.peek().is_some_and(char::is_ascii_digit);
        let named = kept.ends_with(|before: char| before.is_alphanumeric() || before == '_');
        if c.is_ascii_digit() && !named {
            if !kept.ends_with('#') {
                kept.push('#');
            }
        } else if !inside {
            kept.push(c);
        }
    }
    kept
}

/// `threads` becomes `thread`, `processes` becomes `process`; `process` stays.
fn singular(word: &str) -> &str {
    if word.ends_with("sses") {
        return word.strip_suffix("es").unwrap_or(word);
    }
    word.strip_suffix('s').filter(|stem| !stem.ends_with('s')).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_digits_are_different_names() {
        assert_eq!(kind("nope1=1: no process"), "nope1=#: no process");
        assert_ne!(kind("wkr12 is pinned"), kind("wkr13 is pinned"));
        assert_eq!(kind("12 threads, 3.5 s"), kind("7 threads, 0.25 s"));
    }

    #[test]
    fn figures_make_no_other_message() {
        for (one, other) in [
            ("1 thread left alone: not measured yet", "12 threads left alone: not measured yet"),
            ("1 process waits", "2 processes waits"),
            ("misses 12.5 per 1000", "misses 3 per 1000"),
            ("threads 3, 7, 9 and 4 more wait", "threads 11, 12 and 40 more wait"),
            ("numasim: stands still at 3", "numasim: stands still at 55"),
            ("page 7: gone", "page 123: gone"),
        ] {
            assert_eq!(kind(one), kind(other));
        }
    }

    #[test]
    fn other_words_do() {
        assert_ne!(kind("2 threads left alone: pinned"), kind("2 threads left alone: not measured yet"));
        assert_ne!(kind("mcf waits"), kind("lbm waits"));
        assert_eq!(kind("no figures, as it is"), "no figures, as it is");
        assert_eq!(kind(""), "");
    }
}
