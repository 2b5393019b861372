//! Records a run: converts what the loop reports to moments of a recording, beside whatever else
//! shows the run. If the recording cannot go on, it ends alone, and the run goes on without it.

mod inputs;

pub use inputs::Inputs;

use crate::failure::notify;
use crate::report::{AfterRun, Recorded, Reporter};
use isobar_model::{Outcome, Plan, Sample};
use isobar_recording::{About, Bounds, Decision, Managed, Moment, Recorder, RecordingError, TakenBack, Writer, about};
use isobar_runtime::{BoxError, Epoch, Observer, Start, Tally, Undone};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is to be recorded, and where.
pub struct Wanted {
    /// The file to create, which must not exist yet.
    pub file: PathBuf,
    /// Limits of its size.
    pub bounds: Bounds,
    /// What is known before the first epoch.
    pub about: About,
    /// Whether the machine is simulated: it stands still while an epoch is written, and has no time
    /// of day.
    pub is_simulated: bool,
}

/// Records a run while something else shows it.
pub struct Recording {
    recorder: Recorder,
    file: PathBuf,
    is_simulated: bool,
    ended: Ended,
    /// Whether another part of the program reports why it ended early.
    is_reported_elsewhere: bool,
    written: u64,
    successor: Successor,
    /// What still writes earlier recordings of the run.
    earlier: Vec<JoinHandle<()>>,
}

/// Hands a recording over to a run that is recorded: from its next epoch on it is recorded there.
#[derive(Clone, Default)]
pub struct Successor(Rc<RefCell<Option<Recording>>>);

impl Successor {
    /// Hands a recording over. One that was handed over since the last epoch ends.
    pub fn hand_over(&self, next: Recording) {
        if let Some(unused) = self.0.borrow_mut().replace(next) {
            drop(complete(unused.recorder));
        }
    }

    fn take(&self) -> Option<Recording> {
        self.0.borrow_mut().take()
    }
}

/// Why a recording ended early, for other parts of the program; empty while the recording goes on.
#[derive(Clone, Debug, Default)]
pub struct Ended(Arc<OnceLock<String>>);

impl Ended {
    /// The reason, in one line that names the file.
    pub fn why(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

impl Recording {
    /// Creates the file.
    ///
    /// # Errors
    /// If the file exists already or cannot be created.
    pub fn start(wanted: &Wanted) -> Result<Self, RecordingError> {
        let writer = Writer::create(&wanted.file, &wanted.about, wanted.bounds)?;
        let recorder = Recorder::start(&wanted.file, writer, wanted.is_simulated)?;
        let (file, is_simulated) = (wanted.file.clone(), wanted.is_simulated);
        Ok(Self {
            recorder,
            file,
            is_simulated,
            ended: Ended::default(),
            is_reported_elsewhere: false,
            written: 0,
            successor: Successor::default(),
            earlier: Vec::new(),
        })
    }

    /// Shows a run through `shown`, and records it.
    pub fn beside<'a>(&'a mut self, shown: &'a mut dyn Reporter) -> WithRecording<'a> {
        WithRecording { recording: self, shown }
    }

    /// The path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// A handle that later says why the recording ended early. From now on the caller reports that.
    pub fn ended(&mut self) -> Ended {
        self.is_reported_elsewhere = true;
        self.ended.clone()
    }

    /// A handle with which another recording can take the place of this one.
    pub fn successor(&self) -> Successor {
        self.successor.clone()
    }

    /// Records the reading before the first epoch that is recorded.
    pub fn begin_with(&mut self, sample: &Sample, number: u64) {
        let (wall_time, sample, managed) = (self.wall_time(), sample.clone(), Managed::new());
        self.record(Moment { number, wall_time, sample, managed, decision: None });
    }

    /// Records an epoch, in the recording that was handed over if there is one.
    pub fn take(&mut self, epoch: &Epoch<'_>) {
        let is_first = self.successor.take().map(|next| self.give_way_to(next)).is_some();
        let managed = epoch.managed.threads().map(|(process, thread)| (process.pid, thread.tid)).collect();
        let (plan, outcome): (Plan, Option<Outcome>) = (epoch.plan.clone(), epoch.outcome.cloned());
        let taken = |one: &Undone| TakenBack { id: one.id, action: one.action.clone(), outcome: one.outcome.clone() };
        // What was taken back before another policy decided does not concern that policy.
        let undone = epoch.undone.iter().filter(|_| !is_first).map(taken).collect();
        let decision = Some(Decision { plan, outcome, own_cpu: epoch.own_cpu, first_id: epoch.first_id, undone });
        let (wall_time, sample) = (self.wall_time(), epoch.sample.clone());
        self.record(Moment { number: epoch.number, wall_time, sample, managed, decision });
    }

    fn record(&mut self, moment: Moment) {
        self.written += 1;
        self.recorder.record(moment);
        if let Some(why) = self.recorder.why_ended()
            && self.ended.0.set(why.to_string()).is_ok()
            && !self.is_reported_elsewhere
        {
            notify(&format!("the recording ended early, and isobar continues without it: {why}"));
        }
    }

    /// Replaces itself by another recording, and writes what is left meanwhile.
    fn give_way_to(&mut self, next: Self) {
        let successor = self.successor.clone();
        let earlier = std::mem::take(&mut self.earlier);
        let before = std::mem::replace(self, Self { successor, earlier, ..next });
        let rest = move || {
            if let Err(why) = complete(before.recorder) {
                notify(&format!("an earlier recording ended early: {why}"));
            }
        };
        // Without a thread the file lacks only the note that it is complete.
        self.earlier.extend(thread::Builder::new().name("isobar-record".to_owned()).spawn(rest));
    }

    /// Writes what is left. Returns how much was recorded.
    ///
    /// # Errors
    /// Why the recording ended early, if it did.
    pub fn finish(self) -> Result<Recorded, RecordingError> {
        self.earlier.into_iter().for_each(|thread| drop(thread.join()));
        if let Some(unused) = self.successor.take() {
            drop(complete(unused.recorder));
        }
        let left_out = complete(self.recorder)?;
        let bytes = std::fs::metadata(&self.file).map_or(0, |file| file.len());
        // The reading before the first epoch is not an epoch.
        Ok(Recorded { epochs: self.written.saturating_sub(1 + left_out), left_out, bytes })
    }

    fn wall_time(&self) -> Option<f64> {
        if self.is_simulated { None } else { Some(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64()) }
    }
}

/// Writes what is left, and that nothing is missing. Returns the number of epochs left out.
fn complete(recorder: Recorder) -> Result<u64, RecordingError> {
    recorder.finish(BTreeMap::from([(about::COMPLETE.to_owned(), "true".to_owned())]))
}

/// Records a run that something else shows.
pub struct WithRecording<'a> {
    recording: &'a mut Recording,
    shown: &'a mut dyn Reporter,
}

impl Observer for WithRecording<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        self.recording.begin_with(start.sample, 0);
        self.shown.begin(start)
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        self.recording.take(epoch);
        self.shown.epoch(epoch)
    }
}

impl Reporter for WithRecording<'_> {
    fn end(&mut self, tally: &Tally, after: &AfterRun) -> anyhow::Result<()> {
        self.shown.end(tally, after)
    }
}

/// The name of this machine, and its kernel.
pub fn here() -> BTreeMap<String, String> {
    let read = |name: &str| std::fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).ok();
    let facts = [(about::HOST, "hostname"), (about::KERNEL, "osrelease")];
    facts.into_iter().filter_map(|(fact, name)| Some((fact.to_owned(), read(name)?.trim().to_owned()))).collect()
}
