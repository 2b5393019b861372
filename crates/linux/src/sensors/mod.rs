//! Sensors: processes and threads, event counters, pages by node, accessed pages, free memory,
//! memory latency, and sampled addresses of the running kernel.
//!
//! The sensors read, and change nothing but their own descriptor limit; only [`accessed`], once it
//! is asked for, changes something in the kernel. Raw counters stay raw: rates and contention are
//! computed elsewhere. What cannot be measured is `None` in the sample, and the reason is in the
//! capabilities.

pub mod accessed;
pub mod counters;
mod error;
mod latency;
pub mod memory;
mod options;
mod perf;
pub mod reasons;
mod sensing;
mod thread_counters;
pub mod threads;

pub use error::SensorError;
pub use memory::samplers::Sampled;
pub use options::{CounterSource, SensorOptions};
pub use sensing::Sensing;
pub use thread_counters::{Running, ThreadCounters};

use crate::kernel::cpu_model::{CPUS, CpuModel};
use crate::kernel::page_range::PageRange;
use crate::kernel::{capability, clock};
use crate::neighbours::{Daemon, Neighbours};
use crate::resctrl::absence::Evidence;
use accessed::{Accessed, Watched};
use counters::{available, pmu, why};
use isobar_model::{
    Capabilities, Counters, Indirect, Pid, ProcessSample, Sample, Seconds, Sensor, ThreadSample, Tid, Topology, num,
};
use latency::LatencySensor;
use memory::pages::PageReader;
use memory::samplers::{self, Samplers};
use perf::PerfCounters;
use reasons::capabilities::{self, Facts};
use rustix::time::ClockId;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use threads::state::{ProcessState, ThreadState};
use threads::table::Table;

/// The open sensors of the running machine.
pub struct Sensors {
    topology: Arc<Topology>,
    facts: Facts,
    table: Table,
    counters: Box<dyn ThreadCounters + Send>,
    pages: PageReader,
    samplers: Samplers,
    latency: LatencySensor,
    accessed: Accessed,
    /// The processes whose accesses are looked at; all that run if none were named.
    accesses_of: Option<BTreeSet<Pid>>,
    capabilities: Arc<Capabilities>,
    opened: f64,
    last: f64,
    round: u64,
}

impl Sensors {
    /// Finds out what can be measured, and counts events by perf. Raises the soft descriptor limit
    /// to the hard one.
    ///
    /// # Errors
    /// [`SensorError`] if `/proc` cannot be opened. A sensor that is missing is not an error: see
    /// [`Self::capabilities`].
    pub fn open(options: SensorOptions, topology: Arc<Topology>) -> Result<Self, SensorError> {
        let cpu = CpuModel::live();
        let model = |pmu: &pmu::Pmu| cpu.of(pmu.cpu, Path::new(CPUS));
        let pmus = pmu::core_pmus(Path::new(pmu::DEVICES));
        let available = available::available(options.counters, &model, &pmus, topology.llcs().len() > 1);
        let facts = Facts::live(&cpu);
        let counters = PerfCounters::new(&options, available, facts.clone());
        Self::with_facts(options, topology, Box::new(counters), facts)
    }

    /// The same, with counts from a source other than perf.
    ///
    /// # Errors
    /// The same as for [`Self::open`].
    pub fn with_counters(
        options: SensorOptions,
        topology: Arc<Topology>,
        counters: Box<dyn ThreadCounters + Send>,
    ) -> Result<Self, SensorError> {
        Self::with_facts(options, topology, counters, Facts::live(&CpuModel::live()))
    }

    fn with_facts(
        options: SensorOptions,
        topology: Arc<Topology>,
        counters: Box<dyn ThreadCounters + Send>,
        facts: Facts,
    ) -> Result<Self, SensorError> {
        let source = samplers::source(options.counters, Path::new(pmu::DEVICES));
        let opened = monotonic();
        let mut sensors = Self {
            table: Table::open()?,
            counters,
            pages: PageReader::new(options.pages_every, options.min_cpu_share_for_pages, options.pages_budget),
            samplers: Samplers::new(source),
            latency: LatencySensor::default(),
            accessed: Accessed::new(options.accessed_pages),
            accesses_of: None,
            capabilities: Arc::default(),
            topology,
            facts,
            opened,
            last: opened,
            round: 0,
        };
        sensors.review();
        Ok(sensors)
    }

    /// Looks for resctrl at `root`, if it is not mounted at its usual place.
    pub fn look_for_resctrl(&mut self, root: &Path) {
        self.facts.resctrl = Evidence::live(root);
        self.facts.neighbours = Neighbours::read(Path::new("/"), root);
        self.review();
    }

    /// Makes every sample probe the latency between nodes from now on. That costs a thread for each
    /// node, which sleeps except for a fraction of a millisecond in each sample.
    pub fn probe_latency(&mut self) {
        self.latency.start(&self.topology);
        self.review();
    }

    /// Sees from now on which pages processes access, as far as this kernel permits; see
    /// [`accessed`]. What this sets up in the kernel is removed when the sensors are dropped.
    pub fn see_accessed_pages(&mut self) {
        self.accessed.switch_on();
        self.review();
    }

    /// What can be measured, and why the rest cannot; the same `Arc` as long as nothing changes.
    #[must_use]
    pub fn capabilities(&self) -> Arc<Capabilities> {
        Arc::clone(&self.capabilities)
    }

    fn read_pages(&mut self, interval: f64) {
        let (processes, files) = self.table.parts();
        self.pages.refresh(processes, files, self.round, interval);
    }

    /// Looks at the accesses of processes, those with the most load first: only processes whose
    /// pages are counted, and that are asked for.
    fn read_accessed(&mut self) {
        if !self.accessed.is_on() {
            return;
        }
        let processes = self.table.processes().iter().filter(|(pid, process)| {
            process.load > 0 && self.accesses_of.as_ref().is_none_or(|some| some.contains(&Pid(**pid)))
        });
        let mut wanted: Vec<(u64, Watched)> = processes
            .filter_map(|(&pid, process)| {
                let resident = process.pages.as_ref()?.values().map(|pages| pages.0).sum();
                Some((process.load, Watched { pid: Pid(pid), start: process.start, resident }))
            })
            .collect();
        wanted.sort_by_key(|(load, process)| (std::cmp::Reverse(*load), process.pid));
        let wanted: Vec<Watched> = wanted.into_iter().map(|(_, process)| process).collect();
        self.accessed.refresh(&wanted, self.round);
    }

    /// Reads the counters, and closes the samplers of threads that have ended.
    fn count_threads(&mut self) {
        let threads = self.table.processes().values().flat_map(|process| &process.threads);
        let running = |thread: &ThreadState| Running { tid: thread.tid, start: thread.start, load: thread.load };
        let threads: Vec<_> = threads.map(running).collect();
        self.counters.read(&threads);
        let alive: BTreeSet<_> = threads.iter().map(|thread| thread.tid).collect();
        self.samplers.close_unused(self.round, |tid| alive.contains(&tid));
    }

    fn processes(&self) -> Vec<ProcessSample> {
        let (counters, ticks) = (&self.counters, procfs::ticks_per_second());
        let process = |(&pid, known): (&u32, &ProcessState)| ProcessSample {
            pid: Pid(pid),
            start: known.start,
            name: Arc::clone(&known.name),
            cgroup: known.cgroup.clone(),
            pages: known.pages.clone(),
            accessed_pages: self.accessed.by_node(Pid(pid), known.start),
            threads: known.threads.iter().map(|thread| thread_sample(thread, counters.of(thread.tid), ticks)).collect(),
        };
        self.table.processes().iter().map(process).collect()
    }

    /// Updates what is reported as measurable, if that has changed.
    fn review(&mut self) {
        let (processes, online) = (self.table.processes().values(), self.topology.online());
        let neighbours = &mut self.facts.neighbours;
        neighbours.daemons = processes.clone().filter_map(|process| Daemon::called(&process.name)).collect();
        // Once found, this stays true: it is a property of how the machine is set up.
        neighbours.cpusets = neighbours.cpusets || processes.clone().any(|process| process.is_confined(online));
        let mut remarks = self.counters.remarks();
        remarks.extend(self.pages_remark());
        remarks.extend(self.latency.remarks());
        remarks.extend(self.accessed.remarks());
        let pages = (!self.pages.supported)
            .then(|| "the kernel has no /proc/PID/numa_maps (CONFIG_NUMA and CONFIG_PROC_PAGE_MONITOR)".to_owned());
        let mut missing = self.counters.missing();
        missing.extend(self.accessed.missing().map(|why| (Sensor::AccessedPages, why)));
        let latency = self.latency.missing();
        let fresh = capabilities::capabilities(&self.facts, &self.topology, missing, pages, latency, remarks);
        if fresh != *self.capabilities {
            self.capabilities = Arc::new(fresh);
        }
    }

    fn pages_remark(&self) -> Option<String> {
        let denied = self.pages.denied;
        (denied > 0).then(|| why::numa_maps_denied(denied, self.facts.has(capability::SYS_PTRACE)))
    }
}

impl Sensing for Sensors {
    type Error = SensorError;

    fn see_accesses_of(&mut self, pids: &BTreeSet<Pid>) {
        self.accesses_of = Some(pids.clone());
    }

    /// Time is in seconds since [`Self::open`], by `CLOCK_MONOTONIC`.
    fn sample(&mut self) -> Result<Sample, SensorError> {
        let now = monotonic();
        let interval = std::mem::replace(&mut self.last, now);
        let latencies = self.latency.read();
        self.table.scan(self.round, self.topology.online())?;
        self.read_pages(now - interval);
        self.read_accessed();
        self.count_threads();
        let processes = self.processes();
        self.round += 1;
        self.review();
        Ok(Sample {
            time: Seconds(now - self.opened),
            topology: Arc::clone(&self.topology),
            free: memory::free::free_by_node(&self.topology),
            latency: latencies.now,
            latency_idle: latencies.idle,
            latency_cycles: latencies.cycles,
            processes,
            page_moves: Vec::new(),
            indirect: Indirect { cpus: self.counters.by_cpu(), ..Indirect::default() },
            capabilities: Arc::clone(&self.capabilities),
        })
    }

    fn sampled_addresses(&mut self, pid: Pid, tid: Option<Tid>) -> Sampled {
        let Some(process) = self.table.processes().get(&pid.0) else { return Sampled::NoThread };
        let mut threads: Vec<_> =
            process.threads.iter().filter(|thread| tid.is_none_or(|tid| thread.tid == tid)).collect();
        threads.sort_by_key(|thread| (std::cmp::Reverse(thread.load), thread.tid));
        let tids: Vec<_> = threads.into_iter().map(|thread| thread.tid).collect();
        self.samplers.addresses(&tids, self.round)
    }

    fn accessed(&self, pid: Pid) -> Option<Vec<PageRange>> {
        let process = self.table.processes().get(&pid.0)?;
        self.accessed.hottest_first(pid, process.start)
    }

    fn pages_moved(&mut self, pid: Pid) {
        if let Some(process) = self.table.parts().0.get_mut(&pid.0) {
            PageReader::outdate(process);
        }
    }

    fn set_topology(&mut self, topology: Arc<Topology>) {
        self.topology = topology;
        self.latency.follow(&self.topology);
        // Resctrl may be mounted now, or no longer.
        self.facts.resctrl.mounted = self.facts.resctrl.is_mounted();
        self.review();
    }
}

fn thread_sample(thread: &ThreadState, counters: Counters, ticks: u64) -> ThreadSample {
    ThreadSample {
        tid: thread.tid,
        start: thread.start,
        cpu: thread.cpu,
        allowed: thread.allowed.clone(),
        pinned: thread.pinned,
        // Only the actuators know this.
        bound: None,
        vcpu: thread.vcpu,
        cpu_time: Some(Seconds(num::float(thread.ticks) / num::float(ticks))),
        counters,
    }
}

/// Seconds by `CLOCK_MONOTONIC`.
fn monotonic() -> f64 {
    clock::now(ClockId::Monotonic).as_secs_f64()
}
