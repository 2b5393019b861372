//! Who has a line: private caches and LLCs, changed or not. A store takes all other copies away; a
//! line that another cache has changed comes from there. The states are those of MESI: a private
//! cache has a line alone (a store needs to ask nobody) or shared; an LLC knows whether another may
//! have the line.
//!
//! A line that a CPU of the same LLC has changed costs `local_ns` and counts as an LLC hit; one
//! that another LLC or a CPU of it has changed costs `remote_ns` by the nodes of reader and writer,
//! counts as an LLC miss to the line's home, and moves over the links from the writer's node, not
//! from memory. When it is read, the writer's change goes to its LLC (same LLC) or is written back
//! (other LLC), and both have the line shared. A store that takes copies of another LLC away costs
//! at least `remote_ns`; one that takes some of its own LLC away, an LLC hit.
//!
//! Departures from real machines: a copy that nobody has changed never comes from another LLC but
//! from memory; messages without data take no capacity; there is no directory that fills up.

use crate::access::Cost;
use crate::machine::Machine;
use crate::num::round;
use crate::presence::Presence;
use crate::spec::{LOCAL_OF_HIT, Spec};
use crate::spec_check::NODES;

/// What coherence costs, and what shows quickly that a line is not shared.
#[derive(Clone, Debug)]
pub(crate) struct Coherent {
    on: bool,
    /// Lines of private caches, by the LLC above them.
    private: Presence,
    /// Lines of LLCs.
    llcs: Presence,
    /// CPUs of each LLC.
    pub cpus: Vec<Vec<usize>>,
    local: Vec<u64>,
    /// Unloaded, picoseconds: `[node of the reader][node of the writer]`.
    unloaded: Vec<Vec<f64>>,
    remote: [[u64; NODES]; NODES],
}

/// What a search for other copies found, in the state that it left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Others {
    /// Any.
    pub found: bool,
    /// In another LLC or below one: the node that is furthest.
    far: Option<usize>,
    /// The CPU that had changed the line.
    pub writer: Option<usize>,
}

impl Coherent {
    pub fn new(spec: &Spec) -> Self {
        let llcs = spec.llc.len();
        let held: u32 = spec.llc.iter().map(|llc| llc.size_kib * 16).sum();
        let private = spec.private.size_kib as usize * 16 * spec.cpus();
        let local = |llc: &crate::spec::Llc| spec.coherence.local_ns.unwrap_or(LOCAL_OF_HIT * llc.hit_ns);
        let rows = spec.coherence.remote_ns.as_ref().unwrap_or(&spec.latency.ns);
        let charged = |ps: f64| if spec.delays { ps } else { 0.0 };
        Self {
            on: spec.coherence.modelled,
            private: Presence::new(llcs, 8 * private),
            llcs: Presence::new(llcs, if llcs > 1 { 4 * held as usize } else { 0 }),
            cpus: spec.llc.iter().map(|llc| llc.cpus.as_slice().to_vec()).collect(),
            local: spec.llc.iter().map(|llc| round(charged(1e3 * local(llc)))).collect(),
            unloaded: rows.iter().map(|row| row.iter().map(|ns| charged(1e3 * ns)).collect()).collect(),
            remote: std::array::from_fn(|home| {
                std::array::from_fn(|node| {
                    rows.get(home).and_then(|row| row.get(node)).map_or(0, |ns| round(charged(1e3 * ns)))
                })
            }),
        }
    }

    /// What a line from a cache of a node costs at the delays of the links.
    pub fn price(&mut self, home: usize, node: usize, links: f64) {
        self.remote[home][node] = round(self.unloaded[home][node] + links);
    }

    pub fn empty(&mut self) {
        self.private.clear();
        self.llcs.clear();
    }

    /// A line came to a private cache below an LLC.
    #[inline]
    pub fn came(&mut self, line: u64, llc: usize) {
        if self.on {
            self.private.add(line, llc);
        }
    }

    /// A line left one.
    #[inline]
    pub fn went(&mut self, line: u64, llc: usize) {
        if self.on {
            self.private.drop(line, llc);
        }
    }

    /// A line came to an LLC.
    #[inline]
    pub fn filled(&mut self, line: u64, llc: usize) {
        if self.on && self.cpus.len() > 1 {
            self.llcs.add(line, llc);
        }
    }

    /// A line left one.
    #[inline]
    pub fn evicted(&mut self, line: u64, llc: usize) {
        if self.on && self.cpus.len() > 1 {
            self.llcs.drop(line, llc);
        }
    }

    /// Whether another cache than an LLC may have a line; `here` is what the LLC knows of it.
    #[inline]
    pub fn may_share(&self, line: u64, llc: usize, here: Option<bool>) -> bool {
        self.on
            && (self.private.anywhere(line)
                || here.unwrap_or_else(|| self.cpus.len() > 1 && self.llcs.beyond(line, llc)))
    }
}

impl Machine {
    /// Looks for copies in all other caches. For a load they become shared, for a store they go.
    pub(crate) fn snoop(&mut self, cpu: usize, line: u64, store: bool) -> Others {
        let own = self.cpus[cpu].llc;
        let mut others = Others::default();
        for llc in 0..self.llcs.len() {
            if self.coherent.private.at(line, llc) {
                self.snoop_private(cpu, line, store, llc, &mut others);
            }
            if llc != own && self.coherent.llcs.at(line, llc) {
                self.snoop_llc(cpu, line, store, llc, &mut others);
            }
        }
        others
    }

    fn snoop_private(&mut self, cpu: usize, line: u64, store: bool, llc: usize, others: &mut Others) {
        for at in 0..self.coherent.cpus[llc].len() {
            let other = self.coherent.cpus[llc][at];
            if other == cpu {
                continue;
            }
            let cache = &mut self.cpus[other].cache;
            let found = if store { cache.flush(line) } else { cache.share(line) };
            if let Some(dirty) = found {
                if store {
                    self.coherent.went(line, llc);
                }
                self.found(cpu, llc, store, others);
                others.writer = others.writer.or(dirty.then_some(other));
            }
        }
    }

    fn snoop_llc(&mut self, cpu: usize, line: u64, store: bool, llc: usize, others: &mut Others) {
        let cache = &mut self.llcs[llc];
        let found = if store { cache.flush(line) } else { cache.share(line) };
        if let Some(dirty) = found {
            if store {
                self.coherent.evicted(line, llc);
            }
            self.found(cpu, llc, store, others);
            let first = self.coherent.cpus[llc].first().copied().filter(|_| dirty);
            others.writer = others.writer.or(first);
        }
    }

    fn found(&mut self, cpu: usize, llc: usize, store: bool, others: &mut Others) {
        others.found = true;
        self.cpus[cpu].counters.invalidated += u64::from(store);
        let (own, home) = (self.cpus[cpu].llc, self.cpus[cpu].node);
        if llc != own {
            let node = self.coherent.cpus[llc].first().map_or(home, |first| self.cpus[*first].node);
            let cost = |node: usize| self.coherent.remote[home][node];
            others.far = others.far.filter(|far| cost(*far) >= cost(node)).or(Some(node));
        }
    }

    /// A line that another CPU has changed comes from its cache.
    pub(crate) fn transfer(&mut self, cpu: usize, line: u64, node: usize, writer: usize, covered: bool) -> Cost {
        let (llc, home) = (self.cpus[cpu].llc, self.cpus[cpu].node);
        let from = self.cpus[writer].node;
        let near = self.cpus[writer].llc == llc;
        let counters = &mut self.cpus[cpu].counters;
        if near {
            counters.llc_hits += 1;
            counters.hitm_local += 1;
        } else {
            counters.llc_misses += 1;
            counters.misses_by_node[node] += 1;
            counters.hitm_remote += 1;
            self.cpus[cpu].traffic.passed[from] += 1;
        }
        if self.llcs[llc].touch(line).is_none() {
            self.fill(cpu, line);
        }
        let ps = if near { self.coherent.local[llc] } else { self.coherent.remote[home][from] };
        let depth = if covered { self.depth } else { 1 };
        Cost { ps: ps / depth, covered }
    }

    /// Leaves the line in the states that follow from what was found, and what the access costs
    /// then.
    pub(crate) fn settle(&mut self, cpu: usize, line: u64, store: bool, others: &Others, cost: Cost) -> Cost {
        let (llc, home) = (self.cpus[cpu].llc, self.cpus[cpu].node);
        if store {
            self.llcs[llc].own(line);
            let far = others.far.map_or(0, |node| self.coherent.remote[home][node]);
            return if far > cost.ps && !cost.covered { Cost { ps: far, covered: false } } else { cost };
        }
        self.cpus[cpu].cache.share(line);
        if let Some(writer) = others.writer {
            if self.cpus[writer].llc == llc {
                self.llcs[llc].absorb(line);
            } else {
                self.write_back(writer, line);
            }
        }
        if others.far.is_some() {
            self.llcs[llc].mark_shared(line);
        }
        cost
    }

    /// A store to a line that other caches may have: they lose it.
    pub(crate) fn upgrade(&mut self, cpu: usize, line: u64) -> u64 {
        let others = self.snoop(cpu, line, true);
        let own = &mut self.cpus[cpu];
        own.cache.own(line);
        let (llc, home) = (own.llc, own.node);
        self.llcs[llc].own(line);
        let near = if self.delays { self.llcs[llc].hit_ps() } else { 0 };
        others.far.map_or(near, |node| self.coherent.remote[home][node].max(near))
    }

    /// Lines that came from other caches, and copies that stores took away, by all CPUs since the
    /// last reset: what grows while CPUs share lines that they write.
    #[must_use]
    pub fn bounces(&self) -> u64 {
        let one =
            |own: &crate::machine::Cpu| own.counters.hitm_local + own.counters.hitm_remote + own.counters.invalidated;
        self.cpus.iter().map(one).sum()
    }
}
