//! Implements [`isobar_model::Machine`] over the sensors and actuators of the running kernel.
//!
//! This module knows which threads may be changed and how much per epoch: threads that their owner
//! pinned are left alone, moves and pages have a budget, a dry run changes nothing. It knows no
//! policy and no method of measurement: sensors come through [`Sensing`].

mod act;
mod balancing;
mod bandwidth;
mod error;
mod follow;
mod identities;
mod options;
mod outcomes;
mod outlive;
pub mod stop;
mod undo;
mod unpin;
mod wait;

pub use crate::resctrl::cache_ways::{CacheWays, Save};
pub use crate::sensors::Sensing;
pub use error::{BoxedError, MachineError};
pub use options::LinuxOptions;

use crate::actuators::allocation::Allocation;
use crate::actuators::manager_lock::ManagerLock;
use crate::actuators::pages::beside::News;
use crate::actuators::pages::{PageOptions, PagesBeside};
use crate::actuators::{ActuatorError, Actuators, Intent, Outstanding, RestoreReport, ThreadMove};
use crate::kernel::cgroup::Cpusets;
use crate::kernel::cpu_model::online_cpus;
use crate::kernel::{identity, privilege};
use crate::kernel_events::KernelEvents;
use crate::resctrl::{Root, Ways};
use balancing::Balancing;
use identities::Identities;
use isobar_model::outcome::MOVES_USED_UP;
use isobar_model::{
    Action, ActionOutcome, CpuSet, Machine, Outcome, PageMove, Pid, Plan, Sample, Seconds, Tid, Topology, Wake,
};
use outcomes::{in_pages, left_alone, outcome};
use std::collections::BTreeSet;
use std::sync::Arc;
use wait::Waiter;

/// The level of LLCs if none is described.
const LLC_LEVEL: u32 = 3;

/// Reads the topology again.
pub type ReadTopology = Box<dyn FnMut() -> Result<Topology, BoxedError> + Send>;

/// The machine that isobar runs on.
pub struct LinuxMachine<S> {
    sensing: S,
    read_topology: ReadTopology,
    options: LinuxOptions,
    /// Dropped before the actuators, so that no page moves any more when they put everything back.
    pages: PagesBeside,
    actuators: Option<Actuators>,
    recovered: Option<RestoreReport>,
    put_back: Option<RestoreReport>,
    /// Why nothing can be changed here, if that is so.
    observe_only: Option<String>,
    balancing: Balancing,
    allocation: Allocation,
    known: Identities,
    online: CpuSet,
    /// Whether resctrl is mounted.
    resctrl: bool,
    remarks: Vec<String>,
    ways: Box<dyn CacheWays<ActuatorError> + Send>,
    /// Where bandwidth comes from, in one line.
    bandwidth: Option<&'static str>,
    /// The level of the LLCs.
    level: u32,
    waiter: Waiter,
    /// Dropped after the actuators, which put everything back.
    manager: Option<ManagerLock>,
}

impl<S: Sensing> LinuxMachine<S> {
    /// Opens the machine. What a killed isobar left behind is put back first
    /// ([`LinuxMachine::recovered`]). A dry run touches neither the state file nor its lock.
    ///
    /// Without the privilege to move the threads of others *and* without a place for the state
    /// file, the machine opens for observing only: every action is refused with the reason.
    ///
    /// # Errors
    /// [`MachineError`]: another isobar manages this machine, the state file is broken or cannot be
    /// written, or signals cannot be caught.
    pub fn open(sensing: S, read_topology: ReadTopology, options: LinuxOptions) -> Result<Self, MachineError> {
        let waiter = Waiter::new(options.catch_signals, options.spares_hangup)?;
        let mut machine = Self {
            sensing,
            read_topology,
            actuators: None,
            recovered: None,
            put_back: None,
            observe_only: None,
            balancing: Balancing::Left,
            resctrl: Root::new(&options.resctrl).check().is_ok(),
            pages: PagesBeside::new(PageOptions::default(), options.pages_per_second),
            allocation: Allocation::default(),
            known: Identities::default(),
            online: online_cpus().unwrap_or_default(),
            remarks: privilege::remarks(),
            ways: Box::new(Ways::new(Root::new(&options.resctrl), options.move_grouped)),
            bandwidth: None,
            level: LLC_LEVEL,
            waiter,
            manager: None,
            options,
        };
        machine.open_actuators()?;
        machine.switch_balancing_off()?;
        Ok(machine)
    }

    /// What was put back at the start, if a killed isobar had left something.
    #[must_use]
    pub const fn recovered(&self) -> Option<&RestoreReport> {
        self.recovered.as_ref()
    }

    /// What the last [`Machine::restore`] put back, in detail.
    #[must_use]
    pub const fn put_back(&self) -> Option<&RestoreReport> {
        self.put_back.as_ref()
    }

    /// The sensors.
    pub const fn sensing(&mut self) -> &mut S {
        &mut self.sensing
    }

    /// Uses another actuator than resctrl for cache ways. To be called before the first plan.
    pub fn give_ways_by(&mut self, ways: Box<dyn CacheWays<ActuatorError> + Send>) {
        self.ways = ways;
    }

    fn open_actuators(&mut self) -> Result<(), MachineError> {
        if self.options.dry_run {
            return Ok(());
        }
        let manager = self.options.manager_lock.as_deref().map(ManagerLock::take).transpose()?;
        match Actuators::open(&self.options.state) {
            Ok((mut actuators, recovered)) => {
                actuators.listen(KernelEvents::open(&self.online, self.options.watch_affinities));
                self.remarks.extend(manager.iter().flat_map(ManagerLock::remarks).cloned());
                (self.actuators, self.recovered, self.manager) = (Some(actuators), recovered, manager);
            }
            Err(error) if self.may_observe_despite(&error) => {
                self.remarks.push(error.to_string());
                self.observe_only = Some(error.to_string());
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Whether the machine can be observed although the state file cannot be used: if isobar may
    /// change nothing anyway, or if the options tolerate that.
    fn may_observe_despite(&self, error: &ActuatorError) -> bool {
        match error {
            ActuatorError::State { .. } => !self.remarks.is_empty() || self.options.outlives_full_disks,
            // The folder is read-only, and a killed isobar has left its file there.
            ActuatorError::Undeleted { .. } => self.options.outlives_full_disks,
            _ => false,
        }
    }

    /// What is changed now, for a thread that watches a loop which may never end; `None` if nothing
    /// is ever changed.
    #[must_use]
    pub fn outstanding(&self) -> Option<Outstanding> {
        self.actuators.as_ref().map(Actuators::outstanding)
    }

    /// Adds what only the actuators know to the sample's description of this machine.
    fn remark(&self, sample: &mut Sample) {
        if self.balancing == Balancing::Off && sample.capabilities.numa_balancing == Some(true) {
            Arc::make_mut(&mut sample.capabilities).numa_balancing = Some(false);
        }
        let is_new = |line: &String| !sample.capabilities.remarks.contains(line);
        let lines = self.remarks.iter().cloned().chain(self.ways.remarks());
        let lines = lines.chain(self.bandwidth.map(str::to_owned)).chain(self.pages.remark());
        let lines = lines.chain(self.actuators.iter().flat_map(Actuators::remarks)).chain(self.balancing.remark());
        let fresh: Vec<String> = lines.filter(is_new).collect();
        if !fresh.is_empty() {
            Arc::make_mut(&mut sample.capabilities).remarks.extend(fresh);
        }
    }

    /// Decides about every thread move of a plan and records what was there, before anything is
    /// changed.
    fn intend(&mut self, plan: &Plan) -> Result<Vec<Intent>, MachineError> {
        let mut moves = 0;
        let screened: Vec<_> = plan.actions.iter().filter_map(|action| self.screen(action, &mut moves)).collect();
        let wishes: Vec<ThreadMove> = screened.iter().filter_map(|wish| wish.as_ref().ok().cloned()).collect();
        let Some(actuators) = self.actuators.as_mut() else { return Ok(Vec::new()) };
        let intents = match actuators.intend(&wishes) {
            Ok(intents) => intents,
            Err(error) => vec![Intent::Settled(self.outlived(error)?); wishes.len()],
        };
        let mut intents = intents.into_iter();
        let settle = |wish: Result<ThreadMove, ActionOutcome>| match wish {
            Ok(_) => intents.next(),
            Err(outcome) => Some(Intent::Settled(outcome)),
        };
        Ok(screened.into_iter().filter_map(settle).collect())
    }

    /// A thread move as a wish, or why it is not made; `None` for other actions.
    fn screen(&self, action: &Action, moves: &mut usize) -> Option<Result<ThreadMove, ActionOutcome>> {
        let Action::MoveThread { pid, tid, cpu, cpus, .. } = action else { return None };
        let Some(wish) = self.known.thread_move(*pid, *tid, *cpu, cpus.clone()) else {
            return Some(Err(left_alone(format!("thread {tid} of process {pid} was not in the last sample"))));
        };
        if wish.pinned && !self.options.move_pinned {
            return Some(Err(left_alone("pinned by its owner (the option `move_pinned` would move it)".into())));
        }
        *moves += 1;
        let most = self.options.moves_per_epoch;
        Some(if *moves > most { Err(left_alone(format!("{MOVES_USED_UP} ({most})"))) } else { Ok(wish) })
    }

    /// Passes what moved beside the loop to the sensors and the state file. Returns the migrations
    /// that are under way or have ended.
    fn take_in(&mut self, news: News) -> Vec<PageMove> {
        news.outdated.into_iter().for_each(|pid| self.sensing.pages_moved(pid));
        if let Some(actuators) = self.actuators.as_mut() {
            news.moved.into_iter().for_each(|(from, to, pages)| actuators.record_pages(from, to, pages));
        }
        news.flights
    }

    /// The outcome of every action if nothing may be changed; `None` if changes are allowed.
    fn hands_off(&self) -> Option<ActionOutcome> {
        if self.options.dry_run {
            return Some(left_alone("dry run".into()));
        }
        let why = self.observe_only.clone()?;
        Some(ActionOutcome::Refused { errno: None, why })
    }
}

impl<S: Sensing> Machine for LinuxMachine<S> {
    type Error = MachineError;

    fn sample(&mut self) -> Result<Sample, MachineError> {
        self.follow_machine()?;
        self.try_again();
        // Done before the sensors read, so that the sample shows pages where they are now.
        let news = self.pages.news();
        let page_moves = self.take_in(news);
        let mut sample = self.sensing.sample().map_err(|error| MachineError::Sensing(Box::new(error)))?;
        sample.page_moves = page_moves;
        if let Some(actuators) = self.actuators.as_mut() {
            actuators.reconcile(&mut sample);
        }
        self.known = self.known.next(&sample);
        self.level = sample.topology.llcs().iter().map(|llc| llc.level).max().unwrap_or(LLC_LEVEL);
        self.ways.follow(&sample);
        if let (Some(actuators), Some(record)) = (self.actuators.as_mut(), self.ways.record()) {
            actuators.record_resctrl(record);
        }
        let monitored = self.ways.monitored(&sample);
        self.bandwidth = bandwidth::add(&mut sample, monitored);
        let known = &self.known;
        self.pages.retain(|pid, start| known.process(pid) == Some(start));
        self.allocation.retain(|pid, start| known.process(pid) == Some(start));
        if self.options.move_pinned {
            let mut cpusets = Cpusets::live();
            unpin::unpin(&mut sample, |pid| cpusets.permitted(&identity::cgroups(pid, Tid(pid.0))));
        }
        self.remark(&mut sample);
        Ok(sample)
    }

    fn managed(&mut self, pids: &BTreeSet<Pid>) {
        self.sensing.see_accesses_of(pids);
    }

    fn apply(&mut self, plan: &Plan) -> Result<Outcome, MachineError> {
        if let Some(outcome) = self.hands_off() {
            return Ok(Outcome { actions: vec![outcome; plan.actions.len()] });
        }
        self.pages.next_plan();
        let mut intents = self.intend(plan)?.into_iter();
        let mut ways = None;
        let actions = plan.actions.iter().map(|action| self.act(action, plan, &mut intents, &mut ways));
        let actions = actions.collect::<Result<_, _>>()?;
        self.ways.follow_moves();
        self.allocation.flush(|pid| self.known.nodes(pid));
        self.flush()?;
        Ok(Outcome { actions })
    }

    fn undo(&mut self, action: &Action, outcome: &ActionOutcome) -> Result<ActionOutcome, MachineError> {
        self.take_back(action, outcome)
    }

    fn caller(&self) -> Option<Box<dyn Fn() + Send + Sync>> {
        self.waiter.caller()
    }

    fn wait(&mut self, interval: Seconds) -> Result<Wake, MachineError> {
        self.waiter.wait(interval)
    }

    /// One outcome for each thread that was recorded ([`LinuxMachine::put_back`] has the details),
    /// then one for each page migration whose end no sample has reported. No page moves after this
    /// call returns.
    fn restore(&mut self) -> Result<Outcome, MachineError> {
        self.pages.withdraw_all();
        self.allocation.release();
        // Threads are put back even if ways are not, and without waiting for a batch of pages.
        let ways = self.ways.restore();
        let report = self.actuators.as_mut().map(Actuators::restore);
        let news = self.pages.stop();
        let flights = self.take_in(news);
        let Some(report) = report.transpose()? else { return Ok(Outcome::default()) };
        self.ways.forget();
        let mut outcome = outcome(&report);
        outcome.actions.extend(flights.into_iter().map(in_pages));
        self.put_back = Some(report);
        ways.map_err(MachineError::Ways)?;
        Ok(outcome)
    }
}
