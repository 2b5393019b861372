//! Opens the machine, runs the loop, and shows and records the run.

use super::{Needed, Target};
use crate::failure::{self, bad_input};
use crate::machines::{linux, simulated};
use crate::metrics::{Exposer, Paced};
use crate::output::Queue;
use crate::record::Recording;
use crate::report::{AfterRun, Reporter};
use crate::text::plural;
use isobar_model::{Machine, Seconds};
use isobar_recording::RecordingError;
use isobar_runtime::{Limits, Loop, Surroundings};
use isobar_sim::SimMachine;

/// Opens the machine and runs the loop.
///
/// # Errors
/// As [`Loop::run`], or if the machine cannot be opened.
pub fn drive(mut needed: Needed, queue: &Queue, reporter: &mut dyn Reporter) -> anyhow::Result<()> {
    // Done before anything is opened: a signal must reach the loop, which puts everything back, and
    // not trigger the default action.
    let changed = linux::Changed::default();
    let left = changed.clone();
    let stop = needed.stops_on(&linux::stop_signals(), move || left.in_words())?;
    if needed.can_wait() {
        let stopped = stop.clone();
        queue.wait_for_the_reader(move || stopped.is_raised());
    }
    let stop = || stop.is_raised();
    let exposer = needed.expose()?;
    match needed.target.clone() {
        Target::Linux => {
            long_enough(needed.limits)?;
            let (machine, recovered) = linux::open(&needed.config, needed.limits.dry_run)?;
            let machine = linux::switched_on(machine, &*needed.policy);
            changed.watch(&machine, &needed.config);
            let own_cpu = Some(&linux::own_cpu_time as &dyn Fn() -> Seconds);
            let surroundings =
                Surroundings { lookups: linux::LOOKUPS, stop: &stop, own_cpu, recovered, ..Surroundings::default() };
            over(machine, needed, surroundings, exposer, queue, reporter, |machine| AfterRun {
                remarks: linux::put_back_remarks(machine),
                ..AfterRun::default()
            })
        }
        Target::Recording(file) => Err(bad_input(format!(
            "--machine {0}: a recording cannot be managed: `isobar replay {0} --policy NAME` prints what a policy would \
             have done, `isobar top --machine {0}` shows the recording",
            file.display()
        ))),
        Target::Sim { workload, seed } => {
            let workload = simulated::read(&workload)?;
            let machine = SimMachine::new(&workload, seed).probing_for(needed.policy.needs());
            needed.limits.interval = needed.config.interval_seconds.map_or_else(|| machine.epoch(), Seconds);
            long_enough(needed.limits)?;
            // The CPU time of the simulator is not the cost of watching, and would differ from run
            // to run.
            let surroundings = Surroundings { stop: &stop, ..Surroundings::default() };
            over(machine, needed, surroundings, exposer, queue, reporter, |machine| AfterRun {
                truth: Some(simulated::truth(&workload, machine)),
                ..AfterRun::default()
            })
        }
    }
}

/// Refuses a run that would end before its first decision.
fn long_enough(limits: Limits) -> anyhow::Result<()> {
    let interval = limits.interval.0;
    match limits.duration.filter(|duration| duration.0 < interval) {
        Some(Seconds(duration)) => Err(bad_input(format!(
            "--for {duration}: shorter than the interval of {interval} s, so nothing would be decided: give --for {interval} \
             or more, or a shorter --interval"
        ))),
        None => Ok(()),
    }
}

fn over<M: Machine>(
    machine: M,
    needed: Needed,
    surroundings: Surroundings<'_>,
    mut exposer: Option<Exposer>,
    queue: &Queue,
    reporter: &mut dyn Reporter,
    after_run: impl Fn(&M) -> AfterRun,
) -> anyhow::Result<()> {
    let recording = needed.start_recording()?;
    let (pace, stop) = (needed.pace(), surroundings.stop);
    let Needed { policy, rules, limits, profiles, .. } = needed;
    if let Some(exposer) = &mut exposer {
        recording.iter().for_each(|recording| exposer.latest().records_to(recording.file()));
        exposer.every(limits.interval);
        exposer.announce();
    }
    let mut run = Loop::new(machine, policy, limits).selecting(rules).within(surroundings);
    // The reporters that show the run, from the innermost to the outermost.
    let dropped = || queue.dropped_lines();
    let (mut paced, mut exposed);
    let mut all: &mut dyn Reporter = reporter;
    if let Some(speed) = pace {
        paced = Paced::new(all, speed, stop);
        all = &mut paced;
    }
    if let Some(exposer) = &mut exposer {
        exposed = exposer.beside(all, &dropped);
        all = &mut exposed;
    }
    shown(&mut run, all, recording, after_run)??;
    profiles.map_or(Ok(()), |profiles| profiles.write(&run.policy().learnt()))
}

/// Runs a loop to its end, shows it and records it. The inner result says why a recording ended
/// early, which does not end the run.
///
/// # Errors
/// As [`Loop::run`].
pub fn shown<M: Machine>(
    run: &mut Loop<'_, M>,
    reporter: &mut dyn Reporter,
    mut recording: Option<Recording>,
    after_run: impl Fn(&M) -> AfterRun,
) -> anyhow::Result<Result<(), RecordingError>> {
    let ended = match &mut recording {
        Some(recording) => run.run(&mut recording.beside(reporter)),
        None => run.run(reporter),
    };
    // Whatever ended the run, what was recorded of it is worth keeping.
    let recorded = recording.map(Recording::finish).transpose();
    let mut after = after_run(run.machine());
    after.recorded = recorded.as_ref().ok().copied().flatten();
    if ended.is_err() {
        // In that case the end of the report was not written.
        after.remarks.iter().for_each(|remark| failure::notify(&format!("remark: {remark}")));
        let why = recorded.as_ref().err();
        why.iter().for_each(|why| failure::notify(&format!("remark: the recording ended early: {why}")));
    }
    reporter.end(&ended?, &after)?;
    Ok(recorded.map(drop))
}

/// The format of the notice of dropped lines, for programs or people.
pub fn notice(json: bool) -> fn(u64) -> String {
    if json {
        |lines| serde_json::json!({ "dropped_lines": lines }).to_string()
    } else {
        |lines| format!("isobar: {}", dropped(lines))
    }
}

fn dropped(lines: u64) -> String {
    format!("{} of output dropped: the reader did not keep up", plural(lines, "line"))
}

/// Writes what is still queued after everything is put back. A reader that does not read is given
/// up after a while.
///
/// # Errors
/// An earlier error, otherwise an error of standard output.
pub fn finish(done: anyhow::Result<()>, queue: Queue) -> anyhow::Result<()> {
    let drained = queue.finish();
    done?;
    let left = drained?;
    if left > 0 {
        failure::notify(&dropped(left));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_a_line_for_people_or_a_document_for_programs() {
        assert_eq!(notice(false)(12), "isobar: 12 lines of output dropped: the reader did not keep up");
        assert_eq!(notice(false)(1), "isobar: 1 line of output dropped: the reader did not keep up");
        assert_eq!(notice(true)(12), r#"{"dropped_lines":12}"#);
    }
}
