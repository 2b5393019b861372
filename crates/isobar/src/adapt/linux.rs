//! The machine that the command runs on, and captured trees of others.

use crate::config::{CounterChoice, ManageConfig, WaysChoice};
use crate::failure::bad_input;
use anyhow::Context;
use isobar_linux::actuators::{self, ActuatorError, RestoreReport, state_file};
use isobar_linux::machine::{LinuxMachine, LinuxOptions};
use isobar_linux::numasim::{self, Page, PageCounters, PageWays};
use isobar_linux::resctrl::{DEFAULT_ROOT, without_others};
use isobar_linux::sensors::{CounterSource, SensorOptions, Sensors};
use isobar_linux::topology;
use isobar_linux::tree::Tree;
use isobar_model::{Pid, Seconds, Topology};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The topology of this machine, or of a captured tree.
///
/// # Errors
/// Bad input where a captured tree cannot be read; a failure where this machine cannot.
pub fn read_topology(root: Option<&Path>) -> anyhow::Result<Topology> {
    match root {
        Some(root) => Tree::open(root).and_then(|tree| topology::read(&tree)).map_err(bad_input),
        None => topology::read(&Tree::live()).context("this machine"),
    }
}

/// This machine, to be watched and (unless it is a dry run) changed; and what an isobar that was killed had left changed
/// and is now put back, in words.
///
/// # Errors
/// Where it cannot be read, or the state file not be taken.
pub fn open(config: &ManageConfig, dry_run: bool) -> anyhow::Result<(LinuxMachine<Sensors>, Option<String>)> {
    let options = linux_options(config, dry_run);
    let root = options.resctrl.clone();
    let page = page(config)?;
    let ways = page.clone().filter(|_| config.ways == WaysChoice::Numasim);
    let read = move || -> anyhow::Result<Topology> {
        let found = topology::read_with_resctrl(&Tree::live(), &root).context("this machine")?;
        match &ways {
            Some(page) => numasim::topology::with_ways(found, page.header()).map_err(bad_input),
            None => Ok(without_others(found, &root)),
        }
    };
    let topology = Arc::new(read()?);
    let mut sensors = Sensors::open(sensor_options(config), Arc::clone(&topology))?;
    sensors.look_for_resctrl(&options.resctrl);
    count_by_page(&mut sensors, config, page.as_ref(), &topology)?;
    let again = read.clone();
    let mut machine = LinuxMachine::open(sensors, Box::new(move || read().map_err(Into::into)), options)?;
    if let Some(page) = page.filter(|_| config.ways == WaysChoice::Numasim) {
        machine.ways_by_page(PageWays::new(page, &topology).map_err(bad_input)?);
    }
    if machine.recovered().is_some() {
        // Groups that an isobar that was killed had left are gone now, and their classes of service free.
        machine.sensing().set_topology(Arc::new(again()?));
    }
    let recovered = machine.recovered().map(|report| format!("an isobar that was killed had left changes: {report}"));
    Ok((machine, recovered))
}

/// The file that stands for the ivshmem device, for tests of the test backend.
const PAGE_FILE: &str = "ISOBAR_NUMASIM_PAGE";

/// The page of a numasim guest, where the configuration asks for it.
fn page(config: &ManageConfig) -> anyhow::Result<Option<Arc<Page>>> {
    let key = match (config.counters, config.ways) {
        (CounterChoice::Numasim, _) => "counters",
        (_, WaysChoice::Numasim) => "ways",
        _ => return Ok(None),
    };
    let file = std::env::var_os(PAGE_FILE).map(PathBuf::from);
    numasim::page::open(file.as_deref(), key).map(Some).map_err(bad_input)
}

fn count_by_page(
    sensors: &mut Sensors,
    config: &ManageConfig,
    page: Option<&Arc<Page>>,
    topology: &Topology,
) -> anyhow::Result<()> {
    if let Some(page) = page.filter(|_| config.counters == CounterChoice::Numasim) {
        numasim::topology::check_cpus(topology, page.header()).map_err(bad_input)?;
        sensors.count_by_page(PageCounters::new(Arc::clone(page)));
    }
    Ok(())
}

fn sensor_options(config: &ManageConfig) -> SensorOptions {
    SensorOptions {
        max_threads: usize::try_from(config.max_threads).unwrap_or(usize::MAX),
        counters: match config.counters {
            CounterChoice::Auto => CounterSource::Auto,
            CounterChoice::Software => CounterSource::Software,
            CounterChoice::Numasim => CounterSource::Numasim,
        },
        // A thread that is managed may fall to half of what it was taken on for before it is let go.
        min_cpu_share_for_pages: config.min_cpu_percent / 200.0,
        ..SensorOptions::default()
    }
}

fn linux_options(config: &ManageConfig, dry_run: bool) -> LinuxOptions {
    LinuxOptions {
        state: config.state_file.clone().unwrap_or_else(default_state),
        pages_per_second: config.max_pages_per_second,
        moves_per_epoch: usize::try_from(config.max_moves_per_epoch).unwrap_or(usize::MAX),
        move_pinned: config.move_pinned,
        resctrl: config.resctrl_root.clone().unwrap_or_else(|| DEFAULT_ROOT.into()),
        move_grouped: config.move_grouped,
        dry_run,
        ..LinuxOptions::default()
    }
}

/// What `isobar restore` did.
pub struct Restored {
    /// in words, one line
    pub text: String,
    /// for programs
    pub json: Value,
}

/// Puts back what the state file records; `None` where there is none.
///
/// # Errors
/// Where another isobar runs, the file cannot be read, or the kernel refuses. A file that is no state file of ours is bad
/// input where the user `named` it, else a failure: then nobody typed anything wrong.
pub fn restore(state: &Path, named: bool) -> anyhow::Result<Option<Restored>> {
    let wrong_file =
        |error: &ActuatorError| matches!(error, ActuatorError::Broken { .. } | ActuatorError::Foreign { .. });
    let done = actuators::restore(state)
        .map_err(|error| if named && wrong_file(&error) { bad_input(error) } else { error.into() })?;
    let Some(report) = done else { return Ok(None) };
    if let Some(why) = report.refusal.as_ref().filter(|_| report.refused > 0) {
        anyhow::bail!("{}: {report}: {why}; the file is kept", state.display());
    }
    Ok(Some(Restored { text: report.to_string(), json: report_to_json(&report) }))
}

fn report_to_json(report: &RestoreReport) -> Value {
    json!({
        "restored": report.restored,
        "untouched": report.untouched,
        "vanished": report.vanished,
        "reused": report.reused,
        "changed_by_owner": report.changed_by_owner,
        "heirs": report.heirs,
        "resctrl_groups": report.groups,
        "resctrl_tasks": report.grouped_tasks,
        "earlier_boot": report.earlier_boot,
    })
}

/// CPU time that this process has taken so far, all threads.
pub fn own_cpu_time() -> Seconds {
    isobar_linux::own_cpu_time()
}

/// The state file, where none is named.
pub fn default_state() -> PathBuf {
    state_file::default_path()
}

/// The cgroup of a process, as its path below the root of the unified hierarchy (cgroups(7), `/proc/PID/cgroup`).
pub fn cgroup_of(pid: Pid) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    unified_path(&text).map(str::to_owned)
}

/// The path in the line of the unified hierarchy (`0::/PATH`); on version 1 that of the first controller.
fn unified_path(text: &str) -> Option<&str> {
    let unified = text.lines().find_map(|line| line.strip_prefix("0::"));
    unified.or_else(|| text.lines().next()?.splitn(3, ':').nth(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unified_hierarchy_comes_first() {
        assert_eq!(unified_path("4:memory:/a\n0::/b/c:d\n"), Some("/b/c:d"));
        assert_eq!(unified_path("4:memory:/a\n3:cpu:/b\n"), Some("/a"));
        assert_eq!(unified_path(""), None);
        assert_eq!(unified_path("nonsense"), None);
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
        assert!((sensors.min_cpu_share_for_pages - 0.15).abs() < 1e-9);
    }
}
