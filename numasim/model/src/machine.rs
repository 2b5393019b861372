//! The machine that models every memory access: which caches have the line, what the access costs,
//! what it moves.
//!
//! Departures from real machines, each for speed or predictability:
//!
//! 1. *No coherence*: a store does not invalidate copies in other private caches, nor does a miss
//!    find a dirty line in one. Sharing costs nothing but cache space; a line that several CPUs
//!    write may be written back by each.
//! 2. *LLCs do not include* the private caches: a line that leaves the LLC stays where else it is.
//!    A dirty line that leaves a private cache goes to the LLC if that still has it, else to
//!    memory.
//! 3. *Write-backs are posted*: they take capacity of controller and links, and stall no CPU.
//! 4. *Prefetching brings nothing*: what a stream covers is fetched on demand, at the cost divided
//!    by the depth (stream.rs). It covers LLC hits as well as misses, since it sits at the private
//!    cache.
//! 5. *One miss at a time* but for streams: a CPU waits for each.

use crate::cache::{Cache, Touch};
use crate::counters::{CpuCounters, Traffic};
use crate::error::{KnobError, SpecError};
use crate::llc::Llc;
use crate::memory::Memory;
use crate::num::{float, index, round};
use crate::queue::{LINE, Queues, Resource};
use crate::route::{self, Routes};
use crate::spec::Spec;
use crate::spec_check::NODES;
use crate::stream::Streams;

/// See the head of the file.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) cpus: Vec<Cpu>,
    llcs: Vec<Llc>,
    memory: Memory,
    pub(crate) routes: Routes,
    /// The two ends of each link direction.
    pub(crate) links: Vec<(u32, u32)>,
    pub(crate) queues: Queues,
    /// `[node of the CPU][node of the memory]`, unloaded, picoseconds.
    pub(crate) latency: Vec<Vec<f64>>,
    /// What a miss costs now, by the same pair.
    cost: [[u64; NODES]; NODES],
    /// What a miss costs now that a stream covers: no less than the slowest resource on its way
    /// takes to carry a line.
    covered: [[u64; NODES]; NODES],
    private_hit_ps: u64,
    pub(crate) depth: u64,
    pub(crate) delays: bool,
}

/// A CPU and what it has for itself.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    cache: Cache,
    pub(crate) counters: CpuCounters,
    streams: Streams,
    llc: usize,
    pub(crate) node: usize,
    class: usize,
    pub(crate) traffic: Traffic,
    /// Traffic at the end of the last window, and at the last reset.
    pub(crate) closed: Traffic,
    pub(crate) reset: Traffic,
    /// Traffic of the window that is being closed.
    pub(crate) lines: Traffic,
    /// Stall at the end of the last window, less what was reset since.
    pub(crate) stalled: u64,
}

impl Machine {
    /// The machine of a spec, caches empty and queues idle.
    ///
    /// # Errors
    /// What [`Spec::validate`] finds.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        spec.validate()?;
        let mut machine = Self {
            cpus: (0..spec.cpus()).map(|cpu| Cpu::new(spec, cpu)).collect(),
            llcs: spec.llc.iter().map(Llc::new).collect(),
            memory: Memory::new(spec),
            routes: route::routes(spec, &spec.name)?,
            links: route::directions(spec),
            queues: Queues::new(resources(spec), spec.cpus()),
            latency: spec.latency.ns.iter().map(|row| row.iter().map(|ns| 1e3 * ns).collect()).collect(),
            cost: [[0; NODES]; NODES],
            covered: [[0; NODES]; NODES],
            private_hit_ps: if spec.delays { round(1e3 * spec.private.hit_ns) } else { 0 },
            depth: u64::from(spec.prefetch.depth),
            delays: spec.delays,
        };
        machine.price();
        Ok(machine)
    }

    /// A load or store of a CPU at a physical address: the picoseconds that it is stalled. A CPU
    /// that does not exist is not.
    #[inline]
    pub fn access(&mut self, cpu: usize, addr: u64, store: bool) -> u64 {
        let line = addr / LINE;
        let Some(own) = self.cpus.get_mut(cpu) else { return 0 };
        own.counters.accesses += 1;
        match own.cache.touch(line, store) {
            Touch::Hit => {
                own.counters.stall_ps += self.private_hit_ps;
                self.private_hit_ps
            }
            Touch::Miss(gone) => {
                let dirty = gone.filter(|gone| gone.dirty).map(|gone| gone.line);
                self.miss(cpu, line, dirty)
            }
        }
    }

    /// What the private cache did not have; `dirty` is the line that left it for this one.
    fn miss(&mut self, cpu: usize, line: u64, dirty: Option<u64>) -> u64 {
        let stall = self.memory.node(line).map_or(0, |node| self.fetch(cpu, line, node));
        if let Some(line) = dirty {
            self.retire(cpu, line);
        }
        self.cpus[cpu].counters.stall_ps += stall;
        stall
    }

    /// A line of a node from the LLC or from memory.
    fn fetch(&mut self, cpu: usize, line: u64, node: usize) -> u64 {
        let own = &mut self.cpus[cpu];
        let llc = &mut self.llcs[own.llc];
        let covered = own.streams.covers(line) && self.depth > 1;
        own.counters.private_misses += 1;
        own.counters.prefetched += u64::from(covered);
        if llc.touch(line) {
            own.counters.llc_hits += 1;
            let depth = if covered { self.depth } else { 1 };
            return if self.delays { llc.hit_ps() / depth } else { 0 };
        }
        let gone = llc.fill(line, own.class);
        own.counters.llc_misses += 1;
        own.counters.misses_by_node[node] += 1;
        own.counters.bytes_read += LINE;
        let (lines, cost) =
            if covered { (&mut own.traffic.covered, &self.covered) } else { (&mut own.traffic.plain, &self.cost) };
        lines[node] += 1;
        let cost = cost[own.node][node];
        if let Some(gone) = gone.filter(|gone| gone.dirty) {
            self.write_back(cpu, gone.line);
        }
        cost
    }

    /// A dirty line that left a private cache.
    fn retire(&mut self, cpu: usize, line: u64) {
        let llc = self.cpus[cpu].llc;
        if self.memory.node(line).is_some() && !self.llcs[llc].absorb(line) {
            self.write_back(cpu, line);
        }
    }

    fn write_back(&mut self, cpu: usize, line: u64) {
        if let Some(node) = self.memory.node(line) {
            let own = &mut self.cpus[cpu];
            own.counters.bytes_written += LINE;
            own.traffic.written[node] += 1;
        }
    }

    /// The line of an address leaves all caches (`clflush`; Intel SDM, volume 2A). Dirty data is
    /// written back once: for the CPU that had it, or for the first CPU of the LLC that had it.
    pub fn flush(&mut self, addr: u64) {
        let line = addr / LINE;
        let mut writer = None;
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            if cpu.cache.flush(line) == Some(true) {
                writer = writer.or(Some(number));
            }
        }
        if self.memory.node(line).is_none() {
            return;
        }
        for (number, llc) in self.llcs.iter_mut().enumerate() {
            if llc.flush(line) == Some(true) {
                writer = writer.or_else(|| self.cpus.iter().position(|cpu| cpu.llc == number));
            }
        }
        if let Some(cpu) = writer {
            self.write_back(cpu, line);
        }
    }

    /// Sets the ways that a class of service may fill. What lies elsewhere stays, and is hit.
    ///
    /// # Errors
    /// An LLC, a class or a way that does not exist; no way at all. Nothing has changed then.
    pub fn set_mask(&mut self, llc: usize, clos: usize, mask: u64) -> Result<(), KnobError> {
        let count = self.llcs.len();
        let cache = self.llcs.get_mut(llc).ok_or(KnobError::Llc { llc, count })?;
        let full = cache.full();
        if mask == 0 || mask & !full != 0 {
            return Err(KnobError::Mask { llc, mask, full });
        }
        let masks = cache.masks_mut();
        let count = masks.len();
        *masks.get_mut(clos).ok_or(KnobError::Clos { llc, clos, count })? = mask;
        Ok(())
    }

    /// Sets the class of service with which a CPU fills its LLC; 0 at first.
    ///
    /// # Errors
    /// A CPU or a class that does not exist. Nothing has changed then.
    pub fn set_class(&mut self, cpu: usize, clos: usize) -> Result<(), KnobError> {
        let count = self.cpus.len();
        let own = self.cpus.get_mut(cpu).ok_or(KnobError::Cpu { cpu, count })?;
        let (llc, count) = (own.llc, self.llcs[own.llc].held().len());
        if clos >= count {
            return Err(KnobError::Clos { llc, clos, count });
        }
        own.class = clos;
        Ok(())
    }

    /// What misses cost at the delays in force.
    pub(crate) fn price(&mut self) {
        if !self.delays {
            return;
        }
        for (home, row) in self.latency.iter().enumerate() {
            for (node, unloaded) in row.iter().enumerate() {
                let way = || std::iter::once(&node).chain(&self.routes[node][home]);
                let cost = unloaded + way().map(|resource| self.queues.delay(*resource)).sum::<f64>();
                let slowest = way().map(|resource| self.queues.service(*resource, 1)).max().unwrap_or(0);
                self.cost[home][node] = round(cost);
                self.covered[home][node] = round(cost / float(self.depth)).max(slowest);
            }
        }
    }

    /// What a CPU has done since the last reset; zeros for a CPU that does not exist.
    #[must_use]
    pub fn cpu_counters(&self, cpu: usize) -> CpuCounters {
        self.cpus.get(cpu).map(|own| own.counters).unwrap_or_default()
    }

    /// The node of a physical address; none: a device, or nothing at all.
    #[must_use]
    pub fn node_of(&self, addr: u64) -> Option<usize> {
        self.memory.node(addr / LINE)
    }

    /// Lines that a class of service holds in an LLC (CMT's `llc_occupancy` divided by 64); none
    /// where there is no such LLC or class.
    #[must_use]
    pub fn occupancy(&self, llc: usize, clos: usize) -> Option<u64> {
        self.llcs.get(llc)?.held().get(clos).copied()
    }

    /// Sets all cumulative counters to 0. Caches, queues and the window that is open go on.
    pub fn reset_counters(&mut self) {
        for own in &mut self.cpus {
            own.stalled = own.stalled.wrapping_sub(own.counters.stall_ps);
            own.counters = CpuCounters::default();
            own.reset = own.traffic;
        }
        self.queues.reset();
    }

    /// Empties all caches and queues. Counters, way masks and classes go on; what caches would have
    /// written back is forgotten.
    pub fn empty(&mut self) {
        for own in &mut self.cpus {
            own.cache.empty();
            own.streams.empty();
        }
        self.llcs.iter_mut().for_each(Llc::empty);
        self.queues.empty();
        self.price();
    }
}

impl Cpu {
    fn new(spec: &Spec, cpu: usize) -> Self {
        let sets = index(u64::from(spec.private.size_kib * 16 / spec.private.ways));
        Self {
            cache: Cache::new(sets, index(u64::from(spec.private.ways))),
            counters: CpuCounters::default(),
            streams: Streams::new(spec.prefetch.streams),
            llc: spec.llc_of(cpu).unwrap_or(0),
            node: spec.node_of(cpu).unwrap_or(0),
            class: 0,
            traffic: Traffic::default(),
            closed: Traffic::default(),
            reset: Traffic::default(),
            lines: Traffic::default(),
            stalled: 0,
        }
    }
}

/// Controllers by node, then the directions of the links: the numbering of route.rs.
fn resources(spec: &Spec) -> Vec<Resource> {
    let controllers = spec.node.iter().map(|node| Resource::new(node.mb_per_s, spec.queue.controller_ns));
    let link = |link: &crate::spec::Link| Resource::new(link.mb_per_s_each_way, spec.queue.link_ns);
    controllers.chain(spec.link.iter().flat_map(|one| [link(one), link(one)])).collect()
}
