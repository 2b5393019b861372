//! `isobar replay`: runs a policy over a recording and compares each decision with the recorded
//! one.

mod compare;
mod reporter;
mod settings;

use super::Verb;
use crate::failure::bad_input;
use compare::acts_alike;
use isobar_model::{Action, Outcome, Pid, Plan, Policy, Seconds, Tid};
use isobar_recording::{Now, RecordedMachine, Recording};
use isobar_runtime::{BoxError, Epoch, Limits, Loop, Observer, Repeated, Surroundings};
use reporter::ReplayReporter;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// Show what a policy would have decided in a recording, compared with what was decided
#[derive(Debug, clap::Parser)]
#[command(
    name = "replay",
    after_help = "Example:
  isobar replay day.isobar
  isobar replay day.isobar --policy dino --set dino.stray_percent=10

Every epoch is decided again from what was observed then, for the threads that were managed then. A
recorded machine does not react: what another policy would have changed does not show in later
epochs, and a plan with other actions than the recorded one gets no outcomes, as in a dry run. With
the policy and the settings of the recording, the plans are the same to the byte; if they are not,
the version of isobar differs."
)]
pub struct Replay {
    /// A recording made by `isobar record` or `manage --record`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The policy [default: that of the recording, with its settings]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// TOML file with settings, instead of those of the recording
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, such as dino.stray_percent=10, applied after those of --config, or of the
    /// recording if --policy names no other policy; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print every epoch in which either policy acts, even if both do the same
    #[arg(long, short)]
    verbose: bool,
    /// Print JSON: one document for each epoch, and a summary
    #[arg(long)]
    json: bool,
}

impl Verb for Replay {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let recording = Recording::open(&self.file).map_err(bad_input)?;
        let facts = recording.facts()?;
        let policy = settings::policy(self, &recording, &facts)?;
        let first = recording.ends()?.map_or(0, |(first, _)| first);
        let machine = RecordedMachine::new(recording)?;
        let now = machine.now();
        let mut shown = ReplayReporter::new(out, &facts, policy.name(), self.verbose, self.json);
        shown.head(&now.borrow(), first)?;
        let tally = repeat(machine, policy, &mut Compared { now, shown: &mut shown })?;
        shown.summary(tally)
    }
}

/// Runs a policy over a recording. Returns how many epochs the recording lacks.
fn repeat(machine: RecordedMachine, policy: Box<dyn Policy>, compared: &mut Compared<'_, '_>) -> anyhow::Result<u64> {
    let past = Past(compared.now.clone());
    // The recorded machine waits one epoch, whatever interval it is asked for.
    let limits = Limits { despite_missing: true, ..Limits::every(Seconds(1.0)) };
    let surroundings = Surroundings { repeated: Some(&past), ..Surroundings::default() };
    let mut run = Loop::new(machine, policy, limits).within(surroundings);
    run.run(compared)?;
    Ok(run.machine().missing())
}

/// What was done in the current epoch of the recorded machine.
struct Past(Now);

impl Repeated for Past {
    fn managed(&self) -> BTreeSet<(Pid, Tid)> {
        self.0.borrow().managed.clone()
    }

    fn outcome(&self, plan: &Plan) -> Option<Outcome> {
        let now = self.0.borrow();
        let decision = now.decision.as_ref()?;
        decision.outcome.clone().filter(|_| acts_alike(&decision.plan, plan))
    }

    fn undone(&self) -> Vec<Action> {
        let now = self.0.borrow();
        now.decision.iter().flat_map(|decision| &decision.undone).map(|one| one.action.clone()).collect()
    }

    fn is_paused(&self) -> bool {
        self.0.borrow().decision.as_ref().is_some_and(|decision| decision.plan.is_paused())
    }
}

/// Compares every decision with the recorded one.
struct Compared<'a, 'b> {
    now: Now,
    shown: &'a mut ReplayReporter<'b>,
}

impl Observer for Compared<'_, '_> {
    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        Ok(self.shown.epoch(&self.now.borrow(), epoch)?)
    }
}
