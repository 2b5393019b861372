//! Actuators: thread affinity, page migration, and the state file that lets everything be put back.
//!
//! They carry out; they do not decide. Nothing is changed before what was there is on disk.
//! Deliberately absent: policies, budgets and the choice of threads to manage (that is
//! [`crate::machine`]'s).

pub mod allocation;
pub mod balancing;
mod displaced;
pub mod entries;
mod error;
mod exec;
pub mod file_capabilities;
mod forking;
pub mod given;
mod inherited;
pub mod ledger;
pub mod lineage;
pub mod manager_lock;
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

/// The actuators of this machine, with the record of what they changed. At most one lives per state
/// file.
///
/// Dropping it puts everything back, as the last resort of a panic; call [`Actuators::restore`] to
/// learn how that went.
#[derive(Debug)]
pub struct Actuators {
    file: StateFile,
    ledger: Ledger,
    written: Option<Ledger>,
    lineage: Lineage,
    recent: Recent,
    outstanding: Outstanding,
    /// Moves since the kernel's events were last read because of them.
    moves: usize,
    /// Why the state file could not be written, until it can be.
    unwritten: Option<String>,
}

impl Actuators {
    /// Takes the state file. What an isobar that was killed left behind is put back first, and
    /// reported.
    ///
    /// # Errors
    /// [`ActuatorError`]: another isobar runs, or the state file cannot be read or written. Nothing
    /// is changed then.
    pub fn open(state: &Path) -> Result<(Self, Option<RestoreReport>), ActuatorError> {
        let file = StateFile::lock(state)?;
        let recovered = restore::recover(&file)?;
        if let Some(refusal) = recovered.as_ref().and_then(|report| not_restored(state, report)) {
            return Err(refusal);
        }
        let ledger = Ledger::new(error::boot_id()?);
        let lineage = Lineage::new(KernelEvents::none("the kernel's events are not followed"));
        let outstanding = Outstanding::default();
        let (written, recent) = (None, Recent::default());
        Ok((Self { file, ledger, written, lineage, recent, outstanding, moves: 0, unwritten: None }, recovered))
    }

    /// Follows what the kernel says of forks and changed affinities from now on.
    pub fn listen(&mut self, events: KernelEvents) {
        self.lineage = Lineage::new(events);
    }

    /// What of the kernel's events is missed, and why nothing can be written down, a line each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.lineage.remarks();
        remarks.extend(self.unwritten.clone());
        remarks
    }

    /// Where the state file could not be written: whether it can be by now, which
    /// [`Actuators::remarks`] then no longer denies.
    pub fn try_to_write_again(&mut self) {
        if self.unwritten.is_none() {
            return;
        }
        let ledger = self.ledger.clone();
        // A file that records nothing is not left there.
        if self.save(&ledger).is_ok() && ledger.is_empty() && self.file.remove().is_ok() {
            self.written = None;
        }
    }

    /// CPUs came or went.
    pub fn follow_hotplug(&mut self, online: &CpuSet) {
        self.lineage.events.follow_hotplug(online);
    }

    /// A view of what is changed now, for another thread.
    #[must_use]
    pub fn outstanding(&self) -> Outstanding {
        self.outstanding.clone()
    }

    /// Decides about thread moves and writes down what was there before, all at once; changes
    /// nothing yet.
    ///
    /// # Errors
    /// [`ActuatorError::State`]: then none of the moves may be carried out.
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

    /// Gives one thread back the mask that it had before any change of ours; written with
    /// [`Actuators::flush`].
    pub fn undo_thread(&mut self, pid: Pid, tid: Tid) -> ActionOutcome {
        self.lineage.follow(&mut self.ledger);
        let outcome = restore::put_back_thread(&mut self.ledger, pid, tid);
        self.outstanding.set(&self.ledger);
        outcome
    }

    /// Our own calls are among the kernel's records, which are read before they fill its buffer.
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

    /// Writes down what of resctrl will be changed, before it is.
    ///
    /// # Errors
    /// [`ActuatorError::State`]: then nothing of it may be changed.
    pub fn intend_resctrl(&mut self, record: &ResctrlRecord) -> Result<(), ActuatorError> {
        let mut next = self.ledger.clone();
        next.set_resctrl(record);
        self.write_down(next)
    }

    /// Records what of resctrl is changed now; written with [`Actuators::flush`].
    pub fn record_resctrl(&mut self, record: &ResctrlRecord) {
        self.ledger.set_resctrl(record);
    }

    /// Has the machine's weights of weighted interleave follow a decision; what they were is
    /// written down first.
    ///
    /// # Errors
    /// In one line: someone else has set them, the state file cannot be written, the kernel
    /// refuses.
    pub fn set_weights(&mut self, decision: &Decision) -> Result<(), String> {
        let root = Path::new(WEIGHTS);
        let record = weights::intend(root, self.ledger.weights.as_ref(), decision)?;
        let mut next = self.ledger.clone();
        next.weights = Some(record.clone());
        self.write_down(next).map_err(|error| error.to_string())?;
        weights::carry_out(root, &record).map_err(|error| format!("{WEIGHTS}: {error}"))
    }

    /// Switches the kernel's NUMA balancing off; what it was is written down first. Whether it was
    /// on.
    ///
    /// # Errors
    /// [`ActuatorError::Balancing`] where the kernel refuses; [`ActuatorError::State`].
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

    /// Brings the state file up to date, where it lags behind.
    ///
    /// # Errors
    /// [`ActuatorError::State`].
    pub fn flush(&mut self) -> Result<(), ActuatorError> {
        let lags = self.written.as_ref() != Some(&self.ledger);
        let matters = !self.ledger.is_empty() || !self.ledger.pages.is_empty() || self.written.is_some();
        if lags && matters { self.save(&self.ledger.clone()) } else { Ok(()) }
    }

    /// Makes a sample show what owners want, not what we did: moved threads show the mask that they
    /// had before, tasks that inherited a mask of ours are freed, and threads that their owners
    /// have changed since are no longer ours.
    pub fn reconcile(&mut self, sample: &mut Sample) {
        self.lineage.follow(&mut self.ledger);
        exec::follow(&mut self.ledger);
        reconcile::forget_ended(&mut self.ledger, sample);
        self.lineage.forget_the_old(&self.ledger);
        let follow = &mut |ledger: &mut Ledger| self.lineage.follow_all(ledger);
        reconcile::show_owners_masks(&mut self.ledger, follow, sample);
        self.recent.forget_the_old(&mut self.ledger);
        self.outstanding.set(&self.ledger);
    }

    /// Puts everything back and deletes the state file, or keeps what remains in it. Doing so twice
    /// is harmless.
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
            // Whatever could not be put back is in the state file still, for `isobar restore`.
            let _ = self.restore();
        }
    }
}

/// What a process is like before we change anything of it.
fn facts(pid: Pid) -> (String, CpuSet) {
    (identity::cgroups(pid, Tid(pid.0)), affinity::get(Tid(pid.0)).unwrap_or_default())
}

fn not_restored(path: &Path, report: &RestoreReport) -> Option<ActuatorError> {
    let why = report.refusal.clone()?;
    Some(ActuatorError::NotRestored { path: path.to_owned(), refused: report.refused, why })
}
