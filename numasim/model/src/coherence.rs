//! Which private caches and LLCs have a line, changed or unchanged. A store removes all other
//! copies; a line that another cache has changed is fetched from that cache. The states are those
//! of MESI. A private cache has a line exclusively (a store needs no request) or shared; an LLC
//! knows whether another LLC may have the line.
//!
//! A line that a CPU of the same LLC has changed costs `local_ns` and counts as an LLC hit. A line
//! that another LLC or a CPU of it has changed costs `remote_ns` by the nodes of reader and writer.
//! It counts as an LLC miss to the line's home node, and moves over the links from the writer's
//! node, not from memory. When it is read, the writer's change goes to its LLC (same LLC) or is
//! written back (other LLC), and both have the line shared. A store that removes copies of another
//! LLC costs at least `remote_ns`; a store that removes only copies of its own LLC costs an LLC
//! hit.
//!
//! Departures from real machines: an unmodified copy always comes from memory, never from another
//! LLC; messages without data take no capacity; there is no directory that fills up.

use crate::num::round;
use crate::presence::Presence;
use crate::spec::{LOCAL_OF_HIT, Spec};
use crate::spec_check::NODES;

/// The costs of coherence, and the counts that show quickly that a line is not shared.
#[derive(Clone, Debug)]
pub(crate) struct Coherent {
    on: bool,
    /// Counts of lines in private caches, by the LLC above them.
    pub private: Presence,
    /// Counts of lines in LLCs.
    pub llcs: Presence,
    /// CPUs of each LLC.
    pub cpus: Vec<Vec<usize>>,
    pub local: Vec<u64>,
    /// Unloaded, picoseconds: `[node of the reader][node of the writer]`.
    unloaded: Vec<Vec<f64>>,
    pub remote: [[u64; NODES]; NODES],
}

/// The result of a search for other copies; the search has already changed their states.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Others {
    /// Whether there was any copy.
    pub found: bool,
    /// The node with the highest cost among copies in other LLCs or below them.
    pub far: Option<usize>,
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

    /// Sets the cost of a line from a cache of a node, given the delays of the links.
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

    /// A line left a private cache below an LLC.
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

    /// A line left an LLC.
    #[inline]
    pub fn evicted(&mut self, line: u64, llc: usize) {
        if self.on && self.cpus.len() > 1 {
            self.llcs.drop(line, llc);
        }
    }

    /// Whether a cache other than an LLC may have a line; `here` is what the LLC knows about it.
    #[inline]
    pub fn may_share(&self, line: u64, llc: usize, here: Option<bool>) -> bool {
        self.on
            && (self.private.anywhere(line)
                || here.unwrap_or_else(|| self.cpus.len() > 1 && self.llcs.beyond(line, llc)))
    }
}
