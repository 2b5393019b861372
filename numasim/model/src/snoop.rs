//! Searches other caches for a line and leaves it in the states of coherence.rs, with the costs and
//! traffic of doing so. It does not know when a search is needed.

use crate::access::Cost;
use crate::coherence::Others;
use crate::machine::Machine;

impl Machine {
    /// Looks for copies in all other caches. For a load they become shared; for a store they are
    /// removed.
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

    /// Fetches a line that another CPU has changed from that CPU's cache.
    pub(crate) fn transfer(&mut self, cpu: usize, node: usize, writer: usize, covered: bool) -> Cost {
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
        let ps = if near { self.coherent.local[llc] } else { self.coherent.remote[home][from] };
        let depth = if covered { self.depth } else { 1 };
        Cost { ps: ps / depth, covered }
    }

    /// Leaves the line in the states that follow from what was found; returns the resulting cost of
    /// the access.
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

    /// A store to a line that other caches may have: they lose it. Returns the cost in picoseconds.
    pub(crate) fn upgrade(&mut self, cpu: usize, line: u64) -> u64 {
        let others = self.snoop(cpu, line, true);
        let own = &mut self.cpus[cpu];
        own.cache.own(line);
        let (llc, home) = (own.llc, own.node);
        self.llcs[llc].own(line);
        let near = if self.delays { self.llcs[llc].hit_ps() } else { 0 };
        others.far.map_or(near, |node| self.coherent.remote[home][node].max(near))
    }

    /// Number of lines that came from other caches, plus copies that stores removed, for all CPUs
    /// since the last reset. It grows while CPUs share lines that they write.
    #[must_use]
    pub fn bounces(&self) -> u64 {
        let one =
            |own: &crate::machine::Cpu| own.counters.hitm_local + own.counters.hitm_remote + own.counters.invalidated;
        self.cpus.iter().map(one).sum()
    }
}
