//! Sensors: processes and threads, event counters, pages by node, free memory, and sampled
//! addresses of the running kernel.
//!
//! They read and never change anything but their own descriptor limit. Raw counters stay raw: what
//! a rate or a contention is, is decided elsewhere. What cannot be measured is `None` in the
//! sample, and its reason is in the capabilities.

pub mod counters;
mod error;
pub mod memory;
mod options;
mod perf;
pub mod reasons;
mod thread_counters;
pub mod threads;

pub use error::SensorError;
pub use memory::samplers::Sampled;
pub use options::{CounterSource, SensorOptions};
pub use thread_counters::{Running, ThreadCounters};

use crate::kernel::{capability, cpu_model, proc_fs};
use crate::resctrl::absence::Evidence;
use counters::{available, pmu, why};
use isobar_model::{
    Capabilities, Counters, Indirect, Pid, ProcessSample, Sample, Seconds, ThreadSample, Tid, Topology, num,
};
use memory::pages::PageReader;
use memory::samplers::{self, Samplers};
use perf::PerfCounters;
use reasons::capabilities::{self, Facts};
use rustix::time::{ClockId, clock_gettime};
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
    capabilities: Arc<Capabilities>,
    ticks_a_second: u64,
    opened: f64,
    last: f64,
    round: u64,
}

impl Sensors {
    /// Finds out what can be measured, and counts by perf. Raises the soft descriptor limit to the
    /// hard one.
    ///
    /// # Errors
    /// [`SensorError`] where `/proc` cannot be opened. A sensor that is missing is not an error:
    /// see [`Self::capabilities`].
    pub fn open(options: SensorOptions, topology: Arc<Topology>) -> Result<Self, SensorError> {
        let cpu = cpu_model::parse(&proc_fs::read_text("/proc/cpuinfo").unwrap_or_default());
        let model = |pmu: &pmu::Pmu| cpu.of(pmu.cpu, Path::new(cpu_model::CPUS));
        let available = available::available(options.counters, &model, &pmu::core_pmus(Path::new(pmu::DEVICES)));
        let facts = Facts::live(&cpu);
        let counters = PerfCounters::new(&options, available, facts.clone());
        Self::with_facts(options, topology, Box::new(counters), facts)
    }

    /// The same with counts from another source than perf.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn with_counters(
        options: SensorOptions,
        topology: Arc<Topology>,
        counters: Box<dyn ThreadCounters + Send>,
    ) -> Result<Self, SensorError> {
        let cpu = cpu_model::parse(&proc_fs::read_text("/proc/cpuinfo").unwrap_or_default());
        Self::with_facts(options, topology, counters, Facts::live(&cpu))
    }

    fn with_facts(
        options: SensorOptions,
        topology: Arc<Topology>,
        counters: Box<dyn ThreadCounters + Send>,
        facts: Facts,
    ) -> Result<Self, SensorError> {
        let ticks_a_second = system_number(libc::_SC_CLK_TCK, 100);
        let page = usize::try_from(system_number(libc::_SC_PAGESIZE, 4096)).unwrap_or(4096);
        let source = samplers::source(options.counters, Path::new(pmu::DEVICES));
        let opened = monotonic();
        let mut sensors = Self {
            table: Table::open()?,
            counters,
            pages: PageReader::new(options.pages_every, options.min_cpu_share_for_pages, ticks_a_second, page),
            samplers: Samplers::new(source, options.max_samplers, options.samplers_keep, page),
            capabilities: Arc::default(),
            topology,
            facts,
            ticks_a_second,
            opened,
            last: opened,
            round: 0,
        };
        sensors.review();
        Ok(sensors)
    }

    /// Looks for resctrl where it is mounted, if not at its usual place.
    pub fn look_for_resctrl(&mut self, root: &Path) {
        self.facts.resctrl = Evidence::live(root);
        self.review();
    }

    /// Reads every sensor. Time is in seconds since [`Self::open`], by `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// [`SensorError`] where `/proc` cannot be listed.
    pub fn sample(&mut self) -> Result<Sample, SensorError> {
        let now = monotonic();
        let interval = std::mem::replace(&mut self.last, now);
        self.table.scan(self.round, self.topology.online())?;
        self.read_pages(now - interval);
        self.count_threads();
        let processes = self.processes();
        self.round += 1;
        self.review();
        Ok(Sample {
            time: Seconds(now - self.opened),
            topology: Arc::clone(&self.topology),
            free: memory::free::free_by_node(&self.topology),
            latency: None,
            latency_cycles: None,
            processes,
            indirect: Indirect { cpus: self.counters.by_cpu(), ..Indirect::default() },
            capabilities: Arc::clone(&self.capabilities),
        })
    }

    /// The machine has changed: a CPU came or went.
    pub fn set_topology(&mut self, topology: Arc<Topology>) {
        self.topology = topology;
        self.review();
    }

    /// What can be measured, and why the rest cannot; the same `Arc` as long as nothing changes.
    #[must_use]
    pub fn capabilities(&self) -> Arc<Capabilities> {
        Arc::clone(&self.capabilities)
    }

    /// Data addresses that a thread (or, without `tid`, the busiest threads of the process) touched
    /// since the last call, most recent first. The first call opens the samplers and finds none.
    pub fn sampled_addresses(&mut self, pid: Pid, tid: Option<Tid>) -> Sampled {
        let Some(process) = self.table.processes().get(&pid.0) else { return Sampled::Nobody };
        let mut threads: Vec<_> =
            process.threads.iter().filter(|thread| tid.is_none_or(|tid| thread.tid == tid)).collect();
        threads.sort_by_key(|thread| (std::cmp::Reverse(thread.load), thread.tid));
        let tids: Vec<_> = threads.into_iter().map(|thread| thread.tid).collect();
        self.samplers.addresses(&tids, self.round)
    }

    /// Pages of this process were moved, or were not where they had been seen: they are read anew
    /// in the next sample.
    pub fn pages_moved(&mut self, pid: Pid) {
        if let Some(process) = self.table.parts().0.get_mut(&pid.0) {
            PageReader::outdate(process);
        }
    }

    fn read_pages(&mut self, interval: f64) {
        let (processes, files) = self.table.parts();
        self.pages.refresh(processes, files, self.round, interval);
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
        let (counters, ticks) = (&self.counters, self.ticks_a_second);
        let process = |(&pid, known): (&u32, &ProcessState)| ProcessSample {
            pid: Pid(pid),
            start: known.start,
            name: Arc::clone(&known.name),
            pages: known.pages.clone(),
            accessed_pages: None,
            threads: known.threads.iter().map(|thread| thread_sample(thread, counters.of(thread.tid), ticks)).collect(),
        };
        self.table.processes().iter().map(process).collect()
    }

    /// Says anew what can be measured, where that has changed.
    fn review(&mut self) {
        self.facts.numad = self.table.processes().values().any(|process| &*process.name == "numad");
        let mut remarks = self.counters.remarks();
        remarks.extend(self.pages_remark());
        let pages = (!self.pages.supported)
            .then(|| "the kernel has no /proc/PID/numa_maps (CONFIG_NUMA and CONFIG_PROC_PAGE_MONITOR)".to_owned());
        let fresh = capabilities::capabilities(&self.facts, &self.topology, self.counters.missing(), pages, remarks);
        if fresh != *self.capabilities {
            self.capabilities = Arc::new(fresh);
        }
    }

    fn pages_remark(&self) -> Option<String> {
        let denied = self.pages.denied;
        (denied > 0).then(|| why::numa_maps_denied(denied, self.facts.has(capability::SYS_PTRACE)))
    }
}

fn thread_sample(thread: &ThreadState, counters: Counters, ticks: u64) -> ThreadSample {
    ThreadSample {
        tid: thread.tid,
        start: thread.start,
        cpu: thread.cpu,
        allowed: thread.allowed.clone(),
        pinned: thread.pinned,
        // The actuators know.
        bound: None,
        cpu_time: Some(Seconds(num::float(thread.ticks) / num::float(ticks))),
        counters,
    }
}

/// Seconds by `CLOCK_MONOTONIC`.
fn monotonic() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    let whole = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    num::float(whole) + num::float(nanoseconds) / 1e9
}

fn system_number(name: libc::c_int, otherwise: u64) -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).ok().filter(|value| *value > 0).unwrap_or(otherwise)
}
