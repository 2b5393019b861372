//! What is not measured, and why. Gaps with the same reason share a line.

use crate::view::Gap;
use isobar_model::{Capabilities, Sensor};
use isobar_policy::isobar::outlook::Unknown;

/// The sensors behind the figures of a view, with the names of these figures.
const SHOWN: [(Sensor, &str); 5] = [
    (Sensor::Instructions, "IPC"),
    (Sensor::LlcMisses, "MPKI, bandwidth, slowdowns"),
    (Sensor::PagesByNode, "pages by node"),
    (Sensor::Latency, "latency between nodes"),
    (Sensor::CacheWays, "ways"),
];

/// The sensors that the view needs and the machine lacks.
pub fn of(capabilities: &Capabilities, unknown: Option<Unknown>) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    for (sensor, what) in SHOWN {
        let Some(why) = capabilities.missing.get(&sensor) else { continue };
        match gaps.iter_mut().find(|gap| gap.why == *why) {
            Some(gap) => gap.what = format!("{}, {what}", gap.what),
            None => gaps.push(Gap { what: what.to_owned(), why: why.clone() }),
        }
    }
    let given = capabilities.missing.contains_key(&Sensor::LlcMisses);
    let more = match unknown {
        Some(Unknown::NoAnswer) => Some("the contention model found no solution within its bounds for this epoch"),
        Some(Unknown::NoNode) => Some("the machine description has no memory node"),
        Some(Unknown::NotCounted) if !given => Some("the counters measured no running program in this epoch"),
        Some(Unknown::NotCounted) | None => None,
    };
    gaps.extend(more.map(|why| Gap { what: "slowdowns, load of controllers".to_owned(), why: why.to_owned() }));
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reason_is_one_line() {
        let mut capabilities = Capabilities::default();
        capabilities.missing.insert(Sensor::Instructions, "no PMU in this VM".into());
        capabilities.missing.insert(Sensor::LlcMisses, "no PMU in this VM".into());
        capabilities.missing.insert(Sensor::Allocation, "not shown".into());
        let gaps = of(&capabilities, Some(Unknown::NotCounted));
        assert_eq!(gaps, [Gap { what: "IPC, MPKI, bandwidth, slowdowns".into(), why: "no PMU in this VM".into() }]);
        assert_eq!(of(&Capabilities::default(), Some(Unknown::NoAnswer)).len(), 1);
    }
}
