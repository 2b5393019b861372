//! Sensors for tests of the machine: they see processes of the tests with their threads, start
//! times and masks, on a machine of two LLCs, and whatever else a test sets. They have no counters.

use isobar_linux::kernel::{affinity, identity};
use isobar_linux::machine::Sensing;
use isobar_linux::sensors::Sampled;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{CpuId, CpuSet, Pid, ProcessSample, Sample, Seconds, ThreadSample, Tid, Topology};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

/// Sensors that see some processes.
#[derive(Default)]
pub struct Watch {
    pub pids: Vec<Pid>,
    pub time: f64,
    /// A thread whose mask is not this one counts as pinned; `None`: no thread is pinned.
    pub everywhere: Option<CpuSet>,
    /// The CPU of threads that `cpus` does not name.
    pub cpu: Option<CpuId>,
    pub cpus: BTreeMap<Tid, CpuId>,
    /// Processes whose pages were reported as moved.
    pub outdated: Vec<Pid>,
}

impl Watch {
    /// Sensors that see these processes.
    pub fn of(pids: Vec<Pid>) -> Self {
        Self { pids, ..Self::default() }
    }

    fn process(&self, pid: Pid) -> Option<ProcessSample> {
        let start = identity::process(pid)?.start;
        let threads = identity::threads(pid).into_iter().filter_map(|tid| self.thread(pid, tid)).collect();
        Some(ProcessSample { pid, start, name: "ours".into(), threads, ..ProcessSample::default() })
    }

    fn thread(&self, pid: Pid, tid: Tid) -> Option<ThreadSample> {
        let start = identity::task(pid, tid)?.start;
        let allowed = affinity::get(tid).ok()?;
        Some(ThreadSample {
            tid,
            start,
            cpu: self.cpus.get(&tid).copied().or(self.cpu),
            pinned: self.everywhere.as_ref().is_some_and(|everywhere| allowed != *everywhere),
            allowed: Some(allowed),
            ..ThreadSample::default()
        })
    }
}

impl Sensing for Watch {
    type Error = Infallible;

    fn sample(&mut self) -> Result<Sample, Infallible> {
        self.pids.sort_unstable();
        let machine = Arc::new(synthetic("node:2 core:1").unwrap());
        let processes = self.pids.iter().filter_map(|&pid| self.process(pid)).collect();
        Ok(Sample::bare(Seconds(self.time), machine, processes))
    }

    fn sampled_addresses(&mut self, _: Pid, _: Option<Tid>) -> Sampled {
        Sampled::NoThread
    }

    fn pages_moved(&mut self, pid: Pid) {
        self.outdated.push(pid);
    }

    fn set_topology(&mut self, _: Arc<Topology>) {}
}
