//! The path of an access through the caches: which cache has the line, what the access moves, and
//! what it costs by itself. Overlap of accesses is not known here (issue.rs).

use crate::cache::{Gone, Touch};
use crate::llc::Found;
use crate::machine::Machine;
use crate::queue::LINE;
use crate::tlb::Tlb;

/// The cost of an access that the private cache did not answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub ps: u64,
    /// Whether a stream covered it. `ps` is then the reduced cost, which cannot overlap further.
    pub covered: bool,
}

impl Machine {
    /// A load or store of a CPU at a physical address, for which the CPU waits. Returns the
    /// picoseconds that it is stalled; 0 for a CPU that does not exist.
    #[inline]
    pub fn access(&mut self, cpu: usize, addr: u64, store: bool) -> u64 {
        let line = addr / LINE;
        let Some(own) = self.cpus.get_mut(cpu) else { return 0 };
        own.counters.accesses += 1;
        let touch = own.cache.touch(line, store);
        if touch == Touch::Hit {
            own.counters.stall_ps += self.private_hit_ps;
            return self.private_hit_ps;
        }
        let cost = self.beyond(cpu, line, store, touch);
        self.wait(cpu, cost);
        cost.ps
    }

    /// Like [`Self::issue`], for accesses that the private cache answers at once and that concern
    /// nothing else, which is most accesses. Returns the picoseconds that the access takes. `None`
    /// if it is not such an access; nothing has changed then.
    #[inline]
    pub(crate) fn hit(&mut self, cpu: usize, addr: u64, store: bool) -> Option<u64> {
        let line = addr / LINE;
        let own = self.cpus.get_mut(cpu)?;
        if own.tlb.is_some() || own.flight.may_have(line) || !own.cache.touch_own(line, store) {
            return None;
        }
        own.counters.accesses += 1;
        own.counters.stall_ps += self.private_hit_ps;
        Some(self.private_hit_ps)
    }

    /// Whether the line of an address may be on its way to a CPU; false only if it is not.
    #[must_use]
    #[inline]
    pub fn may_come(&self, cpu: usize, addr: u64) -> bool {
        self.cpus.get(cpu).is_some_and(|own| own.flight.may_have(addr / LINE))
    }

    /// A CPU needs the translation of an address. Returns the picoseconds of the page walk; 0
    /// without one.
    #[inline]
    pub fn translate(&mut self, cpu: usize, address: u64, physical: u64) -> u64 {
        let tlb = self.cpus.get_mut(cpu).and_then(|own| own.tlb.as_mut());
        tlb.map_or(0, |tlb| tlb.access(address, physical))
    }

    /// Stalls a CPU for a page walk; returns the picoseconds.
    #[inline]
    pub(crate) fn walks(&mut self, cpu: usize, walk: u64) -> u64 {
        if let Some(own) = self.cpus.get_mut(cpu) {
            own.counters.stall_ps += walk;
        }
        walk
    }

    /// Empties the TLB of a CPU, because addresses have other meanings from here on.
    pub fn forget_translations(&mut self, cpu: usize) {
        self.cpus.get_mut(cpu).and_then(|own| own.tlb.as_mut()).into_iter().for_each(Tlb::empty);
    }

    /// Records that a CPU waits for an access from its beginning to its end.
    pub(crate) fn wait(&mut self, cpu: usize, cost: Cost) {
        let own = &mut self.cpus[cpu];
        own.counters.stall_ps += cost.ps;
        if !cost.covered {
            own.asked += cost.ps;
            own.waited += cost.ps;
        }
    }

    /// The rest of an access for which the private cache does not have the line, or does not have
    /// it exclusively.
    pub(crate) fn beyond(&mut self, cpu: usize, line: u64, store: bool, touch: Touch) -> Cost {
        match touch {
            Touch::Hit => Cost::default(),
            Touch::Shared => Cost { ps: self.upgrade(cpu, line), covered: false },
            Touch::Miss(gone) => {
                let covered = self.memory.node(line).is_some() && self.cpus[cpu].streams.covers(line) && self.depth > 1;
                self.miss(cpu, line, store, gone, covered)
            }
        }
    }

    /// A line came into the private cache in place of another one.
    #[inline]
    pub(crate) fn miss(&mut self, cpu: usize, line: u64, store: bool, gone: Option<Gone>, covered: bool) -> Cost {
        let cost = match self.memory.node(line) {
            Some(node) => self.fetch(cpu, line, node, store, covered),
            None => Cost::default(),
        };
        let llc = self.cpus[cpu].llc;
        self.coherent.came(line, llc);
        if let Some(gone) = gone {
            self.coherent.went(gone.line, llc);
            if gone.dirty {
                self.retire(cpu, gone.line);
            }
        }
        cost
    }

    /// Fetches a line of a node's memory, from a cache or from memory.
    #[inline]
    fn fetch(&mut self, cpu: usize, line: u64, node: usize, store: bool, covered: bool) -> Cost {
        let own = &mut self.cpus[cpu];
        own.counters.private_misses += 1;
        own.counters.prefetched += u64::from(covered);
        let (llc, home) = (own.llc, own.node);
        let here = match self.llcs[llc].look(line, own.class) {
            Found::Here(shared) => Some(shared),
            Found::Came(gone) => {
                self.filled(cpu, line, gone);
                None
            }
        };
        let others = if self.coherent.may_share(line, llc, here) {
            self.snoop(cpu, line, store)
        } else {
            crate::coherence::Others::default()
        };
        let mut cost = if let Some(writer) = others.writer {
            self.transfer(cpu, node, writer, covered)
        } else if here.is_some() {
            self.cpus[cpu].counters.llc_hits += 1;
            self.llc_hit(llc, covered)
        } else {
            self.read_memory(cpu, node, covered);
            let table = if covered { &self.covered } else { &self.cost };
            Cost { ps: table[home][node], covered }
        };
        if others.found {
            cost = self.settle(cpu, line, store, &others, cost);
        }
        cost
    }

    #[inline]
    pub(crate) fn llc_hit(&self, llc: usize, covered: bool) -> Cost {
        let depth = if covered { self.depth } else { 1 };
        Cost { ps: if self.delays { self.llcs[llc].hit_ps() / depth } else { 0 }, covered }
    }

    #[inline]
    fn read_memory(&mut self, cpu: usize, node: usize, covered: bool) {
        let own = &mut self.cpus[cpu];
        own.counters.llc_misses += 1;
        own.counters.misses_by_node[node] += 1;
        own.counters.bytes_read += LINE;
        let lines = if covered { &mut own.traffic.covered } else { &mut own.traffic.plain };
        lines[node] += 1;
    }

    /// A line has come to the LLC in place of another one.
    #[inline]
    fn filled(&mut self, cpu: usize, line: u64, gone: Option<Gone>) {
        let llc = self.cpus[cpu].llc;
        self.coherent.filled(line, llc);
        if let Some(gone) = gone {
            self.coherent.evicted(gone.line, llc);
            if gone.dirty {
                self.write_back(cpu, gone.line);
            }
        }
    }

    /// A dirty line has left a private cache.
    pub(crate) fn retire(&mut self, cpu: usize, line: u64) {
        let llc = self.cpus[cpu].llc;
        if self.memory.node(line).is_some() && !self.llcs[llc].absorb(line) {
            self.write_back(cpu, line);
        }
    }

    pub(crate) fn write_back(&mut self, cpu: usize, line: u64) {
        if let Some(node) = self.memory.node(line) {
            let own = &mut self.cpus[cpu];
            own.counters.bytes_written += LINE;
            own.traffic.written[node] += 1;
        }
    }

    /// Removes the line of an address from all caches (`clflush`; Intel SDM, volume 2A). Dirty data
    /// is written back once. The write is counted for the CPU that had changed the line, or for the
    /// first CPU of the LLC that held it.
    pub fn flush(&mut self, addr: u64) {
        let line = addr / LINE;
        if let Some(cpu) = self.purge(line) {
            self.write_back(cpu, line);
        }
    }

    /// Removes a line from all caches; returns the CPU that had changed it.
    pub(crate) fn purge(&mut self, line: u64) -> Option<usize> {
        let mut writer = None;
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            if let Some(dirty) = cpu.cache.flush(line) {
                self.coherent.went(line, cpu.llc);
                writer = writer.or(dirty.then_some(number));
            }
        }
        self.memory.node(line)?;
        for (number, llc) in self.llcs.iter_mut().enumerate() {
            if let Some(dirty) = llc.flush(line) {
                self.coherent.evicted(line, number);
                let first = || self.cpus.iter().position(|cpu| cpu.llc == number).filter(|_| dirty);
                writer = writer.or_else(first);
            }
        }
        writer
    }
}
