//! The machine that models every memory access: which caches have the line, what the access costs,
//! and what it moves.
//!
//! Departures from real machines, each for speed or predictability:
//!
//! 1. *LLCs do not include* the private caches: a line that leaves the LLC stays wherever else it
//!    is. A dirty line that leaves a private cache goes to the LLC if that still has it, otherwise
//!    to memory.
//! 2. *Write-backs are posted*: they take capacity of controller and links, and stall no CPU.
//! 3. *Prefetching fetches nothing ahead*: a line that a stream covers is fetched on demand, at the
//!    cost divided by the depth (stream.rs). Streams cover LLC hits as well as misses, because the
//!    prefetcher sits at the private cache.
//!
//! The module documentation of coherence.rs, issue.rs and flight.rs lists the departures of
//! coherence and of overlapping misses.

use crate::cache::Cache;
use crate::coherence::Coherent;
use crate::counters::{CpuCounters, Traffic};
use crate::error::{KnobError, SpecError};
use crate::flight::OutstandingMisses;
use crate::llc::Llc;
use crate::memory::Memory;
use crate::num::{float, index, round};
use crate::queue::LINE;
use crate::queue::{Queues, Resource};
use crate::route::{self, Routes};
use crate::spec::Spec;
use crate::spec_check::NODES;
use crate::stream::Streams;
use crate::tlb::Tlb;

/// See the head of the file.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) llcs: Vec<Llc>,
    pub(crate) memory: Memory,
    pub(crate) coherent: Coherent,
    pub(crate) routes: Routes,
    /// The two ends of each link direction.
    pub(crate) links: Vec<(u32, u32)>,
    pub(crate) queues: Queues,
    /// `[node of the CPU][node of the memory]`, unloaded, picoseconds.
    pub(crate) latency: Vec<Vec<f64>>,
    /// The present cost of a miss, by the same pair.
    pub(crate) cost: [[u64; NODES]; NODES],
    /// The present cost of a miss that a stream covers: at least the time that the slowest resource
    /// on its way takes to carry a line.
    pub(crate) covered: [[u64; NODES]; NODES],
    /// The present cost of a line that a CPU writes to memory around the caches, by the same pair.
    pub(crate) around: [[u64; NODES]; NODES],
    pub(crate) private_hit_ps: u64,
    pub(crate) depth: u64,
    /// Misses that a CPU may have outstanding.
    pub(crate) places: usize,
    pub(crate) delays: bool,
}

/// A CPU and its private state.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) cache: Cache,
    pub(crate) counters: CpuCounters,
    pub(crate) tlb: Option<Tlb>,
    pub(crate) streams: Streams,
    pub(crate) flight: OutstandingMisses,
    /// Lines that stores around the caches have begun to fill, the last used one first.
    pub(crate) combining: Vec<u64>,
    pub(crate) llc: usize,
    pub(crate) node: usize,
    pub(crate) class: usize,
    pub(crate) traffic: Traffic,
    /// Traffic at the end of the last window, and at the last reset.
    pub(crate) closed: Traffic,
    pub(crate) reset: Traffic,
    /// Traffic of the window that is being closed.
    pub(crate) lines: Traffic,
    /// Stall at the end of the last window, less what has been reset since.
    pub(crate) stalled: u64,
    /// The sum of what the misses of this window that no stream covered cost one by one, and how
    /// long the CPU has waited for them.
    pub(crate) asked: u64,
    pub(crate) waited: u64,
    /// The quotient of the second and the first, for the window that is being closed.
    pub(crate) share: f64,
    /// The least value of `share`, which means that all places for misses are taken.
    least_share: f64,
}

impl Machine {
    /// The machine described by a spec, with empty caches and idle queues.
    ///
    /// # Errors
    /// The errors of [`Spec::validate`].
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        spec.validate()?;
        let mut machine = Self {
            cpus: (0..spec.cpus()).map(|cpu| Cpu::new(spec, cpu)).collect(),
            llcs: spec.llc.iter().map(Llc::new).collect(),
            memory: Memory::new(spec),
            coherent: Coherent::new(spec),
            routes: route::routes(spec, &spec.name)?,
            links: route::directions(spec),
            queues: Queues::new(resources(spec), spec.cpus()),
            latency: spec.latency.ns.iter().map(|row| row.iter().map(|ns| 1e3 * ns).collect()).collect(),
            cost: [[0; NODES]; NODES],
            covered: [[0; NODES]; NODES],
            around: [[0; NODES]; NODES],
            private_hit_ps: if spec.delays { round(1e3 * spec.private.hit_ns) } else { 0 },
            depth: u64::from(spec.prefetch.depth),
            places: index(u64::from(spec.overlap.misses)),
            delays: spec.delays,
        };
        machine.price();
        Ok(machine)
    }

    /// Sets the ways that a class of service may fill. Lines in other ways stay, and can be hit.
    ///
    /// # Errors
    /// An LLC, a class or a way does not exist, or the mask has no way. Nothing has changed then.
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

    /// Sets the class of service with which a CPU fills its LLC; initially 0.
    ///
    /// # Errors
    /// A CPU or a class does not exist. Nothing has changed then.
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

    /// Computes the cost of misses at the delays in force.
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
                let back = std::iter::once(&node).chain(&self.routes[home][node]);
                self.around[home][node] = round(unloaded + back.map(|one| self.queues.delay(*one)).sum::<f64>());
                let links = self.routes[node][home].iter().map(|link| self.queues.delay(*link)).sum();
                self.coherent.price(home, node, links);
            }
        }
    }

    /// The counters of a CPU since the last reset; zeros for a CPU that does not exist.
    #[must_use]
    pub fn cpu_counters(&self, cpu: usize) -> CpuCounters {
        self.cpus.get(cpu).map(|own| own.counters).unwrap_or_default()
    }

    /// The node of a physical address; `None`: a device, or nothing at all.
    #[must_use]
    pub fn node_of(&self, addr: u64) -> Option<usize> {
        self.memory.node(addr / LINE)
    }

    /// Number of lines that a class of service holds in an LLC (CMT's `llc_occupancy` divided by
    /// 64); `None` if there is no such LLC or class.
    #[must_use]
    pub fn occupancy(&self, llc: usize, clos: usize) -> Option<u64> {
        self.llcs.get(llc)?.held().get(clos).copied()
    }

    /// Sets all cumulative counters to 0. Caches, queues and the open window are not affected.
    pub fn reset_counters(&mut self) {
        for own in &mut self.cpus {
            own.stalled = own.stalled.wrapping_sub(own.counters.stall_ps);
            own.counters = CpuCounters::default();
            own.reset = own.traffic;
        }
        self.queues.reset();
    }

    /// Empties all caches and queues. Counters, way masks and classes are not affected; data that
    /// caches would have written back is forgotten.
    pub fn empty(&mut self) {
        for own in &mut self.cpus {
            own.cache.empty();
            own.tlb.iter_mut().for_each(Tlb::empty);
            own.streams.empty();
            own.combining.clear();
            own.flight.clear();
        }
        self.coherent.empty();
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
            tlb: spec.tlb.as_ref().map(|tlb| Tlb::new(tlb, spec.delays)),
            streams: Streams::new(spec.prefetch.streams),
            flight: OutstandingMisses::new(&spec.overlap),
            combining: Vec::new(),
            llc: spec.llc_of(cpu).unwrap_or(0),
            node: spec.node_of(cpu).unwrap_or(0),
            class: 0,
            traffic: Traffic::default(),
            closed: Traffic::default(),
            reset: Traffic::default(),
            lines: Traffic::default(),
            stalled: 0,
            asked: 0,
            waited: 0,
            share: 1.0,
            least_share: 1.0 / f64::from(spec.overlap.misses),
        }
    }

    /// The fraction of the cost of its misses for which the CPU has waited; resets the sums. A CPU
    /// whose misses were all hidden would still wait for longer ones, so the fraction is never less
    /// than with all places for misses taken.
    pub fn share(&mut self) -> f64 {
        let (asked, waited) = (std::mem::take(&mut self.asked), std::mem::take(&mut self.waited));
        if asked == 0 { 1.0 } else { (float(waited) / float(asked)).clamp(self.least_share, 1.0) }
    }
}

/// Controllers by node, then the directions of the links, numbered as in route.rs.
fn resources(spec: &Spec) -> Vec<Resource> {
    let controllers = spec.node.iter().map(|node| Resource::controller(node, spec.queue.controller_ns));
    let link = |link: &crate::spec::Link| Resource::new(link.mb_per_s_each_way, spec.queue.link_ns);
    controllers.chain(spec.link.iter().flat_map(|one| [link(one), link(one)])).collect()
}
