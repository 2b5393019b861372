//! Reports which sensors go missing during a run, and which come back. The header lists those
//! missing at the beginning. A counter that opens but never counts is noticed only after threads
//! have run for a while.

use isobar_model::{Capabilities, Sensor};
use isobar_runtime::missing;
use std::collections::BTreeSet;

/// The missing sensors.
#[derive(Debug, Default)]
pub struct Missing(BTreeSet<Sensor>);

impl Missing {
    /// What changed since the last call, one line for each reason.
    pub fn news(&mut self, capabilities: &Capabilities) -> Vec<String> {
        let now: BTreeSet<Sensor> = capabilities.missing.keys().copied().collect();
        let before = std::mem::replace(&mut self.0, now);
        let lost = capabilities.missing.iter().filter(|(sensor, _)| !before.contains(sensor));
        let lost = missing::by_reason(lost.map(|(sensor, why)| (*sensor, why.as_str())));
        let lost = lost.iter().map(|group| format!("from now on {}", group.line())).collect::<Vec<_>>();
        let back: Vec<Sensor> = before.difference(&self.0).copied().collect();
        let back = (!back.is_empty()).then(|| format!("available again: {}", missing::names(&back).join(", ")));
        lost.into_iter().chain(back).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sensor_that_goes_and_comes_is_printed_once_each_time() {
        let lacking = |missing: &[(Sensor, &str)]| Capabilities {
            missing: missing.iter().map(|(sensor, why)| (*sensor, (*why).to_owned())).collect(),
            ..Capabilities::default()
        };
        let mut missing = Missing::default();
        let one_node = (Sensor::SeveralNodes, "one node");
        missing.news(&lacking(&[one_node]));
        assert_eq!(missing.news(&lacking(&[one_node])), [""; 0]);
        let dead =
            lacking(&[one_node, (Sensor::LlcMisses, "it reads 0 over 2 billion"), (Sensor::Instructions, "off")]);
        let expected = [
            "from now on not measured: instructions per thread: off",
            "from now on not measured: LLC misses per thread: it reads 0 over 2 billion",
        ];
        assert_eq!(missing.news(&dead), expected);
        assert_eq!(missing.news(&dead), [""; 0]);
        let back = "available again: instructions per thread, LLC misses per thread";
        assert_eq!(missing.news(&lacking(&[one_node])), [back]);
    }
}
