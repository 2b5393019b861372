//! Bars of block characters, with a resolution of an eighth of a character.

use isobar_model::num;

/// From an eighth to a whole character.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// A bar of `part` of this many characters. Any part above zero shows, and the bar is never longer
/// than `characters`.
pub fn bar(part: f64, characters: usize) -> String {
    let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
    let (eighths, rest) = num::split(part * num::float_len(characters * EIGHTHS.len()));
    let eighths = if rest >= 0.5 || (eighths == 0 && part > 0.0) { eighths + 1 } else { eighths };
    let (whole, last) = (eighths / EIGHTHS.len(), eighths % EIGHTHS.len());
    let mut bar = "█".repeat(whole);
    bar.extend(last.checked_sub(1).map(|last| EIGHTHS[last]));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_an_eighth_fine_and_never_too_long() {
        assert_eq!([bar(0.0, 4), bar(0.5, 4), bar(1.0, 4), bar(7.0, 4)], ["", "██", "████", "████"]);
        assert_eq!([bar(0.625, 4), bar(0.0001, 4), bar(f64::NAN, 4)], ["██▌", "▏", ""]);
    }
}
