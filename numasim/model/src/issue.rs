//! Accesses that a CPU does not wait for: loads and stores whose misses overlap, prefetches, and
//! stores around the caches. The arrival time of each line follows from its cost by itself
//! (access.rs), from the time at which its address is known (scoreboard.rs) and from the places for
//! misses (flight.rs).
//!
//! Departures from real machines:
//!
//! 1. *A line is in the caches at once* when it is requested; until it arrives, loads of it wait
//!    for it there.
//! 2. *A line that a stream covers* costs its reduced part of a miss at once and takes no place:
//!    `depth` already says how many such lines are on their way.
//! 3. *Prefetches* bring lines into all caches whatever their hint, and train no stream.
//! 4. *Stores around the caches* fill a line in one of as many buffers as there are places for
//!    misses (at least 4). A line that leaves its buffer is written as a whole, however much of it
//!    was stored.

use crate::access::Cost;
use crate::cache::Touch;
use crate::flight::FREE;
use crate::machine::Machine;
use crate::queue::LINE;

/// When an access leaves the front of the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// The CPU's time, picoseconds.
    pub now: u64,
    /// When the address is known.
    pub ready: u64,
    /// Instructions that the CPU has executed so far.
    pub instruction: u64,
}

/// The result of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Picoseconds for which the CPU is stalled now.
    pub stall: u64,
    /// When the line arrives; 0: it is here, or was waited for.
    pub arrives: u64,
    /// Whether the private cache did not have the line.
    pub missed: bool,
    /// Whether its translation needed a page walk.
    pub walked: bool,
}

/// The least number of lines that stores around the caches can fill at the same time.
const BUFFERS: usize = 4;

impl Machine {
    /// Whether a CPU may have more than one miss outstanding.
    #[must_use]
    pub fn overlaps(&self) -> bool {
        self.places > 1
    }

    /// A load or store for which the CPU waits only when it must. A CPU that does not exist is not
    /// stalled.
    #[inline]
    pub fn issue(&mut self, cpu: usize, addr: u64, store: bool, at: Dispatch) -> Outcome {
        let line = addr / LINE;
        let Some(own) = self.cpus.get_mut(cpu) else { return Outcome::default() };
        own.counters.accesses += 1;
        let touch = own.cache.touch(line, store);
        let load = if store { FREE } else { at.instruction };
        if touch == Touch::Hit {
            own.counters.stall_ps += self.private_hit_ps;
            let arrives = own.flight.meet(line, load);
            return Outcome { stall: self.private_hit_ps, arrives, ..Outcome::default() };
        }
        let cost = self.beyond(cpu, line, store, touch);
        if cost.covered || cost.ps == 0 {
            self.wait(cpu, cost);
            return Outcome { stall: cost.ps, missed: true, ..Outcome::default() };
        }
        self.start(cpu, line, cost.ps, load, at)
    }

    /// Sends a line on its way.
    fn start(&mut self, cpu: usize, line: u64, ps: u64, load: u64, at: Dispatch) -> Outcome {
        let own = &mut self.cpus[cpu];
        let stall = own.flight.room(at.now);
        let arrives = (at.now + stall).max(at.ready) + ps;
        own.flight.start(line, arrives, load);
        own.asked += ps;
        own.waited += stall;
        own.counters.stall_ps += stall;
        Outcome { stall, arrives, missed: true, walked: false }
    }

    /// A prefetch of an address. If it misses, the line is sent on its way, and nothing waits for
    /// it. Does nothing if CPUs wait for each miss.
    pub fn prefetch(&mut self, cpu: usize, addr: u64, now: u64) -> Outcome {
        let line = addr / LINE;
        if !self.overlaps() || self.memory.node(line).is_none() || cpu >= self.cpus.len() {
            return Outcome::default();
        }
        let Touch::Miss(gone) = self.cpus[cpu].cache.touch(line, false) else { return Outcome::default() };
        let cost = self.miss(cpu, line, false, gone, false);
        if cost.ps == 0 {
            return Outcome { missed: true, ..Outcome::default() };
        }
        self.start(cpu, line, cost.ps, FREE, Dispatch { now, ..Dispatch::default() })
    }

    /// A store that bypasses the caches (MOVNTI and similar): the line is not read, and leaves all
    /// caches. Returns the picoseconds that the CPU is stalled.
    pub fn store_around(&mut self, cpu: usize, addr: u64, now: u64) -> u64 {
        let line = addr / LINE;
        let Some(own) = self.cpus.get_mut(cpu) else { return 0 };
        own.counters.accesses += 1;
        if let Some(at) = own.combining.iter().position(|one| *one == line) {
            own.combining[..=at].rotate_right(1);
            return 0;
        }
        own.combining.insert(0, line);
        let full = own.combining.len() > self.places.max(BUFFERS);
        let done = if full { own.combining.pop() } else { None };
        self.flush(addr);
        done.map_or(0, |line| self.pour(cpu, line, now))
    }

    /// Sends to memory a line that stores around the caches have filled.
    fn pour(&mut self, cpu: usize, line: u64, now: u64) -> u64 {
        let Some(node) = self.memory.node(line) else { return 0 };
        let own = &mut self.cpus[cpu];
        own.counters.bytes_written += LINE;
        own.traffic.around[node] += 1;
        let ps = self.around[own.node][node];
        if ps == 0 {
            return 0;
        }
        if self.overlaps() {
            // No load needs this line, because it was removed from the caches.
            return self.start(cpu, line, ps, FREE, Dispatch { now, ..Dispatch::default() }).stall;
        }
        let ps = (ps / self.depth).max(self.queues.service(node, 1));
        self.wait(cpu, Cost { ps, covered: true });
        ps
    }

    /// How long a CPU must wait, before it may execute the instruction with this number, for loads
    /// that are too far behind.
    #[inline]
    pub fn due(&mut self, cpu: usize, now: u64, instruction: u64) -> u64 {
        let Some(own) = self.cpus.get_mut(cpu) else { return 0 };
        let stall = own.flight.due(now, instruction);
        own.waited += stall;
        own.counters.stall_ps += stall;
        stall
    }

    /// A fence: how long a CPU waits until none of its lines is on its way.
    pub fn drain(&mut self, cpu: usize, now: u64) -> u64 {
        let Some(own) = self.cpus.get_mut(cpu) else { return 0 };
        let mut stall = own.flight.drain(now);
        own.waited += stall;
        own.counters.stall_ps += stall;
        for line in std::mem::take(&mut self.cpus[cpu].combining) {
            stall += self.pour(cpu, line, now + stall);
        }
        stall
    }

    /// Removes all lines on their way to any CPU, as if they had been waited for.
    pub fn calm(&mut self) {
        self.cpus.iter_mut().for_each(|own| own.flight.clear());
    }
}
