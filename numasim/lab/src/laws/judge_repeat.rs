//! Law 10: a boot that is repeated reports the same. Every figure that the programs and the page
//! reported is compared with that of the second boot.

use super::reading::Readings;
use super::row::{Bound, Row};
use numasim_model::num::float_len;
use serde_json::Value;
use std::collections::BTreeMap;

/// One row: the largest relative difference between two boots, which must be 0. Nothing that a
/// guest sees depends on the host: see docs/design/numasim.md.
#[must_use]
pub fn repeatability(first: &Readings, second: &Readings) -> Row {
    let what = "two boots: largest relative difference of a figure";
    if first.raw.is_empty() || second.raw.is_empty() {
        return Row::fails("repeatability", what, "a boot reported nothing");
    }
    let (first, second) = (by_place(first), by_place(second));
    let held = |places: &[(String, &Value)], name: &str| places.iter().any(|(place, _)| place == name);
    let of_second: BTreeMap<&str, &Value> = second.iter().map(|(place, value)| (place.as_str(), *value)).collect();
    let mut all = Differences::default();
    for (place, one) in &first {
        all.compare(place, one, of_second.get(place.as_str()).copied().unwrap_or(&Value::Null));
    }
    second.iter().filter(|(place, _)| !held(&first, place)).for_each(|(place, _)| all.note(place, 0.0, 1.0));
    let row = Row::new("repeatability", what, "", Ok(0.0), Bound::AtMost, Ok(all.largest));
    let share = all.differ.len();
    let why = (share > 0).then(|| {
        let first = all.differ.first().map_or("", String::as_str);
        format!("{share} of {} figures differ, the first is {first}; the largest is {}", all.figures, all.at)
    });
    Row { why, ..row }
}

/// The readings as they were reported, by name, with a number if several have the same name.
fn by_place(readings: &Readings) -> Vec<(String, &Value)> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    let mut places = Vec::new();
    for (name, value) in &readings.raw {
        let number = count.entry(name).or_default();
        places.push((if *number == 0 { name.clone() } else { format!("{name}#{number}") }, value));
        *number += 1;
    }
    places
}

#[derive(Default)]
struct Differences {
    figures: usize,
    differ: Vec<String>,
    largest: f64,
    at: String,
}

impl Differences {
    fn compare(&mut self, path: &str, one: &Value, other: &Value) {
        match (one, other) {
            (Value::Object(one), Value::Object(two)) => {
                one.iter().for_each(|(key, value)| {
                    self.compare(&format!("{path}.{key}"), value, two.get(key).unwrap_or(&Value::Null));
                });
            }
            (Value::Array(one), Value::Array(two)) => {
                let at = |(at, value): (usize, &Value)| (format!("{path}[{at}]"), value.clone());
                let pairs: Vec<_> = one.iter().enumerate().map(at).zip(two).collect();
                pairs.iter().for_each(|((path, value), other)| self.compare(path, value, other));
                if one.len() != two.len() {
                    self.note(path, float_len(one.len()), float_len(two.len()));
                }
            }
            (one, other) => match (one.as_f64(), other.as_f64()) {
                (Some(a), Some(b)) => self.note(path, a, b),
                _ if one == other => {}
                _ => self.note(path, 0.0, f64::INFINITY),
            },
        }
    }

    fn note(&mut self, path: &str, one: f64, other: f64) {
        self.figures += 1;
        if one.to_bits() == other.to_bits() {
            return;
        }
        self.differ.push(path.to_owned());
        let difference = (one - other).abs() / one.abs().max(other.abs());
        // A figure that is not a number on one side differs altogether.
        let difference = if difference.is_finite() { difference } else { 1.0 };
        if difference >= self.largest {
            self.largest = difference;
            path.clone_into(&mut self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::row::Verdict;

    fn row(one: &str, other: &str) -> Row {
        repeatability(&Readings::parse(one), &Readings::parse(other))
    }

    /// 8 and 10 differ by a fifth of the larger one.
    #[test]
    fn the_largest_difference_is_found_and_named() {
        let one = "@line a {\"x\":100,\"list\":[1,8]}\n@end";
        assert_eq!(row(one, one).verdict, Verdict::Holds);
        let row = row(one, "@line a {\"x\":101,\"list\":[1,10]}\n@end");
        assert!((row.measured.unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(row.verdict, Verdict::Fails);
        assert_eq!(row.why.unwrap(), "2 of 3 figures differ, the first is a.x; the largest is a.list[1]");
    }

    #[test]
    fn boots_that_measured_different_things_fail() {
        let one = "@line a {\"x\":1}\n";
        assert_eq!(row(one, "").verdict, Verdict::Fails);
        assert_eq!(row("", "").verdict, Verdict::Fails);
        let twice = row(one, &one.repeat(2));
        assert_eq!((twice.measured, twice.verdict), (Some(1.0), Verdict::Fails), "one boot reported more");
        assert_eq!(row(one, "@line a {\"x\":null}\n").measured, Some(1.0));
        assert_eq!(row(one, "@line a {}\n").verdict, Verdict::Fails);
    }
}
