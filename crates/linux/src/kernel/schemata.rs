//! Represents the text of a `schemata` file as a value (`Documentation/filesystems/resctrl.rst`,
//! "Schemata files - general concepts"): for each resource a number for each of its domains, masks
//! in hexadecimal, bandwidths in decimal. Pure. This file knows how the text is written, but not
//! what a kernel would accept.

use isobar_model::text::one_line;
use std::collections::BTreeMap;
use std::fmt;

/// The resource of memory bandwidth.
pub const BANDWIDTH: &str = "MB";

/// The lines of a `schemata` file that isobar understands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schemata {
    lines: BTreeMap<String, BTreeMap<u32, u64>>,
}

/// A line that does not belong in a `schemata` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{line}`: expected lines such as `L3:0=7ff;1=7ff` or `MB:0=100`")]
pub struct SchemataError {
    /// the line, made fit for a message
    pub line: String,
}

impl Schemata {
    /// Reads the text. Lines of unknown resources, and those of a group that is not set up
    /// (`L3:uninitialized`), are skipped.
    ///
    /// # Errors
    /// [`SchemataError`] with the line that cannot be understood.
    pub fn parse(text: &str) -> Result<Self, SchemataError> {
        let mut schemata = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let wrong = || SchemataError { line: one_line(line) };
            let (resource, values) = line.trim().split_once(':').ok_or_else(wrong)?;
            let Some(radix) = radix(resource) else { continue };
            if values.trim() == "uninitialized" {
                continue;
            }
            let values = values.trim().trim_end_matches(';').split(';');
            let values = values.map(|value| domain(value, radix)).collect::<Option<BTreeMap<_, _>>>();
            schemata.lines.insert(resource.to_owned(), values.ok_or_else(wrong)?);
        }
        Ok(schemata)
    }

    /// The value of a resource in a domain.
    #[must_use]
    pub fn get(&self, resource: &str, domain: u32) -> Option<u64> {
        self.lines.get(resource)?.get(&domain).copied()
    }

    /// Sets the value of a resource in a domain.
    pub fn set(&mut self, resource: &str, domain: u32, value: u64) {
        self.lines.entry(resource.to_owned()).or_default().insert(domain, value);
    }

    /// The domains of a resource, ascending.
    pub fn domains(&self, resource: &str) -> impl Iterator<Item = u32> {
        self.lines.get(resource).into_iter().flat_map(|values| values.keys().copied())
    }

    /// Whether no value is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The values that are set here and differ in `standing`: what has to be written to turn
    /// `standing` into this.
    #[must_use]
    pub fn beyond(&self, standing: &Self) -> Self {
        let mut fresh = Self::default();
        for (resource, values) in &self.lines {
            let other = values.iter().filter(|(domain, value)| standing.get(resource, **domain) != Some(**value));
            other.for_each(|(domain, value)| fresh.set(resource, *domain, *value));
        }
        fresh
    }
}

impl fmt::Display for Schemata {
    /// Writes the text as the kernel accepts it: a line for each resource.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (resource, values) in &self.lines {
            write!(f, "{resource}:")?;
            for (place, (domain, value)) in values.iter().enumerate() {
                let gap = if place == 0 { "" } else { ";" };
                match radix(resource) {
                    Some(16) => write!(f, "{gap}{domain}={value:x}")?,
                    _ => write!(f, "{gap}{domain}={value}")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The base in which a resource's values are written: caches have masks, `MB` and `SMBA` have
/// rates.
fn radix(resource: &str) -> Option<u32> {
    match resource {
        "MB" | "SMBA" => Some(10),
        "L2" | "L3" | "L2CODE" | "L2DATA" | "L3CODE" | "L3DATA" => Some(16),
        _ => None,
    }
}

/// Reads a domain and its value. The kernel pads values to a column (`1=  16`).
fn domain(text: &str, radix: u32) -> Option<(u32, u64)> {
    let (domain, value) = text.split_once('=')?;
    let digits = value.trim();
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some((domain.trim().parse().ok()?, u64::from_str_radix(digits, radix).ok().filter(|_| plain)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn padded_lines_of_a_kernel_are_read() {
        let text = "    L3:0=7ff;1=7ff\n    MB:0=2048;1=  16\n";
        let schemata = Schemata::parse(text).unwrap();
        assert_eq!((schemata.get("L3", 1), schemata.get("MB", 1)), (Some(0x7ff), Some(16)));
        assert_eq!(schemata.get("L3", 2), None);
        assert_eq!(schemata.domains("L3").collect::<Vec<_>>(), [0, 1]);
        assert_eq!(schemata.to_string(), "L3:0=7ff;1=7ff\nMB:0=2048;1=16\n");
    }

    #[test]
    fn code_and_data_gaps_in_the_ids_and_empty_groups_are_ordinary() {
        let text = "L3DATA:0=fffff;4=fffff\nL3CODE:0=fffff;4=3c0;\nL2:uninitialized\nXYZ:0=??\n\n";
        let schemata = Schemata::parse(text).unwrap();
        assert_eq!(schemata.get("L3CODE", 4), Some(0x3c0));
        assert_eq!(schemata.domains("L2").count(), 0);
    }

    #[test]
    fn what_is_no_schemata_is_refused_with_its_line() {
        for wrong in ["L3", "L3:", "L3:0", "L3:0=", "L3:0=7fg", "L3:x=1", "MB:0=1f", "L3:0=+7", "L3:0=1;;1=1"] {
            let said = Schemata::parse(wrong).unwrap_err().to_string();
            assert!(said.contains(wrong) && said.contains("expected lines"), "{said}");
        }
    }

    #[test]
    fn only_differences_are_written() {
        let standing = Schemata::parse("L3:0=7ff;1=7ff\nMB:0=100;1=100\n").unwrap();
        let wanted = Schemata::parse("L3:0=3;1=7ff\nMB:0=100\n").unwrap();
        assert_eq!(wanted.beyond(&standing).to_string(), "L3:0=3\n");
        assert!(wanted.beyond(&wanted).is_empty());
    }

    proptest! {
        #[test]
        fn text_and_value_round_trip(
            masks in prop::collection::btree_map(0u32..300, any::<u64>(), 1..5),
            rates in prop::collection::btree_map(0u32..300, 0u64..5000, 1..5),
        ) {
            let mut schemata = Schemata::default();
            masks.iter().for_each(|(domain, mask)| schemata.set("L3", *domain, *mask));
            rates.iter().for_each(|(domain, rate)| schemata.set("MB", *domain, *rate));
            prop_assert_eq!(Schemata::parse(&schemata.to_string()).unwrap(), schemata);
        }

    }
}
