//! Formats numbers and names in reasons. A decision may write thousands of them, and the standard
//! formatting of floats costs more than the decision itself.

use isobar_model::num;
use isobar_model::text::one_line;
use std::fmt;

/// A number that is not negative, with one decimal: `12.3`.
#[derive(Clone, Copy, Debug)]
pub struct OneDecimal(pub f64);

impl fmt::Display for OneDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = num::round(self.0 * 10.0);
        write!(f, "{}.{}", tenths / 10, tenths % 10)
    }
}

/// A share as whole per cent, rounded; 0 of 0 is 0.
#[must_use]
pub fn whole_percent(part: u64, whole: u64) -> u64 {
    num::round(num::float(part) * 100.0 / num::float(whole.max(1)))
}

/// The first `shown` names, and the number of the others.
#[must_use]
pub fn listed(names: &[&str], shown: usize) -> String {
    let mut text = one_line(&names[..names.len().min(shown)].join(", "));
    if names.len() > shown {
        text.push_str(&format!(" and {} more", names.len() - shown));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_usual() {
        assert_eq!(
            [0.0, 0.04, 0.05, 9.96, 123.44].map(|x| OneDecimal(x).to_string()),
            ["0.0", "0.0", "0.1", "10.0", "123.4"]
        );
        assert_eq!((whole_percent(1, 3), whole_percent(0, 0), whole_percent(7, 7)), (33, 0, 100));
        assert_eq!(listed(&["a", "b", "c", "f\n", "g"], 3), "a, b, c and 2 more");
    }
}
