//! Runs the loop over this machine or a simulated one, or plays a recording, epoch by epoch, for
//! verbs that set their own pace: `top` and `doctor`.

use super::watch::{Needed, RecordingTemplate, Target};
use crate::failure::bad_input;
use crate::machines::{linux, simulated};
use crate::metrics::Exposer;
use crate::moment::seen_as_moment;
use crate::past::Past;
use crate::record::Recording;
use crate::text::plural;
use crate::top::{RecordingState, Source};
use isobar_model::{ActionId, Machine, Seconds, Sensor};
use isobar_runtime::settings::Config;
use isobar_runtime::{Loop, RunError, Surroundings, Tally, policies};
use isobar_sim::SimMachine;
use isobar_view::{Moment, View, Watch};

/// The policy whose sensors are always switched on, because slowdowns and proposals are computed by
/// it.
const ESTIMATES: &str = "isobar";

/// Opens the machine, passes the loop over it to `work`, and puts everything back afterwards.
///
/// # Errors
/// The error of `work`; or the machine cannot be opened, or something cannot be put back.
pub fn over<R>(
    mut needed: Needed,
    stop: &dyn Fn() -> bool,
    changed: &linux::Changed,
    work: &mut dyn FnMut(&mut dyn Source) -> anyhow::Result<R>,
) -> anyhow::Result<R> {
    let exposer = needed.expose()?;
    match needed.target.clone() {
        Target::Linux => {
            let (machine, recovered) = linux::open(&needed.config, needed.limits.dry_run)?;
            let estimates = policies::build(ESTIMATES, &Config::default(), &crate::input::settings)?;
            let machine = linux::switched_on(machine, &*needed.policy);
            let machine = linux::switched_on(machine, &*estimates);
            changed.watch(&machine, &needed.config);
            let own_cpu = Some(&linux::own_cpu_time as &dyn Fn() -> Seconds);
            let surroundings =
                Surroundings { lookups: linux::LOOKUPS, stop, own_cpu, recovered, ..Surroundings::default() };
            looped(machine, needed, surroundings, exposer, work)
        }
        Target::Recording(file) => {
            let recording = isobar_recording::Recording::open(&file).map_err(bad_input)?;
            with(&mut Recorded(Past::of(recording)), exposer, work)
        }
        Target::Sim { workload, seed } => {
            let workload = simulated::read(&workload)?;
            let machine = SimMachine::new(&workload, seed).probing_for(&[Sensor::Latency]);
            needed.limits.interval = needed.config.interval_seconds.map_or_else(|| machine.epoch(), Seconds);
            looped(machine, needed, Surroundings { stop, ..Surroundings::default() }, exposer, work)
        }
    }
}

/// Watches for some seconds of the machine's time. Returns the view at the end, or `None` if no
/// epoch ended.
///
/// # Errors
/// As [`Source::next`].
pub fn watched(source: &mut dyn Source, seconds: f64) -> anyhow::Result<Option<View>> {
    let (mut watch, mut last, mut begin) = (Watch::default(), None, None);
    loop {
        let more = source.next(&mut |moment| {
            let view = watch.take(moment);
            begin.get_or_insert(view.time_seconds - view.interval_seconds);
            last = Some(view);
        })?;
        let passed = last.as_ref().zip(begin).map_or(0.0, |(view, begin)| view.time_seconds - begin);
        if !more || passed >= seconds - 1e-6 {
            return Ok(last);
        }
    }
}

fn looped<M: Machine, R>(
    machine: M,
    needed: Needed,
    surroundings: Surroundings<'_>,
    mut exposer: Option<Exposer>,
    work: &mut dyn FnMut(&mut dyn Source) -> anyhow::Result<R>,
) -> anyhow::Result<R> {
    let template = needed.recording_template();
    let Needed { policy, rules, limits, .. } = needed;
    exposer.iter_mut().for_each(|exposer| exposer.every(limits.interval));
    let mut run = Loop::new(machine, policy, limits).selecting(rules).within(surroundings);
    let mut recording = None;
    let begun = run.begin().map(drop).map_err(anyhow::Error::from);
    let done = begun.and_then(|()| {
        let mut epochs = Epochs { run: &mut run, template: &template, recording: &mut recording };
        with(&mut epochs, exposer, work)
    });
    let ended = ended(done, run.finish());
    let recorded = recording.map(Recording::finish).transpose();
    let done = ended?;
    recorded?;
    Ok(done)
}

/// The result of the work. If something could not be put back, the error says so, whatever else
/// failed before.
fn ended<R>(done: anyhow::Result<R>, put_back: Result<Tally, RunError>) -> anyhow::Result<R> {
    match (done, put_back) {
        (done, Ok(_)) => done,
        (Ok(_), Err(restore)) => Err(restore.into()),
        (Err(run), Err(restore)) => {
            let run = run.downcast().unwrap_or_else(|other| RunError::Observer(other.into()));
            Err(RunError::RestoreAfter { restore: Box::new(restore), run: Box::new(run) }.into())
        }
    }
}

/// Runs `work` with a source, and serves the metrics of the source meanwhile, if wanted.
fn with<R>(
    source: &mut dyn Source,
    exposer: Option<Exposer>,
    work: &mut dyn FnMut(&mut dyn Source) -> anyhow::Result<R>,
) -> anyhow::Result<R> {
    match exposer {
        Some(exposer) => {
            exposer.announce();
            work(&mut Exposed { source, exposer })
        }
        None => work(source),
    }
}

/// A source that also serves metrics.
struct Exposed<'s> {
    source: &'s mut dyn Source,
    exposer: Exposer,
}

impl Source for Exposed<'_> {
    fn next(&mut self, see: &mut dyn FnMut(&Moment<'_>)) -> anyhow::Result<bool> {
        let exposer = &mut self.exposer;
        self.source.next(&mut |moment| {
            exposer.take(moment, None);
            see(moment);
        })
    }

    fn undo(&mut self, ids: &[ActionId]) -> String {
        self.source.undo(ids)
    }

    fn record(&mut self) -> anyhow::Result<RecordingState> {
        self.source.record()
    }
}

/// A recording as a source.
struct Recorded(Past);

impl Source for Recorded {
    fn next(&mut self, see: &mut dyn FnMut(&Moment<'_>)) -> anyhow::Result<bool> {
        Ok(self.0.next(see)?)
    }
}

/// The loop as a source, with its recording.
struct Epochs<'l, 'a, M: Machine> {
    run: &'l mut Loop<'a, M>,
    template: &'l RecordingTemplate,
    recording: &'l mut Option<Recording>,
}

impl<M: Machine> Source for Epochs<'_, '_, M> {
    fn next(&mut self, see: &mut dyn FnMut(&Moment<'_>)) -> anyhow::Result<bool> {
        let Some(epoch) = self.run.step()? else { return Ok(false) };
        if let Some(recording) = self.recording {
            recording.take(&epoch);
        }
        seen_as_moment(&epoch, see);
        Ok(true)
    }

    fn undo(&mut self, ids: &[ActionId]) -> String {
        let said = ids.iter().rev().map(|id| match self.run.undo(*id) {
            Ok(_) => format!("#{id} is taken back"),
            Err(why) => why.to_string(),
        });
        said.collect::<Vec<_>>().join("; ")
    }

    fn record(&mut self) -> anyhow::Result<RecordingState> {
        if let Some(recording) = self.recording.take() {
            let file = recording.file().display().to_string();
            let epochs = recording.finish()?.epochs;
            return Ok(RecordingState::Ended(format!("{} recorded to {file}", plural(epochs, "epoch"))));
        }
        let mut recording = self.template.start()?;
        if let Some(epoch) = self.run.latest() {
            recording.begin_with(epoch.sample, epoch.number);
        }
        let file = recording.file().display().to_string();
        *self.recording = Some(recording);
        Ok(RecordingState::To(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn what_could_not_be_put_back_is_reported_even_after_another_failure() {
        let lost = || RunError::Restore("thread 7: EPERM".into());
        let both = ended::<()>(Err(RunError::Machine("node 1 is gone".into()).into()), Err(lost())).unwrap_err();
        let both = both.to_string();
        assert!(both.contains("thread 7: EPERM") && both.contains("ended with: node 1 is gone"), "{both}");
        let other = ended::<()>(Err(anyhow!("the screen is gone")), Err(lost())).unwrap_err().to_string();
        assert!(other.contains("thread 7: EPERM") && other.contains("the screen is gone"), "{other}");
        assert!(ended(Ok(1), Err(lost())).is_err());
        assert_eq!(ended(Ok(1), Ok(Tally::default())).unwrap(), 1);
    }
}
