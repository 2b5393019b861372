//! What a machine lacks, in words. Sensors that share a reason are named together, because one
//! missing PMU is one fact and not three. This module knows sensors and reasons. It does not know
//! where the reasons come from or which policy needs a sensor.

use isobar_model::Sensor;

/// Sensors that are missing for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing<'a> {
    sensors: Vec<Sensor>,
    why: &'a str,
}

/// Groups missing sensors by kind and reason. Each group is placed where its first sensor was.
pub fn by_reason<'a>(missing: impl IntoIterator<Item = (Sensor, &'a str)>) -> Vec<Missing<'a>> {
    let mut groups: Vec<Missing<'a>> = Vec::new();
    for (sensor, why) in missing {
        let same = |group: &&mut Missing<'_>| group.why == why && is_reading(group.sensors[0]) == is_reading(sensor);
        match groups.iter_mut().find(same) {
            Some(group) => group.sensors.push(sensor),
            None => groups.push(Missing { sensors: vec![sensor], why }),
        }
    }
    groups
}

impl Missing<'_> {
    /// The group as a line of a list:
    /// `not measured: instructions per thread, LLC misses per thread: no PMU`.
    #[must_use]
    pub fn line(&self) -> String {
        let kind = if is_reading(self.sensors[0]) { "not measured" } else { "not available" };
        format!("{kind}: {}: {}", names(&self.sensors).join(", "), self.why)
    }

    /// The group as part of a sentence:
    /// `instructions per thread and LLC misses per thread are not measured (no PMU)`.
    #[must_use]
    pub fn clause(&self) -> String {
        let first = self.sensors[0];
        let fact = match (is_reading(first), self.sensors.len()) {
            (true, 1) => format!("{first} is not measured"),
            (true, _) => format!("{} are not measured", names(&self.sensors).join(" and ")),
            (false, _) => self.sensors.iter().map(absent).collect::<Vec<_>>().join(", "),
        };
        format!("{fact} ({})", self.why)
    }
}

/// The names of sensors.
#[must_use]
pub fn names(sensors: &[Sensor]) -> Vec<String> {
    sensors.iter().map(ToString::to_string).collect()
}

/// Whether a sensor is measured, in contrast to a property that a machine has or has not.
#[must_use]
pub const fn is_reading(sensor: Sensor) -> bool {
    match sensor {
        Sensor::Instructions | Sensor::LlcMisses | Sensor::PagesByNode | Sensor::Latency | Sensor::AccessedPages => {
            true
        }
        Sensor::SeveralNodes | Sensor::SeveralDomains | Sensor::CacheWays | Sensor::Allocation => false,
    }
}

fn absent(sensor: &Sensor) -> String {
    match sensor {
        Sensor::SeveralNodes => "there is no second NUMA node".to_owned(),
        Sensor::SeveralDomains => "there is no second LLC or node for threads".to_owned(),
        other => format!("there is no {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: [(Sensor, &str); 4] = [
        (Sensor::Instructions, "no PMU"),
        (Sensor::SeveralNodes, "one node"),
        (Sensor::LlcMisses, "no PMU"),
        (Sensor::CacheWays, "no PMU"),
    ];

    #[test]
    fn what_shares_a_reason_is_named_together() {
        let lines: Vec<String> = by_reason(ABSENT).iter().map(Missing::line).collect();
        assert_eq!(
            lines,
            [
                "not measured: instructions per thread, LLC misses per thread: no PMU",
                "not available: a second NUMA node: one node",
                "not available: LLC way allocation: no PMU"
            ]
        );
    }

    #[test]
    fn clauses_are_sentences() {
        let clauses: Vec<String> = by_reason(ABSENT).iter().map(Missing::clause).collect();
        assert_eq!(
            clauses,
            [
                "instructions per thread and LLC misses per thread are not measured (no PMU)",
                "there is no second NUMA node (one node)",
                "there is no LLC way allocation (no PMU)"
            ]
        );
        assert_eq!(by_reason([ABSENT[0]])[0].clause(), "instructions per thread is not measured (no PMU)");
    }
}
