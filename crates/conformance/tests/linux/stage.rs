//! The running kernel as a stage.

use crate::{subject, witness};
use isobar_conformance::{Bench, Identity, Stage, Stop, Subject};
use isobar_linux::machine::{LinuxMachine, LinuxOptions};
use isobar_linux::resctrl::without_others;
use isobar_linux::sensors::{CounterSource, SensorOptions, Sensors};
use isobar_linux::topology;
use isobar_linux::tree::Tree;
use isobar_model::{CpuId, CpuSet, LlcId, NodeId, NodeMap, Pages, Pid, Seconds, Tid, Topology};
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use tempfile::TempDir;

/// Length of an epoch: long enough that a thread that shares its CPU with a dozen others shows in
/// the kernel's ticks of 10 ms.
const EPOCH: Seconds = Seconds(0.3);

pub struct Kernel {
    /// Where resctrl is mounted, or would be.
    pub resctrl: PathBuf,
}

impl Bench for Kernel {
    type Stage = Linux;

    fn topology(&self) -> Result<Arc<Topology>, Stop> {
        let topology = topology::read_with_resctrl(&Tree::live(), &self.resctrl)?;
        Ok(Arc::new(without_others(topology, &self.resctrl)))
    }

    fn cpus(&self) -> Result<CpuSet, Stop> {
        let mask = sched_getaffinity(None)?;
        let numbers = (0..).take(Mask::MAX_CPU).filter(|cpu| mask.is_set(isobar_model::num::index(*cpu)));
        Ok(numbers.map(CpuId).collect())
    }

    fn open(&self, subjects: &[Subject]) -> Result<Linux, Stop> {
        if witness::nodes_with_cpus().len() > 1 && witness::kernel_moves_pages() {
            let remedy = "the kernel moves pages by itself: `sysctl kernel.numa_balancing=0` for the time of the test";
            return Err(Stop::Lacks(remedy.to_owned()));
        }
        let folder = tempfile::tempdir()?;
        let sensors = SensorOptions { counters: CounterSource::Software, ..SensorOptions::default() };
        let mut sensors = Sensors::open(sensors, self.topology()?)?;
        sensors.probe_latency();
        let state = folder.path().join("state.json");
        let resctrl = self.resctrl.clone();
        let options =
            LinuxOptions { state, resctrl, manager_lock: None, catch_signals: false, ..LinuxOptions::default() };
        let root = self.resctrl.clone();
        let read_again = move || topology::read_with_resctrl(&Tree::live(), &root).map_err(Into::into);
        let running = subjects.iter().map(|subject| Running::start(self, *subject)).collect::<Result<_, _>>()?;
        let machine = LinuxMachine::open(sensors, Box::new(read_again), options)?;
        Ok(Linux { machine, running, resctrl: self.resctrl.clone(), _folder: folder })
    }
}

/// Fields are dropped in their order, so the machine restores what it changed while its subjects
/// live.
pub struct Linux {
    machine: LinuxMachine<Sensors>,
    running: Vec<Running>,
    resctrl: PathBuf,
    _folder: TempDir,
}

/// A subject, which ends when this is dropped.
struct Running {
    subject: Subject,
    child: Child,
    threads: Vec<Tid>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(kernel: &Kernel, subject: Subject) -> Result<Self, Stop> {
        let child = subject::command(&subject, first_cpu(kernel, subject.node)?).spawn()?;
        let mut running = Self { subject, child, threads: Vec::new() };
        let stdin = running.child.stdin.as_mut().unwrap();
        stdin.write_all(b"go\n")?;
        let mut line = String::new();
        BufReader::new(running.child.stdout.as_mut().unwrap()).read_line(&mut line)?;
        let ids = line.trim().strip_prefix("ready").ok_or_else(|| Stop::Fails(format!("a subject said `{line}`")))?;
        running.threads = ids.split_ascii_whitespace().map(|id| Tid(id.parse().unwrap())).collect();
        Ok(running)
    }
}

/// The first CPU of a node that we may use; any CPU if the kernel knows no nodes.
fn first_cpu(kernel: &Kernel, node: NodeId) -> Result<CpuId, Stop> {
    let (usable, listed) = (kernel.cpus()?, witness::cpus_of(node));
    let here = if listed.is_empty() { usable } else { usable.intersection(&listed) };
    here.first().ok_or_else(|| Stop::Lacks(format!("no CPU of node {node} may be used")))
}

impl Stage for Linux {
    type Machine = LinuxMachine<Sensors>;

    fn machine(&mut self) -> &mut Self::Machine {
        &mut self.machine
    }

    fn epoch(&self) -> Seconds {
        EPOCH
    }

    fn identity(&mut self, subject: usize) -> Result<Identity, Stop> {
        let running = self.running.get(subject).ok_or_else(|| Stop::Fails(format!("there is no subject {subject}")))?;
        Ok(Identity { pid: Pid(running.child.id()), threads: running.threads.clone() })
    }

    fn replace(&mut self, subject: usize) -> Result<(), Stop> {
        let old = self.running.get_mut(subject).ok_or_else(|| Stop::Fails(format!("there is no subject {subject}")))?;
        old.child.kill()?;
        old.child.wait()?;
        *old = Running::start(&Kernel { resctrl: self.resctrl.clone() }, old.subject)?;
        Ok(())
    }

    fn pin(&mut self, tid: Tid, cpus: &CpuSet) -> Result<(), Stop> {
        let mut mask = Mask::new();
        cpus.iter().for_each(|cpu| mask.set(isobar_model::num::index(cpu.0)));
        let tid = i32::try_from(tid.0).ok().and_then(rustix::process::Pid::from_raw);
        Ok(sched_setaffinity(Some(tid.unwrap()), &mask)?)
    }

    fn affinity(&mut self, pid: Pid, tid: Tid) -> Option<CpuSet> {
        witness::affinity(pid, tid)
    }

    fn cpu(&mut self, pid: Pid, tid: Tid) -> Option<CpuId> {
        witness::cpu(pid, tid)
    }

    fn pages(&mut self, pid: Pid) -> Option<NodeMap<Pages>> {
        witness::pages(pid)
    }

    fn ways(&mut self, llc: LlcId, tid: Tid) -> Option<u64> {
        witness::ways(&self.resctrl, llc, tid)
    }
}
