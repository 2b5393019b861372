//! The latency probe as a sensor: started where somebody needs it, asked once a sample. Knows what
//! of a round goes into a sample, and what to say where nothing does.

use crate::probe::{NotMeasured, Prober, unavailable};
use isobar_model::{Nanoseconds, NodeMatrix, Topology};

/// Latencies as a sample holds them.
#[derive(Debug, Default)]
pub struct Latencies {
    /// Medians of this round.
    pub now: Option<NodeMatrix<Nanoseconds>>,
    /// The lowest medians so far.
    pub idle: Option<NodeMatrix<Nanoseconds>>,
    /// Medians of this round in cycles, where they are known.
    pub cycles: Option<NodeMatrix<f64>>,
}

/// The probe, where it is started.
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

    /// CPUs came or went: where it is started, it starts anew. What was idle then may not be now:
    /// that starts anew, too.
    pub fn follow(&mut self, machine: &Topology) {
        if self.wanted {
            self.start(machine);
        }
    }

    /// Probes once, which takes as long as the loads, where it is started.
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

    /// Why latency cannot be measured, where it cannot.
    pub fn missing(&self) -> Option<String> {
        self.missing.clone().or_else(unavailable).map(|why| why.to_string())
    }

    /// Why some of the latencies cannot.
    pub fn remarks(&self) -> Vec<String> {
        self.partly.iter().map(|why| format!("memory latency is measured in part: {why}")).collect()
    }
}
