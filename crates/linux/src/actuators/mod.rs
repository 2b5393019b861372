//! Actuators: thread affinity, page migration, and the state file from which every change can be
//! put back.
//!
//! The actuators carry out actions and do not decide about them. Nothing is changed before its
//! previous value is on disk. Deliberately absent: policies, budgets and the choice of threads to
//! manage (these belong to [`crate::machine`]).

pub mod allocation;
pub mod balancing;
mod displaced;
pub mod entries;
mod error;
mod exec;
pub mod file_capabilities;
mod forking;
mod inherited;
pub mod ledger;
pub mod lineage;
pub mod manager_lock;
pub mod mask_set;
mod namespaces;
pub mod origins;
mod outstanding;
pub mod pages;
mod recent;
mod reconcile;
pub mod restore;
mod rounds;
pub mod state_file;
pub mod threads;
mod trust;
mod validate;
pub mod weights;

pub use crate::kernel::privilege::missing_capabilities;
pub use error::ActuatorError;
pub use outstanding::Outstanding;
pub use restore::{RestoreReport, restore};
pub use threads::{Intent, ThreadMove};

use crate::kernel::mempolicy::WEIGHTS;
use crate::kernel::{affinity, identity};
use crate::kernel_events::KernelEvents;
use crate::resctrl::record::ResctrlRecord;
use balancing::SWITCH;
use isobar_allocation::Decision;
use isobar_model::{ActionOutcome, CpuSet, NodeId, Pages, Pid, Sample, Tid};
use ledger::Ledger;
use lineage::Lineage;
use recent::Recent;
use state_file::StateFile;
use std::path::Path;

/// The actuators of this machine, with the record of what they changed. At most one exists per
/// state file.
///
/// Dropping it puts everything back, as a last resort after a panic. Call [`Actuators::restore`] to
/// learn the result.
#[derive(Debug)]
pub struct Actuators {
    file: StateFile,
    ledger: Ledger,
    written: Option<Ledger>,
    lineage: Lineage,
    recent: Recent,
    outstanding: Outstanding,
    /// Number of moves since the kernel's events were last read on account of moves.
    moves: usize,
    /// Why the state file could not be written, until a write succeeds.
    unwritten: Option<String>,
}

impl Actuators {
    /// Takes the lock of the state file. What a killed isobar left behind is put back first, and
    /// reported.
    ///
    /// # Errors
    /// [`ActuatorError`]: another isobar runs, or the state file cannot be read or written. Nothing
    /// is changed in that case.
    pub fn open(state: &Path) -> Result<(Self, Option<RestoreReport>), ActuatorError> {
        let file = StateFile::lock(state)?;
        let recovered = restore::recover(&file)?;
        if let Some(refusal) = recovered.as_ref().and_then(|report| not_restored(state, report)) {
            return Err(refusal);
        }
        let ledger = Ledger::new(error::boot_id()?);
        let lineage = Lineage::new(KernelEvents::none("kernel events are not read yet"));
        let outstanding = Outstanding::default();
        let (written, recent) = (None, Recent::default());
        Ok((Self { file, ledger, written, lineage, recent, outstanding, moves: 0, unwritten: None }, recovered))
    }

    /// Follows the kernel's events for forks and changed affinities from now on.
    pub fn listen(&mut self, events: KernelEvents) {
        self.lineage = Lineage::new(events);
    }

    /// Which of the kernel's events are missed, and why the state file cannot be written, a line
    /// each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.lineage.remarks();
        remarks.extend(self.unwritten.clone());
        remarks
    }

    /// If the state file could not be written, tries again. When that succeeds,
    /// [`Actuators::remarks`] no longer reports the failure.
    pub fn try_to_write_again(&mut self) {
        if self.unwritten.is_none() {
            return;
        }
        let ledger = self.ledger.clone();
        // A file that records nothing is removed.
        if self.save(&ledger).is_ok() && ledger.is_empty() && self.file.remove().is_ok() {
            self.written = None;
        }
    }

    /// Adapts to CPUs that came online or went offline.
    pub fn follow_hotplug(&mut self, online: &CpuSet) {
        self.lineage.events.follow_hotplug(online);
    }

    /// A view of how much is changed now, for another thread.
    #[must_use]
    pub fn outstanding(&self) -> Outstanding {
        self.outstanding.clone()
    }

    /// Decides about thread moves and records what was there before, all at once. Nothing is
    /// changed yet.
    ///
    /// # Errors
    /// [`ActuatorError::State`]: in that case none of the moves may be carried out.
    pub fn intend(&mut self, requests: &[ThreadMove]) -> Result<Vec<Intent>, ActuatorError> {
        self.lineage.follow(&mut self.ledger);
        let intents: Vec<_> = requests.iter().map(|request| threads::prepare(&self.ledger, request)).collect();
        let mut next = self.ledger.clone();
        let now = identity::ticks_now();
        for entry in intents.iter().filter_map(Intent::entry) {
            next.intend(entry, now);
            next.describe(entry.pid, facts);
        }
        self.write_down(next)?;
        Ok(intents)
    }

    /// Carries out an intent of [`Actuators::intend`].
    pub fn carry_out(&mut self, intent: Intent) -> ActionOutcome {
        let (entry, seen) = match intent {
            Intent::Settled(outcome) => return outcome,
            Intent::Act(entry, seen) => (entry, seen),
        };
        self.drain_at_times();
        let (outcome, has) = threads::carry_out(&entry, &seen);
        match has {
            Some(mask) => {
                self.ledger.done(&entry, &mask);
                self.lineage.bound(entry.tid, seen);
            }
            None => {
                self.ledger.undone(&entry);
                self.outstanding.set(&self.ledger);
            }
        }
        outcome
    }

    /// Gives one thread back the mask that it had before isobar first changed it. The record is
    /// written with [`Actuators::flush`].
    pub fn undo_thread(&mut self, pid: Pid, tid: Tid) -> ActionOutcome {
        self.lineage.follow(&mut self.ledger);
        let outcome = restore::put_back_thread(&mut self.ledger, pid, tid);
        self.outstanding.set(&self.ledger);
        outcome
    }

    /// Reads the kernel's events now and then: isobar's own calls are among them and would fill the
    /// buffer.
    fn drain_at_times(&mut self) {
        self.moves = (self.moves + 1) % restore::CALLS_BETWEEN_READINGS;
        if self.moves == 0 {
            self.lineage.follow(&mut self.ledger);
            self.outstanding.set(&self.ledger);
        }
    }

    fn write_down(&mut self, next: Ledger) -> Result<(), ActuatorError> {
        if next != self.ledger {
            self.save(&next)?;
            self.ledger = next;
            self.outstanding.set(&self.ledger);
        }
        Ok(())
    }

    fn save(&mut self, ledger: &Ledger) -> Result<(), ActuatorError> {
        let saved = self.file.save(ledger);
        self.unwritten = saved.as_ref().err().map(ToString::to_string);
        if saved.is_ok() {
            self.written = Some(ledger.clone());
        }
        saved
    }

    /// Records which part of resctrl will be changed, before it is changed.
    ///
    /// # Errors
    /// [`ActuatorError::State`]: in that case nothing of resctrl may be changed.
    pub fn intend_resctrl(&mut self, record: &ResctrlRecord) -> Result<(), ActuatorError> {
        let mut next = self.ledger.clone();
        next.set_resctrl(record);
        self.write_down(next)
    }

    /// Records which part of resctrl is changed now. The record is written with
    /// [`Actuators::flush`].
    pub fn record_resctrl(&mut self, record: &ResctrlRecord) {
        self.ledger.set_resctrl(record);
    }

    /// Sets the machine's weights of weighted interleave according to a decision. The previous
    /// weights are recorded first.
    ///
    /// # Errors
    /// In one line: someone else has set the weights, the state file cannot be written, or the
    /// kernel refuses.
    pub fn set_weights(&mut self, decision: &Decision) -> Result<(), String> {
        let root = Path::new(WEIGHTS);
        let record = weights::intend(root, self.ledger.weights.as_ref(), decision)?;
        let mut next = self.ledger.clone();
        next.weights = Some(record.clone());
        self.write_down(next).map_err(|error| error.to_string())?;
        weights::carry_out(root, &record).map_err(|error| format!("{WEIGHTS}: {error}"))
    }

    /// Switches the kernel's NUMA balancing off. Its previous value is recorded first. Returns
    /// whether it was on.
    ///
    /// # Errors
    /// [`ActuatorError::Balancing`] if the kernel refuses; [`ActuatorError::State`].
    pub fn switch_balancing_off(&mut self) -> Result<bool, ActuatorError> {
        let switch = Path::new(SWITCH);
        let Some(record) = balancing::intend(switch).map_err(ActuatorError::Balancing)? else { return Ok(false) };
        let mut next = self.ledger.clone();
        next.balancing = Some(record);
        self.write_down(next)?;
        let done = balancing::carry_out(switch, &record).map_err(ActuatorError::Balancing);
        if done.is_err() {
            self.ledger.balancing = None;
            restore::settle(&self.file, &self.ledger)?;
            self.written = None;
        }
        done.map(|()| true)
    }

    /// Records moved pages (see [`Ledger::pages`]); written with the next change of the file.
    pub fn record_pages(&mut self, from: NodeId, to: NodeId, pages: Pages) {
        if pages.0 > 0 {
            self.ledger.add_pages(from, to, pages);
        }
    }

    /// Brings the state file up to date if it lags behind.
    ///
    /// # Errors
    /// [`ActuatorError::State`].
    pub fn flush(&mut self) -> Result<(), ActuatorError> {
        let lags = self.written.as_ref() != Some(&self.ledger);
        let matters = !self.ledger.is_empty() || !self.ledger.pages.is_empty() || self.written.is_some();
        if lags && matters { self.save(&self.ledger.clone()) } else { Ok(()) }
    }

    /// Makes a sample show what owners set, not what isobar set. Moved threads show the mask that
    /// they had before, tasks that inherited a mask of ours are freed, and threads that their
    /// owners have changed since leave the ledger.
    pub fn reconcile(&mut self, sample: &mut Sample) {
        self.lineage.follow(&mut self.ledger);
        exec::follow(&mut self.ledger);
        reconcile::forget_ended(&mut self.ledger, sample);
        self.lineage.forget_the_old(&self.ledger);
        let follow = &mut |ledger: &mut Ledger| self.lineage.follow_all(ledger);
        let kept = reconcile::show_owners_masks(&mut self.ledger, follow, sample);
        self.recent.forget_the_old(&mut self.ledger, &kept);
        self.outstanding.set(&self.ledger);
    }

    /// Puts everything back and deletes the state file, or keeps in it what could not be put back.
    /// A second call is harmless.
    ///
    /// # Errors
    /// [`ActuatorError`]: the file cannot be written, or the kernel refused to put threads back.
    pub fn restore(&mut self) -> Result<RestoreReport, ActuatorError> {
        let follow = &mut |ledger: &mut Ledger| self.lineage.follow_all(ledger);
        let report = restore::put_back(&mut self.ledger, follow, &self.outstanding);
        if self.ledger.is_empty() {
            self.ledger = Ledger::new(std::mem::take(&mut self.ledger.boot_id));
        }
        restore::settle(&self.file, &self.ledger)?;
        self.written = None;
        not_restored(self.file.path(), &report).map_or(Ok(report), Err)
    }
}

impl Drop for Actuators {
    fn drop(&mut self) {
        if !self.ledger.processes.is_empty() || !self.ledger.is_empty() {
            // Whatever could not be put back is still in the state file, for `isobar restore`.
            let _ = self.restore();
        }
    }
}

/// The cgroups of a process and the mask of its main thread, before isobar changes anything.
fn facts(pid: Pid) -> (String, CpuSet) {
    (identity::cgroups(pid, Tid(pid.0)), affinity::get(Tid(pid.0)).unwrap_or_default())
}

fn not_restored(path: &Path, report: &RestoreReport) -> Option<ActuatorError> {
    let why = report.refusal.clone()?;
    Some(ActuatorError::NotRestored { path: path.to_owned(), refused: report.refused, why })
}
