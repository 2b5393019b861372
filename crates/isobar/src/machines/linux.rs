//! This machine under Linux: opens it to be watched and changed, puts it back, and reads its
//! topology or that of a captured tree.

pub use isobar_linux::actuators::state_file::default_path as default_state;
pub use isobar_linux::machine::stop::signals as stop_signals;
pub use isobar_linux::own_cpu_time;

use super::adjust::Adjust;
use crate::failure::{bad_input, notify};
use anyhow::{Context, anyhow};
use isobar_linux::actuators::manager_lock::{self, ManagerLock};
use isobar_linux::actuators::{self, ActuatorError, Outstanding, RestoreReport, file_capabilities, state_file};
use isobar_linux::kernel::{ancestors, identity};
use isobar_linux::machine::{LinuxMachine, LinuxOptions};
use isobar_linux::resctrl::{DEFAULT_ROOT, without_others};
use isobar_linux::sensors::accessed::AccessedBy;
use isobar_linux::sensors::accessed::damon;
use isobar_linux::sensors::{CounterSource, Sensing, SensorOptions, Sensors};
use isobar_linux::topology;
use isobar_linux::tree::Tree;
use isobar_model::{Machine, Pid, Policy, Sensor, Topology};
use isobar_runtime::selection::{Cgroups, Lookups};
use isobar_runtime::settings::{AccessedChoice, BalancingChoice, CounterChoice, ManageConfig, WaysChoice};
use numasim_bridge::{Page, PageCounters, PageWays};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The topology of this machine, or of a captured tree.
///
/// # Errors
/// Bad input if a captured tree cannot be read; a failure if this machine cannot be read.
pub fn read_topology(root: Option<&Path>) -> anyhow::Result<Topology> {
    match root {
        Some(root) => Tree::open(root).and_then(|tree| topology::read(&tree)).map_err(bad_input),
        None => topology::read(&Tree::live()).context("this machine"),
    }
}

/// Opens this machine to be watched and, unless it is a dry run, changed. Changes that a killed
/// isobar left are put back first; the second value says in words which. Sensors that cost
/// something are switched on later, by [`switched_on`].
///
/// If the machine cannot be read, or the state file cannot be taken over.
pub fn open(config: &ManageConfig, dry_run: bool) -> anyhow::Result<(LinuxMachine<Sensors>, Option<String>)> {
    opened(config, linux_options(config, dry_run))
}

/// Opens this machine for a daemon, which goes on if the disk is full and handles SIGHUP itself.
///
/// # Errors
/// As [`open`].
pub fn open_for_daemon(
    config: &ManageConfig,
    dry_run: bool,
) -> anyhow::Result<(LinuxMachine<Sensors>, Option<String>)> {
    let usual = linux_options(config, dry_run);
    opened(config, LinuxOptions { outlives_full_disks: true, spares_hangup: true, ..usual })
}

fn opened(config: &ManageConfig, options: LinuxOptions) -> anyhow::Result<(LinuxMachine<Sensors>, Option<String>)> {
    let dry_run = options.dry_run;
    let root = options.resctrl.clone();
    let page = page(config)?;
    let ways = page.clone().filter(|_| config.ways == WaysChoice::Numasim);
    let read = move || -> anyhow::Result<Topology> {
        let found = topology::read_with_resctrl(&Tree::live(), &root).context("this machine")?;
        match &ways {
            Some(page) => numasim_bridge::topology::with_ways(found, page.header()).map_err(bad_input),
            None => Ok(without_others(found, &root)),
        }
    };
    let topology = Arc::new(read()?);
    let mut sensors = sensors(config, page.as_ref(), &topology)?;
    sensors.look_for_resctrl(&options.resctrl);
    let again = read.clone();
    let mut machine = LinuxMachine::open(sensors, Box::new(move || read().map_err(Into::into)), options)?;
    if !dry_run {
        put_damon_back();
    }
    if let Some(page) = page.filter(|_| config.ways == WaysChoice::Numasim) {
        machine.give_ways_by(Box::new(PageWays::new(page, &topology).map_err(bad_input)?));
    }
    if machine.recovered().is_some() {
        // Groups that a killed isobar had left are removed now, and their classes of service are
        // free.
        machine.sensing().set_topology(Arc::new(again()?));
    }
    let recovered = machine.recovered().map(|report| {
        let remarks = report.remarks.iter().map(|remark| format!("; {remark}"));
        format!("an earlier isobar was killed and had left changes: {report}{}", remarks.collect::<String>())
    });
    Ok((machine, recovered))
}

/// Removes the DAMON settings that a killed isobar left, and says so.
fn put_damon_back() {
    match damon::put_back(Path::new(damon::ADMIN)) {
        Ok(false) => {}
        Ok(true) => notify("removed the DAMON settings left by an isobar that was killed"),
        Err(why) => notify(&format!("an isobar that was killed left DAMON settings, which cannot be removed: {why}")),
    }
}

/// Switches on the sensors that only some policies use, as far as this policy uses them.
pub fn switched_on(mut machine: LinuxMachine<Sensors>, policy: &dyn Policy) -> LinuxMachine<Sensors> {
    switch_on(&mut machine, policy);
    machine
}

fn switch_on(machine: &mut LinuxMachine<Sensors>, policy: &dyn Policy) {
    let used = [policy.needs(), policy.uses()].concat();
    if used.contains(&Sensor::Latency) {
        machine.sensing().probe_latency();
    }
    if used.contains(&Sensor::AccessedPages) {
        // For no process, until the loop says which processes it manages.
        machine.managed(&BTreeSet::new());
        machine.sensing().see_accessed_pages();
    }
}

impl Adjust for LinuxMachine<Sensors> {
    fn adjust(&mut self, config: &ManageConfig, policy: &dyn Policy) {
        self.bound_by(usize::try_from(config.max_moves_per_epoch).unwrap_or(usize::MAX), config.move_pinned);
        switch_on(self, policy);
    }
}

/// What is changed on this machine now, for code that must report it although the loop never ends.
#[derive(Clone, Default)]
pub struct Changed(Arc<OnceLock<(Outstanding, PathBuf)>>);

impl Changed {
    /// Tracks what this machine's actuators change.
    pub fn watch(&self, machine: &LinuxMachine<Sensors>, config: &ManageConfig) {
        if let Some(left) = machine.outstanding() {
            // Set once, because there is one machine.
            let _ = self.0.set((left, config.state_file.clone().unwrap_or_else(default_state)));
        }
    }

    /// Number of threads and resctrl groups that are changed now; `None` if nothing is ever
    /// changed.
    pub fn count(&self) -> Option<u64> {
        self.0.get().map(|(left, _)| u64::try_from(left.count()).unwrap_or(u64::MAX))
    }

    /// One line: how much is left changed, where it is recorded, and what to do.
    pub fn in_words(&self) -> String {
        let nothing = "nothing is left changed".to_owned();
        let Some((left, state)) = self.0.get() else { return nothing };
        let state = state.display();
        match (left.count(), left.frees_heirs()) {
            (0, false) => nothing,
            (0, true) => format!(
                "all threads are put back, but processes that they were forking may still be bound to a CPU that isobar \
                 chose: run `isobar restore --state {state}`"
            ),
            (count, _) => format!(
                "{count} threads, resctrl groups or switches are not put back; {state} has their original settings: \
                 run `isobar restore --state {state}`"
            ),
        }
    }
}

/// Names a file that stands for the ivshmem device, in tests of the test backend.
const PAGE_FILE: &str = "ISOBAR_NUMASIM_PAGE";

/// The shared page of a numasim guest, if the configuration asks for it.
fn page(config: &ManageConfig) -> anyhow::Result<Option<Arc<Page>>> {
    let key = match (config.counters, config.ways) {
        (CounterChoice::Numasim, _) => "counters",
        (_, WaysChoice::Numasim) => "ways",
        _ => return Ok(None),
    };
    let file = std::env::var_os(PAGE_FILE).map(PathBuf::from);
    numasim_bridge::page::open(file.as_deref(), key).map(Some).map_err(bad_input)
}

/// The sensors, with the counters that the configuration asks for.
fn sensors(config: &ManageConfig, page: Option<&Arc<Page>>, topology: &Arc<Topology>) -> anyhow::Result<Sensors> {
    let (options, topology) = (sensor_options(config), Arc::clone(topology));
    let Some(page) = page.filter(|_| config.counters == CounterChoice::Numasim) else {
        return Ok(Sensors::open(options, topology)?);
    };
    numasim_bridge::topology::check_cpus(&topology, page.header()).map_err(bad_input)?;
    Ok(Sensors::with_counters(options, topology, Box::new(PageCounters::new(Arc::clone(page))))?)
}

fn sensor_options(config: &ManageConfig) -> SensorOptions {
    SensorOptions {
        max_threads: usize::try_from(config.max_threads).unwrap_or(usize::MAX),
        counters: match config.counters {
            CounterChoice::Software => CounterSource::Software,
            CounterChoice::Auto | CounterChoice::Numasim => CounterSource::Auto,
        },
        accessed_pages: match config.accessed_pages {
            AccessedChoice::Auto => AccessedBy::Any,
            AccessedChoice::Damon => AccessedBy::Damon,
            AccessedChoice::Mappings => AccessedBy::Mappings,
        },
        // A managed thread may fall to half of the CPU share that it was taken on for before it is
        // released.
        min_cpu_share_for_pages: config.min_cpu_percent / 200.0,
        ..SensorOptions::default()
    }
}

fn linux_options(config: &ManageConfig, dry_run: bool) -> LinuxOptions {
    LinuxOptions {
        state: config.state_file.clone().unwrap_or_else(default_state),
        manager_lock: manager_lock::place(),
        pages_per_second: config.max_pages_per_second,
        moves_per_epoch: usize::try_from(config.max_moves_per_epoch).unwrap_or(usize::MAX),
        move_pinned: config.move_pinned,
        resctrl: config.resctrl_root.clone().unwrap_or_else(|| DEFAULT_ROOT.into()),
        move_grouped: config.move_grouped,
        balancing_off: config.numa_balancing == BalancingChoice::Off,
        watch_affinities: config.watch_affinities,
        dry_run,
        ..LinuxOptions::default()
    }
}

/// Keeps every other isobar from managing this machine until the lock is dropped, because a manager
/// may write a state file at any moment, and may have changed what another file records.
///
/// # Errors
/// If another isobar manages this machine.
pub fn only_manager() -> anyhow::Result<Option<ManagerLock>> {
    let manager = manager_lock::place().as_deref().map(ManagerLock::take).transpose()?;
    manager.iter().flat_map(ManagerLock::remarks).for_each(|remark| notify(remark));
    Ok(manager)
}

/// Puts back what the state file records; `None` if there is no state file. The caller must be the
/// [`only_manager`].
///
/// # Errors
/// If the file cannot be read. A file that is no state file of ours is bad input if the user
/// `named` it. Otherwise nothing was typed that could be wrong, and it is a failure.
pub fn restore(state: &Path, named: bool) -> anyhow::Result<Option<RestoreReport>> {
    let explain = |error: ActuatorError| match error {
        error if named && is_wrong_file(&error) => bad_input(error),
        error => error.into(),
    };
    put_damon_back();
    actuators::restore(state).map_err(explain)
}

/// What the kernel refused to put back, as an error; `None` if it refused nothing.
pub fn refused(state: &Path, report: &RestoreReport) -> Option<anyhow::Error> {
    let why = report.refusal.as_ref().filter(|_| report.refused > 0)?;
    Some(anyhow!("{}: {report}: {why}; the file is kept", state.display()))
}

/// Whether the path is at fault: the file there is no state file, or may not be read or trusted.
fn is_wrong_file(error: &ActuatorError) -> bool {
    match error {
        ActuatorError::Broken { .. } | ActuatorError::NotAFile { .. } => true,
        ActuatorError::Foreign { .. } | ActuatorError::Unsafe { .. } => true,
        ActuatorError::State { what, .. } => state_file::READING.contains(what),
        _ => false,
    }
}

/// Drops the capabilities of the executable that the caller may not use, and says so. Must be
/// called before any thread is started.
///
/// # Errors
/// If the kernel does not let them be dropped.
pub fn give_up_what_is_not_the_callers() -> anyhow::Result<()> {
    let done = file_capabilities::give_up_what_is_not_the_callers();
    let remark = done.context("cannot give up the executable's capabilities")?;
    remark.iter().for_each(|remark| notify(remark));
    Ok(())
}

/// What was put back, as JSON.
pub fn report_to_json(report: &RestoreReport) -> Value {
    json!({
        "restored": report.restored,
        "untouched": report.untouched,
        "vanished": report.vanished,
        "reused": report.reused,
        "changed_by_owner": report.changed_by_owner,
        "refused": report.refused,
        "heirs": report.inherited,
        "resctrl_groups": report.groups,
        "resctrl_tasks": report.grouped_tasks,
        "earlier_boot": report.earlier_boot,
        "remarks": report.remarks,
    })
}

/// What a person should look at after this machine was put back, one line each.
pub fn put_back_remarks(machine: &LinuxMachine<Sensors>) -> Vec<String> {
    machine.put_back().map(|report| report.remarks.clone()).unwrap_or_default()
}

/// Whether a process was started by another one, directly or through processes in between, as far
/// as the kernel reports it now.
pub fn descends(pid: Pid, from: Pid) -> bool {
    // Every process was started by the first, which the ancestry leaves out.
    if from == Pid(1) {
        return true;
    }
    ancestors::ancestry(pid, identity::process).any(|(one, _)| one == from)
}

/// How the loop looks up processes on this machine.
pub const LOOKUPS: Lookups<'static> = Lookups { cgroups: &cgroup_of, descends: &descends };

/// The cgroups of a process in every hierarchy; `None` if the process is gone.
fn cgroup_of(pid: Pid) -> Option<Cgroups> {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok().map(|text| Cgroups::parse(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_cgroup_in_every_hierarchy_and_none_once_it_is_gone() {
        let lines = std::fs::read_to_string("/proc/self/cgroup").unwrap().lines().count();
        assert_eq!(cgroup_of(Pid(std::process::id())).unwrap().paths().len(), lines);
        assert_eq!(cgroup_of(Pid(u32::MAX)), None);
    }

    #[test]
    fn what_is_configured_reaches_the_machine() {
        let config = ManageConfig {
            move_pinned: true,
            move_grouped: true,
            resctrl_root: Some("/x/resctrl".into()),
            max_pages_per_second: 5,
            max_moves_per_epoch: 6,
            max_threads: 7,
            state_file: Some("/x/state.json".into()),
            counters: CounterChoice::Software,
            accessed_pages: AccessedChoice::Mappings,
            min_cpu_percent: 30.0,
            ..ManageConfig::default()
        };
        let options = linux_options(&config, true);
        assert_eq!((options.pages_per_second, options.moves_per_epoch), (5, 6));
        assert_eq!(options.state, Path::new("/x/state.json"));
        assert_eq!(options.resctrl, Path::new("/x/resctrl"));
        assert!(options.move_grouped);
        assert!(options.move_pinned && options.dry_run && options.catch_signals);
        let sensors = sensor_options(&config);
        assert_eq!((sensors.max_threads, sensors.counters), (7, CounterSource::Software));
        assert_eq!(sensors.accessed_pages, AccessedBy::Mappings);
        assert!((sensors.min_cpu_share_for_pages - 0.15).abs() < 1e-9);
    }
}
