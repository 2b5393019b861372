//! Runs a simulated workload once, to show it over time on the page of a comparison.

use crate::moment::seen_as_moment;
use isobar_lab::NamedPolicy;
use isobar_report::{Collector, Head, Report, Timeline};
use isobar_runtime::selection::Rules;
use isobar_runtime::{BoxError, Epoch, Limits, Loop, Observer};
use isobar_sim::{SimMachine, Workload};
use isobar_view::Watch;

/// A run, and which run it is.
pub struct Timed {
    /// Its policy and seed.
    pub timeline: Timeline,
    /// The run.
    pub run: Report,
}

struct Collecting {
    watch: Watch,
    collector: Collector,
}

impl Observer for Collecting {
    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        seen_as_moment(epoch, |moment| self.collector.take(moment, self.watch.take(moment)));
        Ok(())
    }
}

impl Timed {
    /// Runs the workload under a policy to its end, as `isobar sim` does; the run takes about
    /// `seconds`.
    ///
    /// # Errors
    /// A policy whose plan cannot be carried out.
    pub fn run(workload: &Workload, seed: u64, named: &NamedPolicy<'_>, seconds: f64) -> anyhow::Result<Self> {
        let (name, make) = named;
        let mut policy = make();
        let machine = SimMachine::new(workload, seed).probing_for(policy.needs());
        let interval = machine.epoch();
        let epochs = isobar_model::num::round(seconds / interval.0);
        let limits = Limits { despite_missing: true, ..Limits::every(interval) };
        let rules = Rules { min_share: workload.run.min_cpu_percent / 100.0, ..Rules::default() };
        let mut seen = Collecting { watch: Watch::default(), collector: Collector::new(1, epochs.max(1)) };
        Loop::new(machine, Box::new(&mut *policy), limits).selecting(rules).run(&mut seen)?;
        let run = seen.collector.finish(Head::default());
        Ok(Self { timeline: Timeline { policy: name.clone(), seed }, run })
    }
}
