//! Counts events by perf: holds the counters of all counted threads, and why an event is not
//! counted.

use super::counters::available::Available;
use super::counters::set::CounterSet;
use super::options::{CounterSource, SensorOptions};
use super::reasons::capabilities::Facts;
use super::reasons::missing;
use super::thread_counters::{Running, ThreadCounters};
use isobar_model::{Counters, Sensor, Tid};
use std::collections::BTreeMap;

/// The perf events of this machine.
#[derive(Debug)]
pub struct PerfCounters {
    set: CounterSet,
    /// Events that did not open.
    unopened: BTreeMap<Sensor, String>,
    facts: Facts,
    source: CounterSource,
}

impl PerfCounters {
    /// Counts the events that are available.
    #[must_use]
    pub fn new(options: &SensorOptions, available: Available, facts: Facts) -> Self {
        Self {
            unopened: missing::at_first(&available, &facts),
            set: CounterSet::new(options, available),
            facts,
            source: options.counters,
        }
    }
}

impl ThreadCounters for PerfCounters {
    fn read(&mut self, threads: &[Running]) {
        self.set.update(threads);
        self.set.read(threads);
    }

    fn of(&self, tid: Tid) -> Counters {
        self.set.of(tid)
    }

    fn missing(&self) -> BTreeMap<Sensor, String> {
        let mut events = self.unopened.clone();
        missing::add_silent(&mut events, &self.set, &self.facts);
        events
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.set.remarks();
        remarks.extend((self.source == CounterSource::Software).then(|| {
            "counters are the software stand-in (task-clock for instructions, page faults for LLC misses): \
             for tests only"
                .to_owned()
        }));
        remarks
    }
}
