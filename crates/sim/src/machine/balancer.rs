//! What a machine says about its kernel's load balancer, and the same machine with a different one:
//! for reports, for baselines, and to see how much depends on an estimate.

use super::MachineSpec;
use super::linux::{CHECK, Estimated};

impl MachineSpec {
    /// How often per second the load balancer exchanges two threads of different nodes: an
    /// estimate. `None` if it is not simulated.
    #[must_use]
    pub const fn strays(&self) -> Option<Estimated> {
        self.linux.strays_per_s
    }

    /// The same machine with another rate of strays, from 0 (none) to one per look (3.9 a second).
    /// Values outside are clamped to the nearer end.
    #[must_use]
    pub fn with_strays(mut self, per_second: f64) -> Self {
        let value = if per_second > 0.0 { per_second.min(1.0 / CHECK) } else { 0.0 };
        let (low, high) = self.linux.strays_per_s.map_or((value, value), |strays| (strays.low, strays.high));
        self.linux.strays_per_s = Some(Estimated { value, low: low.min(value), high: high.max(value) });
        self
    }

    /// Whether threads take turns on all CPUs of a last-level cache when they outnumber these CPUs.
    #[must_use]
    pub const fn rotates(&self) -> bool {
        self.linux.rotates
    }

    /// The same machine with or without rotation.
    #[must_use]
    pub const fn with_rotation(mut self, rotates: bool) -> Self {
        self.linux.rotates = rotates;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::SimError;

    fn machine(lines: &str) -> Result<MachineSpec, SimError> {
        let plain = MachineSpec::synthetic("node:2 core:2");
        assert_eq!(plain.unwrap().strays(), None);
        let text = include_str!("../../../../machines/nehalem-2x4.toml");
        let own = text.find("[linux]").map_or(text, |at| &text[..at]);
        MachineSpec::from_toml("m.toml", &format!("{own}\n[linux]\n{lines}"))
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let bad = |lines: &str| machine(lines).unwrap_err().to_string();
        assert!(bad("strays_per_s = { value = 1.0, low = 2.0, high = 3.0 }").contains("low <= value <= high"));
        assert!(bad("strays_per_s = { value = 5.0, low = 1.0, high = 6.0 }").contains("from 0 to 3.90625"));
        assert!(bad("strays_per_s = { value = -1.0, low = -1.0, high = 0.0 }").contains("linux.strays_per_s"));
        assert!(bad("stray = 1").contains("stray"));
    }

    #[test]
    fn another_rate_stays_within_what_can_be() {
        let read = machine("strays_per_s = { value = 0.2, low = 0.1, high = 0.4 }\nrotates = true").unwrap();
        assert_eq!(read.strays(), Some(Estimated { value: 0.2, low: 0.1, high: 0.4 }));
        assert!(read.rotates() && !read.clone().with_rotation(false).rotates());
        let at = |rate: f64| read.clone().with_strays(rate).strays().unwrap();
        assert_eq!(at(0.4), Estimated { value: 0.4, low: 0.1, high: 0.4 });
        assert_eq!((at(-1.0).value, at(f64::NAN).value, at(1e9).value), (0.0, 0.0, 1.0 / CHECK));
    }
}
