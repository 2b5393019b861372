//! The machine's accounts: what a window of guest time has moved over each queue, and what
//! controllers and links have carried. This file knows lines and routes; queue.rs computes the
//! delays.

use crate::counters::{LinkCounters, NodeCounters, Traffic};
use crate::machine::{Cpu, Machine};
use crate::num::{float, round};
use crate::queue::LINE;

impl Machine {
    /// Ends a window of guest time: its traffic determines the delays of the next window
    /// (queue.rs). `busy` is the local time for which each CPU ran in the window, stalls included,
    /// in picoseconds.
    ///
    /// Windows should have equal length, because delays change in steps from window to window. If
    /// time jumps because all CPUs sleep, end a few windows of the usual length with no CPU busy:
    /// after ten such windows the earlier load has no effect.
    pub fn window(&mut self, picos: u64, busy: &[u64]) {
        self.queues.begin();
        for (number, own) in self.cpus.iter_mut().enumerate() {
            let stalled = own.counters.stall_ps.wrapping_sub(own.stalled);
            own.stalled = own.counters.stall_ps;
            own.lines = own.traffic.since(&own.closed);
            own.closed = own.traffic;
            own.share = own.share();
            self.queues.ran(number, float(busy.get(number).copied().unwrap_or(0).max(stalled)));
        }
        self.fetched();
        self.written();
        if self.delays && picos > 0 {
            self.queues.end(float(picos));
            self.price();
        }
    }

    /// Accounts for lines that were fetched in the window, or written and waited for. Of misses
    /// that overlap, each CPU has paid a fraction, which is the same for all misses of a window.
    fn fetched(&mut self) {
        for (cpu, own) in self.cpus.iter().enumerate() {
            for node in 0..self.latency.len() {
                let lines = &own.lines;
                let read = float(lines.read(node));
                if read > 0.0 {
                    let paid = float(lines.plain[node]) * own.share + float(lines.covered[node]) / float(self.depth);
                    self.queues.moved(cpu, node, read, paid);
                    self.routes[node][own.node].iter().for_each(|link| self.queues.moved(cpu, *link, read, paid));
                }
                if lines.around[node] > 0 {
                    let (around, part) = (float(lines.around[node]), self.posted_share(own.share));
                    let way = std::iter::once(&node).chain(&self.routes[own.node][node]);
                    way.for_each(|resource| self.queues.moved(cpu, *resource, around, around * part));
                }
                if lines.passed[node] > 0 {
                    let passed = float(lines.passed[node]);
                    let way = self.routes[node][own.node].iter();
                    way.for_each(|link| self.queues.moved(cpu, *link, passed, passed * own.share));
                }
            }
        }
    }

    /// The fraction of its wait that a CPU pays for a line that it writes around the caches.
    fn posted_share(&self, share: f64) -> f64 {
        if self.overlaps() { share } else { 1.0 / float(self.depth) }
    }

    /// Accounts for lines that were written back in the window. The CPU that evicts a dirty line
    /// need not be the CPU that dirtied it, and a longer wait delays the latter. Write-backs from
    /// one node to another are therefore charged to the CPUs that fetch along that path, in
    /// proportion. If no CPU does, they are charged to the CPUs that evicted the lines.
    fn written(&mut self) {
        for home in 0..self.latency.len() {
            for node in 0..self.latency.len() {
                let here = || self.cpus.iter().enumerate().filter(|(_, own)| own.node == home);
                let sum = |of: fn(&Traffic, usize) -> u64| here().map(|(_, own)| of(&own.lines, node)).sum::<u64>();
                let (written, read) = (sum(|lines, node| lines.written[node]), sum(Traffic::read));
                for (cpu, own) in here().filter(|_| written > 0) {
                    let part = if read == 0 {
                        float(own.lines.written[node])
                    } else {
                        float(written) * float(own.lines.read(node)) / float(read)
                    };
                    let way = std::iter::once(&node).chain(&self.routes[home][node]);
                    way.for_each(|resource| self.queues.moved(cpu, *resource, part, 0.0));
                }
            }
        }
    }

    /// What each node's controller has carried since the last reset.
    pub fn node_counters(&self) -> impl Iterator<Item = NodeCounters> + '_ {
        (0..self.latency.len()).map(|node| {
            let of = |lines: fn(&Traffic, usize) -> u64| {
                self.carried(|_, traffic, home| if home == node { lines(traffic, node) } else { 0 })
            };
            let (read, sent) = (of(Traffic::read), of(Traffic::sent));
            let (busy_ps, delay_ps) = (self.queues.service(node, read + sent), round(self.queues.delay(node)));
            let (bytes, bytes_read) = ((read + sent) * LINE, read * LINE);
            NodeCounters { bytes, bytes_read, busy_ps, delay_ps, waited_ps: self.queues.waited(node) }
        })
    }

    /// Bytes that a CPU has read from a node's memory since the last reset. Lines that came from
    /// another cache are not among them.
    #[must_use]
    pub fn bytes_read(&self, cpu: usize, node: usize) -> u64 {
        let own = &self.cpus[cpu];
        own.traffic.since(&own.reset).read(node) * LINE
    }

    /// What each direction of each link has carried since the last reset: for each link of the
    /// spec, first from `a` to `b`, then from `b` to `a`.
    pub fn link_counters(&self) -> impl Iterator<Item = LinkCounters> + '_ {
        let first = self.latency.len();
        self.links.iter().enumerate().map(move |(position, (from, to))| {
            let link = first + position;
            let lines = self.carried(|home, lines, node| {
                let fetched = lines.read(node) + lines.passed[node];
                let read = if self.routes[node][home].contains(&link) { fetched } else { 0 };
                let sent = if self.routes[home][node].contains(&link) { lines.sent(node) } else { 0 };
                read + sent
            });
            let (busy_ps, delay_ps) = (self.queues.service(link, lines), round(self.queues.delay(link)));
            let waited_ps = self.queues.waited(link);
            LinkCounters { from: *from, to: *to, bytes: lines * LINE, busy_ps, delay_ps, waited_ps }
        })
    }

    /// Sums over CPUs and nodes of memory: `of(node of the CPU, its lines, node of the memory)`.
    fn carried(&self, of: impl Fn(usize, &Traffic, usize) -> u64) -> u64 {
        let nodes = self.latency.len();
        let one = |own: &Cpu| {
            let lines = own.traffic.since(&own.reset);
            (0..nodes).map(|node| of(own.node, &lines, node)).sum::<u64>()
        };
        self.cpus.iter().map(one).sum()
    }
}
