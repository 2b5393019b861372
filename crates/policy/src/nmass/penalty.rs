//! The NUMA penalty of a program: CPI remote / CPI local, at least 1 (equation 1). It is taken from
//! a profile if there is one, and otherwise estimated from the miss rate by the linear model of
//! section 4.5: "if the NUMA penalty cannot be obtained directly, the MPKI offers a reasonable
//! approximation".
//!
//! *Departure from the paper*: the text swaps the model's two numbers ("slope intercept and slope
//! are 0.015 and 1.05"). With the two exchanged, the line fits figure 7 (docs/design/n-mass.md).

use crate::kit::pairs::{means, pairs, wrong};
use isobar_model::text::one_line;
use isobar_model::{Mpki, Process};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// A NUMA penalty and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penalty {
    /// CPI remote / CPI local, at least 1.
    pub value: f64,
    /// Whether it was measured rather than estimated.
    pub measured: bool,
}

/// `np = intercept + slope * mpki`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regression {
    /// The penalty without misses.
    pub intercept: f64,
    /// Its growth with each MPKI.
    pub slope: f64,
}

/// The numbers of section 4.5 (docs/design/n-mass.md).
pub const PAPER: Regression = Regression { intercept: 1.05, slope: 0.015 };

impl Regression {
    /// The estimate for a miss rate.
    #[must_use]
    pub fn of(self, rate: Mpki) -> Penalty {
        Penalty { value: (self.intercept + self.slope * rate.0).max(1.0), measured: false }
    }
}

/// Measured penalties by the name or pid of a process. They are written as a table, or as text:
/// `"soplex=1.3 mcf=1.46"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Penalties(BTreeMap<String, f64>);

impl Penalties {
    /// The penalty of a process: from the observation, or else from this table; `None` if neither
    /// has it.
    #[must_use]
    pub fn of(&self, process: &Process) -> Option<Penalty> {
        let known = || self.0.iter().find(|(name, _)| means(name, process)).map(|(_, penalty)| *penalty);
        let value = process.numa_penalty.or_else(known)?;
        Some(Penalty { value: value.max(1.0), measured: true })
    }

    /// These penalties, with those of `others` for names that they lack.
    #[must_use]
    pub fn or(mut self, others: &Self) -> Self {
        for (name, penalty) in &others.0 {
            self.0.entry(name.clone()).or_insert(*penalty);
        }
        self
    }

    fn insert(&mut self, name: &str, value: f64) -> Result<(), String> {
        let entry = format!("{name}={value}");
        if !(value.is_finite() && value >= 1.0) {
            return Err(wrong(&entry, "a NUMA penalty (CPI remote / CPI local) of 1 or more"));
        }
        match self.0.insert(name.to_owned(), value) {
            Some(_) => Err(wrong(&entry, &format!("one penalty for {}", one_line(name)))),
            None => Ok(()),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut penalties = Self::default();
        for (name, value) in pairs(text, "soplex=1.3")? {
            let number = value.parse().map_err(|_| wrong(&format!("{name}={value}"), "a number, as in soplex=1.3"))?;
            penalties.insert(name, number)?;
        }
        Ok(penalties)
    }
}

/// The setting `profile`: the name of a file of penalties. A policy reads no files: the code that
/// makes the policy replaces the name by the file's penalties, and a name that was not replaced is
/// refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile(pub Penalties);

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == Penalties::default() { serializer.serialize_str("") } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Content)
    }
}

/// Reads the penalties of a file, or an empty name for no file.
struct Content;

impl<'de> Visitor<'de> for Content {
    type Value = Profile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a file, such as \"penalties.toml\"")
    }

    fn visit_str<E: Error>(self, file: &str) -> Result<Profile, E> {
        let refused = || E::custom(wrong(file, "no file name, because no file is read here: set `penalties`"));
        file.is_empty().then(Profile::default).ok_or_else(refused)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Profile, A::Error> {
        Either.visit_map(map).map(Profile)
    }
}

impl<'de> Deserialize<'de> for Penalties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

/// Reads penalties as text or as a table.
struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Penalties;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("penalties as \"soplex=1.3 mcf=1.46\" or as a table of numbers by name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Penalties, E> {
        Penalties::parse(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Penalties, A::Error> {
        let mut penalties = Penalties::default();
        while let Some((name, value)) = map.next_entry::<String, f64>()? {
            penalties.insert(&name, value).map_err(A::Error::custom)?;
        }
        Ok(penalties)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nmass::test_kit::observation;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Penalties, String> {
        let table: toml::Table = toml::from_str(text).unwrap();
        Penalties::deserialize(table["p"].clone()).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn text_and_table_mean_the_same() {
        let text = read(r#"p = "soplex=1.3 mcf=2""#).unwrap();
        assert_eq!(text, read("p = {soplex = 1.3, mcf = 2}").unwrap());
        assert_eq!(read(&format!("p = {}", toml::Value::try_from(&text).unwrap())).unwrap(), text);
        assert_eq!(read("p = \"\"").unwrap(), Penalties::default());
    }

    #[test]
    fn a_profile_is_a_file_s_penalties_or_nothing() {
        let read = |text: &str| Profile::deserialize(toml::from_str::<toml::Table>(text).unwrap()["p"].clone());
        assert_eq!(read("p = \"\"").unwrap(), Profile::default());
        assert_eq!(toml::Value::try_from(Profile::default()).unwrap().as_str(), Some(""));
        let profile = read("p = {a = 1.5, b = 2}").unwrap();
        assert_eq!(read(&format!("p = {}", toml::Value::try_from(&profile).unwrap())).unwrap(), profile);
        let refused = read("p = \"x.toml\"").unwrap_err().message().to_owned();
        assert!(refused.starts_with("`x.toml` is impossible: expected no file name"), "{refused}");
        let inline = Penalties::parse("b=3 c=4").unwrap();
        assert_eq!(inline.or(&profile.0), Penalties::parse("a=1.5 b=3 c=4").unwrap(), "what is set by hand wins");
    }

    #[test]
    fn bad_penalties_are_named() {
        let cases = [
            ("p = \"soplex\"", "`soplex` is impossible: expected NAME=VALUE, such as soplex=1.3"),
            ("p = \"soplex=x\"", "`soplex=x` is impossible: expected a number, as in soplex=1.3"),
            ("p = \"a=0.5\"", "`a=0.5` is impossible: expected a NUMA penalty (CPI remote / CPI local) of 1 or more"),
            ("p = \"a=2 a=3\"", "`a=3` is impossible: expected one penalty for a"),
            ("p = {a = nan}", "`a=NaN` is impossible: expected a NUMA penalty (CPI remote / CPI local) of 1 or more"),
            ("p = {a = \"b\"}", "invalid type: string \"b\", expected f64"),
        ];
        for (text, message) in cases {
            assert_eq!(read(text).unwrap_err(), message);
        }
        assert!(read("p = 1.3").unwrap_err().contains("expected penalties as \"soplex=1.3"));
    }

    #[test]
    fn the_observation_goes_before_the_table() {
        let penalties = read("p = \"p1=1.5 2=1.2\"").unwrap();
        let seen = observation(
            "node:1 core:4",
            &[
                (1, 0, 5.0, Some(1.1), &[1]),
                (2, 0, 5.0, None, &[1]),
                (3, 0, 5.0, None, &[1]),
                (4, 0, 5.0, Some(0.9), &[1]),
            ],
        );
        let found: Vec<_> = seen.processes.iter().map(|process| penalties.of(process).map(|it| it.value)).collect();
        assert_eq!(found, [Some(1.1), Some(1.2), None, Some(1.0)]);
    }

    #[test]
    fn the_estimate_is_the_paper_s() {
        assert_eq!(PAPER.of(Mpki(0.0)).value, 1.05);
        assert!((PAPER.of(Mpki(20.0)).value - 1.35).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_in_one_line(text in any::<String>(), near in "[ab=.0-9 e-]{0,24}") {
            for text in [&text, &near] {
                if let Err(message) = Penalties::parse(text) {
                    prop_assert!(!message.contains(char::is_control));
                }
            }
        }
    }
}
