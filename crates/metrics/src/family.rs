//! Metric families as plain data: names, units, labels and values. Writing them as text is left to
//! [`crate::text`].

use crate::histogram::Histogram;
use isobar_model::text::plain;
use prometheus_client::registry::Unit;

/// Maximum length in characters of a label's value; longer values are cut, with `...`.
const LONGEST: usize = 120;

/// The kind of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Goes up and down.
    Gauge,
    /// Only grows; its samples end in `_total`.
    Counter,
    /// Counts by size.
    Histogram,
}

/// The value of a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a gauge, or of a counter of seconds.
    Number(f64),
    /// Of a counter.
    Count(u64),
    /// Of a histogram.
    Histogram(Histogram),
}

/// A label: its name, and a value that is safe to show.
pub type Label = (&'static str, String);

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its labels.
    pub labels: Vec<Label>,
    /// Its value.
    pub value: Value,
}

/// A family: samples of one name.
#[derive(Clone, Debug)]
pub struct Family {
    /// The name without `isobar_`, unit and `_total`.
    pub name: &'static str,
    /// What it means, in one line.
    pub help: &'static str,
    /// The unit that its name ends in.
    pub unit: Option<Unit>,
    /// What it is.
    pub kind: Kind,
    /// At least one sample.
    pub samples: Vec<Sample>,
}

impl Family {
    /// The name with its unit, as used in descriptions.
    #[must_use]
    pub fn full_name(&self) -> String {
        let unit = self.unit.as_ref().map(|unit| format!("_{}", unit.as_str())).unwrap_or_default();
        format!("isobar_{}{unit}", self.name)
    }
}

/// The name, unit and help text of a family.
#[derive(Clone, Copy)]
pub struct Named {
    name: &'static str,
    unit: Option<&'static str>,
    help: &'static str,
}

/// A name, a unit ("" for none) and a help text.
pub const fn named(name: &'static str, unit: &'static str, help: &'static str) -> Named {
    Named { name, unit: if unit.is_empty() { None } else { Some(unit) }, help }
}

/// Families in the order in which they are added. A family without a sample is left out.
#[derive(Clone, Debug, Default)]
pub struct Families(Vec<Family>);

impl Families {
    /// All families.
    #[must_use]
    pub fn all(&self) -> &[Family] {
        &self.0
    }

    /// All families, by value.
    #[must_use]
    pub fn into_all(self) -> Vec<Family> {
        self.0
    }

    /// Appends other families.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Adds a gauge; a value that was not measured gives no sample.
    pub(crate) fn gauge(&mut self, named: Named, samples: impl IntoIterator<Item = (Vec<Label>, Option<f64>)>) {
        let known =
            samples.into_iter().filter_map(|(labels, value)| Some((labels, value.filter(|it| it.is_finite())?)));
        self.add(named, Kind::Gauge, known.map(|(labels, value)| Sample { labels, value: Value::Number(value) }));
    }

    /// Adds a gauge without labels.
    pub(crate) fn one(&mut self, named: Named, value: Option<f64>) {
        self.gauge(named, [(Vec::new(), value)]);
    }

    /// Adds a counter.
    pub(crate) fn counter(&mut self, named: Named, samples: impl IntoIterator<Item = (Vec<Label>, u64)>) {
        let one = |(labels, count)| Sample { labels, value: Value::Count(count) };
        self.add(named, Kind::Counter, samples.into_iter().map(one));
    }

    /// Adds a counter of seconds.
    pub(crate) fn seconds(&mut self, named: Named, value: Option<f64>) {
        let known = value.filter(|it| it.is_finite());
        self.add(named, Kind::Counter, known.map(|it| Sample { labels: Vec::new(), value: Value::Number(it) }));
    }

    /// Adds a histogram, even if it has counted nothing.
    pub(crate) fn histogram(&mut self, named: Named, histogram: &Histogram) {
        let value = Value::Histogram(histogram.clone());
        self.add(named, Kind::Histogram, [Sample { labels: Vec::new(), value }]);
    }

    fn add(&mut self, named: Named, kind: Kind, samples: impl IntoIterator<Item = Sample>) {
        let samples: Vec<Sample> = samples.into_iter().collect();
        let Named { name, unit, help } = named;
        if !samples.is_empty() {
            self.0.push(Family { name, help, unit: unit.map(unit_of), kind, samples });
        }
    }
}

fn unit_of(name: &str) -> Unit {
    match name {
        "bytes" => Unit::Bytes,
        "seconds" => Unit::Seconds,
        other => Unit::Other(other.to_owned()),
    }
}

/// A label. Its value may be any name that a process gives itself: characters that could control a
/// terminal are escaped, and long values are cut.
pub fn label(name: &'static str, value: impl AsRef<str>) -> Label {
    let value = plain(value.as_ref());
    if value.chars().count() <= LONGEST {
        return (name, value.into_owned());
    }
    (name, value.chars().take(LONGEST - 3).chain("...".chars()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_absent() {
        let mut families = Families::default();
        families.one(named("a", "bytes", "x"), None);
        families.one(named("b", "", "x"), Some(f64::NAN));
        families.gauge(named("c", "ratio", "x"), [(vec![], Some(0.0)), (vec![label("node", "1")], None)]);
        let [c] = families.all() else { panic!("{families:?}") };
        assert_eq!((c.full_name().as_str(), c.samples.len()), ("isobar_c_ratio", 1));
        assert_eq!(c.samples[0].value, Value::Number(0.0), "zero is measured");
    }

    #[test]
    fn labels_are_plain_and_short() {
        assert_eq!(label("group", "a\u{1b}[2J\n").1, "a\\u{1b}[2J\\n");
        let long = label("group", "ä".repeat(500)).1;
        assert!(long.chars().count() == LONGEST && long.ends_with("..."));
    }
}
