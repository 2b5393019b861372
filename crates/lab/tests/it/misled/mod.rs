//! Runs `isobar` behind wrong figures: its figures of the machine are off by up to 30 % in either
//! direction, and its counters and probes by up to 10 %. On request, some sensors are missing at
//! random.

#![allow(clippy::unwrap_used)]

use isobar_model::{Bandwidth, Nanoseconds, Observation, Outcome, Plan, Policy, Sensor, Topology, num};
use isobar_policy::Settings;
use isobar_policy::registry::build;
use std::sync::Arc;

/// A policy that sees a machine different from the real one.
pub struct Misled {
    inner: Box<dyn Policy>,
    state: u64,
    /// Factors on the reported idle latencies and bandwidths.
    factors: (f64, f64),
    machine: Option<(Arc<Topology>, Arc<Topology>)>,
    /// Probability, per epoch, that a thread is not counted, that pages are not counted, or that no
    /// latency is probed.
    missing: f64,
}

impl Misled {
    pub fn new(seed: u64) -> Self {
        let inner = build("isobar", &Settings::default()).unwrap();
        let mut misled =
            Self { inner, state: 0x9e37_79b9_7f4a_7c15 ^ seed, factors: (1.0, 1.0), machine: None, missing: 0.0 };
        misled.factors = (misled.off(0.3), misled.off(0.3));
        misled
    }

    /// The same, and in each epoch one in ten sensor readings is missing.
    pub fn patchy(seed: u64) -> Self {
        Self { missing: 0.1, ..Self::new(seed) }
    }

    fn is_missing(&mut self) -> bool {
        self.missing > 0.0 && self.off(1.0) < 2.0 * self.missing
    }

    /// A factor from 1 - `by` to 1 + `by`.
    fn off(&mut self, by: f64) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        1.0 + by * (2.0 * num::float(self.state >> 11) / num::float(1 << 53) - 1.0)
    }

    fn count(&mut self, count: Option<u64>) -> Option<u64> {
        let factor = self.off(0.1);
        count.map(|count| num::round(num::float(count) * factor))
    }

    fn machine(&mut self, seen: &Observation) -> Arc<Topology> {
        if let Some((real, shown)) = self.machine.as_ref().filter(|(real, _)| Arc::ptr_eq(real, &seen.machine)) {
            let _ = real;
            return Arc::clone(shown);
        }
        let mut parts = Topology::clone(&seen.machine).into_parts();
        for node in &mut parts.nodes {
            node.max_bandwidth = node.max_bandwidth.map(|most| Bandwidth(most.0 * self.factors.1));
        }
        let shown = Arc::new(Topology::new(parts).unwrap());
        self.machine = Some((Arc::clone(&seen.machine), Arc::clone(&shown)));
        shown
    }
}

impl Policy for Misled {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.inner.needs()
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut shown = seen.clone();
        shown.machine = self.machine(seen);
        let idle = self.factors.0;
        shown.latency_idle = shown.latency_idle.map(|table| table.filter_map(|one| Some(Nanoseconds(one.0 * idle))));
        let probe = self.off(0.1);
        shown.latency = shown.latency.map(|table| table.filter_map(|one| Some(Nanoseconds(one.0 * probe))));
        if self.is_missing() {
            shown.latency = None;
        }
        for process in &mut shown.processes {
            if self.is_missing() {
                process.pages = None;
            }
        }
        for thread in shown.processes.iter_mut().flat_map(|process| &mut process.threads) {
            if self.is_missing() {
                (thread.instructions, thread.cycles) = (None, None);
                (thread.llc_references, thread.llc_misses) = (None, None);
                continue;
            }
            thread.instructions = self.count(thread.instructions);
            thread.cycles = self.count(thread.cycles);
            thread.llc_references = self.count(thread.llc_references);
            thread.llc_misses = self.count(thread.llc_misses);
        }
        self.inner.decide(&shown)
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.inner.applied(plan, outcome);
    }
}
