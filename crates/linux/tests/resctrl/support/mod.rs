//! Shared by the resctrl tests: a mounted double of the file system (a kernel's rules behind FUSE),
//! a machine whose sensors see a few processes of the tests, and the state that must be the same at
//! the end as at the start.

use super::live::watch::Watch;
use super::live::{Kept, place, sleeper};
use isobar_linux::machine::{LinuxMachine, LinuxOptions};
use isobar_linux::tree::Tree;
use isobar_model::{Action, ActionOutcome, CpuId, LlcId, Machine as _, Pid, Plan, Tid};
use isobar_resctrl_double::{Machine, Mounted, can_mount};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Allows one test at a time. A child that is being started holds open files of every test until it
/// executes, and closes them under a kernel lock. The double, which serves those files from this
/// very process, needs that lock to look at the child. Files of a real kernel have no such cycle.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A mounted double with a machine over it.
pub struct Stage {
    pub machine: LinuxMachine<Watch>,
    pub mounted: Mounted,
    pub state: PathBuf,
    _state: tempfile::TempDir,
    _alone: Option<MutexGuard<'static, ()>>,
}

/// Two L3 domains of 11 ways, 16 classes, with bandwidth allocation; the ids are those of the LLCs.
pub fn two_llcs() -> Machine {
    Machine { bandwidth: true, ..Machine::with_domains([0, 1]) }
}

/// A double on a folder of its own; `None`, with the reason on stderr, if mounting is not possible.
pub fn mount(machine: Machine) -> Option<Mounted> {
    if !can_mount() {
        eprintln!("SKIPPED: a mount needs root and /dev/fuse; nothing of the resctrl actuator was tested");
        return None;
    }
    Some(Mounted::temporary(machine).unwrap())
}

pub fn options(state: &Path, root: &Path) -> LinuxOptions {
    let (state, resctrl) = (state.into(), root.into());
    LinuxOptions { state, resctrl, manager_lock: None, catch_signals: false, ..LinuxOptions::default() }
}

pub fn open(pids: Vec<Pid>, options: LinuxOptions) -> LinuxMachine<Watch> {
    let watch = Watch { cpu: Some(CpuId(0)), ..Watch::of(pids) };
    let read_again = || isobar_linux::topology::read(&Tree::live()).map_err(Into::into);
    LinuxMachine::open(watch, Box::new(read_again), options).unwrap()
}

impl Stage {
    /// A stage with processes of the tests, while no other test runs.
    pub fn set<const N: usize>(machine: Machine) -> Option<([Kept; N], Self)> {
        let alone = alone();
        let processes = sleepers();
        let mut stage = Self::new(machine, &processes.each_ref(), |_| {})?;
        stage._alone = Some(alone);
        Some((processes, stage))
    }

    /// A machine that sees these processes and has sampled them once.
    pub fn new(machine: Machine, processes: &[&Kept], change: impl FnOnce(&mut LinuxOptions)) -> Option<Self> {
        let mounted = mount(machine)?;
        let (state_folder, state) = place();
        let mut options = options(&state, mounted.folder());
        change(&mut options);
        let mut machine = open(processes.iter().map(|process| process.pid()).collect(), options);
        machine.sample().unwrap();
        Some(Self { machine, mounted, state, _state: state_folder, _alone: None })
    }

    pub fn root(&self) -> PathBuf {
        self.mounted.folder().to_owned()
    }

    /// Samples and carries out the actions.
    pub fn apply(&mut self, actions: Vec<Action>) -> Vec<ActionOutcome> {
        self.machine.sample().unwrap();
        self.machine.apply(&plan(actions)).unwrap().actions
    }

    /// The same, and expects that all actions were done.
    pub fn done(&mut self, actions: Vec<Action>) {
        let count = actions.len();
        assert_eq!(self.apply(actions), vec![ActionOutcome::Done; count]);
    }

    /// The L3 mask in a domain of the control group that a process is in.
    pub fn mask(&self, process: &Kept, domain: u32) -> u64 {
        let group = group_of(&self.root(), process.tid()).0;
        schemata(&self.root(), &group).get("L3", domain).unwrap()
    }

    /// Our control groups, according to the file system.
    pub fn groups(&self) -> Vec<String> {
        folders(&self.root()).into_iter().filter(|name| name.starts_with("isobar-")).collect()
    }
}

pub fn plan(actions: Vec<Action>) -> Plan {
    Plan { policy: "test".into(), actions, ..Plan::default() }
}

pub fn ways(llc: u32, cluster: &str, way_mask: u64, members: &[&Kept]) -> Action {
    let threads = members.iter().map(|process| process.tid()).collect();
    Action::SetWays {
        llc: LlcId(llc),
        cluster: cluster.into(),
        way_mask,
        memory_bandwidth_percent: None,
        threads,
        reason: "a test".into(),
    }
}

pub fn slowed(llc: u32, cluster: &str, way_mask: u64, percent: u32, members: &[&Kept]) -> Action {
    let mut action = ways(llc, cluster, way_mask, members);
    if let Action::SetWays { memory_bandwidth_percent, .. } = &mut action {
        *memory_bandwidth_percent = Some(percent);
    }
    action
}

pub fn why(outcome: &ActionOutcome) -> &str {
    match outcome {
        ActionOutcome::Refused { why, .. } | ActionOutcome::LeftAlone { why } => why,
        other => panic!("{other:?}"),
    }
}

pub fn sleepers<const N: usize>() -> [Kept; N] {
    std::array::from_fn(|_| sleeper())
}

pub fn schemata(root: &Path, group: &str) -> isobar_linux::kernel::schemata::Schemata {
    let text = fs::read_to_string(root.join(group).join("schemata")).unwrap();
    isobar_linux::kernel::schemata::Schemata::parse(&text).unwrap()
}

fn folders(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn controls(root: &Path) -> Vec<String> {
    let special = ["info", "mon_groups", "mon_data"];
    let mut names: Vec<String> = folders(root).into_iter().filter(|name| !special.contains(&name.as_str())).collect();
    names.push(String::new());
    names
}

fn holds(folder: &Path, tid: Tid) -> bool {
    let tasks = fs::read_to_string(folder.join("tasks")).unwrap_or_default();
    tasks.lines().any(|line| line == tid.to_string())
}

/// The control group and the monitor group of a task, according to the files alone.
pub fn group_of(root: &Path, tid: Tid) -> (String, Option<String>) {
    let control = controls(root).into_iter().find(|control| holds(&root.join(control), tid)).unwrap();
    let groups = root.join(&control).join("mon_groups");
    let monitor = folders(&groups).into_iter().find(|monitor| holds(&groups.join(monitor), tid));
    (control, monitor)
}

/// Everything that must be as it was: groups with their masks, and the groups of these tasks.
#[derive(Debug, PartialEq, Eq)]
pub struct Picture {
    groups: Vec<(String, String, Vec<String>)>,
    tasks: Vec<(String, Option<String>)>,
}

pub fn picture(root: &Path, tasks: &[&Kept]) -> Picture {
    let group = |name: String| {
        let text = fs::read_to_string(root.join(&name).join("schemata")).unwrap();
        let monitors = folders(&root.join(&name).join("mon_groups"));
        (name, text, monitors)
    };
    Picture {
        groups: controls(root).into_iter().map(group).collect(),
        tasks: tasks.iter().map(|task| group_of(root, task.tid())).collect(),
    }
}
