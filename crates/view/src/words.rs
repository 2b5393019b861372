//! Figures and names as short text, in the same form wherever they are shown.

use isobar_model::text::plain;
use isobar_model::{Bytes, Pages, num};

/// Maximum length of a name in a sentence, in characters.
const NAME: usize = 32;

/// A process's name, made safe to display and short enough for a sentence.
#[must_use]
pub fn name(raw: &str) -> String {
    cut(&plain(cut(raw, NAME).as_str()), NAME)
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// `93 %`.
#[must_use]
pub fn percent(part: f64) -> String {
    format!("{} %", num::round(part.max(0.0) * 100.0))
}

/// `+12 %`, `-3.4 %`.
#[must_use]
pub fn gain(part: f64) -> String {
    let percent = part * 100.0;
    if percent.abs() < 9.95 { format!("{percent:+.1} %") } else { format!("{percent:+.0} %") }
}

/// `1.41x`.
#[must_use]
pub fn times(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.2}x") } else { format!("{factor:.0}x") }
}

/// Bytes per second: `10.8 GB/s`, `310 MB/s`.
#[must_use]
pub fn rate(bytes: f64) -> String {
    if bytes >= 0.995e9 {
        format!("{} GB/s", digits(bytes / 1e9))
    } else {
        format!("{} MB/s", num::round(bytes.max(0.0) / 1e6))
    }
}

/// A figure with three digits: `0.12`, `1.23`, `12.3`, `123`.
#[must_use]
pub fn digits(figure: f64) -> String {
    let size = figure.abs();
    if size < 9.995 {
        format!("{figure:.2}")
    } else if size < 99.95 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.0}")
    }
}

/// `4096 pages (16 MiB)`.
#[must_use]
pub fn pages(count: Pages) -> String {
    format!("{count} pages ({})", Bytes(count.0.saturating_mul(4096)).human())
}

/// `1 thread`, `2 threads`.
#[must_use]
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The sentence with a full stop; an empty text stays empty.
#[must_use]
pub fn stopped(mut text: String) -> String {
    if !text.is_empty() {
        text.push('.');
    }
    text
}

/// The sentence with a capital letter and a full stop.
#[must_use]
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_mean_something() {
        assert_eq!((percent(0.934), percent(0.0)), ("93 %".into(), "0 %".into()));
        assert_eq!((gain(0.123), gain(-0.034), gain(0.0994)), ("+12 %".into(), "-3.4 %".into(), "+9.9 %".into()));
        assert_eq!((times(1.409), times(12.4)), ("1.41x".into(), "12x".into()));
        assert_eq!(
            (rate(10.84e9), rate(3.1e8), rate(9.96e8)),
            ("10.8 GB/s".into(), "310 MB/s".into(), "1.00 GB/s".into())
        );
        assert_eq!(pages(Pages(4096)), "4096 pages (16 MiB)");
        assert_eq!(digits(9.996), "10.0");
        assert_eq!(sentence("node 1 is full"), "Node 1 is full.");
    }

    #[test]
    fn a_hostile_name_is_harmless_and_short() {
        let message = name(&format!("a\u{1b}[2J\u{202e}{}", "x".repeat(4096)));
        assert!(message.starts_with("a\\u{1b}[2J\\u{202e}xxx") && message.ends_with('…'), "{message}");
        assert_eq!(message.chars().count(), 32);
    }
}
