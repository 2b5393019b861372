//! Runs the latency probe as a sensor: started if it is asked for, and read once a sample. This
//! file knows what part of a round goes into a sample, and what to report if nothing is measured.

use crate::probe::{NotMeasured, Prober, unavailable};
use isobar_model::{Nanoseconds, NodeMatrix, Topology};

/// Latencies as a sample holds them.
#[derive(Debug, Default)]
pub struct Latencies {
    /// Medians of this round.
    pub now: Option<NodeMatrix<Nanoseconds>>,
    /// The lowest medians so far.
    pub idle: Option<NodeMatrix<Nanoseconds>>,
    /// Medians of this round in cycles, if they are known.
    pub cycles: Option<NodeMatrix<f64>>,
}

/// The probe, if it is started.
#[derive(Debug, Default)]
pub struct LatencySensor {
    prober: Option<Prober>,
    wanted: bool,
    /// Why the last round measured nothing, or the probe did not start.
    missing: Option<NotMeasured>,
    /// Why some pairs are never measured.
    partly: Vec<NotMeasured>,
}

impl LatencySensor {
    /// Starts the probe.
    pub fn start(&mut self, machine: &Topology) {
        self.wanted = true;
        match Prober::start(machine) {
            Ok(prober) => (self.prober, self.missing) = (Some(prober), None),
            Err(why) => (self.prober, self.missing) = (None, Some(why)),
        }
    }

    /// Restarts the probe, if it was started, after CPUs came or went. The lowest medians start
    /// anew too, because what was idle before may not be idle now.
    pub fn follow(&mut self, machine: &Topology) {
        if self.wanted {
            self.start(machine);
        }
    }

    /// Probes once, if the probe is started. That takes as long as the probe's loads.
    pub fn read(&mut self) -> Latencies {
        let Some(prober) = self.prober.as_mut() else { return Latencies::default() };
        let round = prober.round();
        let now = round.now.filter_map(|figures| Some(Nanoseconds(figures.median_ns)));
        if now.values().next().is_none() {
            self.missing = round.problems.into_iter().next();
            return Latencies::default();
        }
        self.missing = None;
        self.partly = round.problems.into_iter().filter(NotMeasured::lasts).collect();
        let cycles = round.now.filter_map(|figures| figures.median_cycles);
        let known = cycles.values().count() == now.values().count();
        Latencies {
            now: Some(now),
            idle: Some(round.lowest.filter_map(|lowest| Some(Nanoseconds(*lowest)))),
            cycles: known.then_some(cycles),
        }
    }

    /// Why latency cannot be measured, if it cannot.
    pub fn missing(&self) -> Option<String> {
        self.missing.clone().or_else(unavailable).map(|why| why.to_string())
    }

    /// Why some of the latencies cannot be measured.
    pub fn remarks(&self) -> Vec<String> {
        self.partly.iter().map(|why| format!("memory latency is measured between some nodes only: {why}")).collect()
    }
}
