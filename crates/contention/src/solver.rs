//! The contention model: what every thread gets of caches, memory controllers and links, given where all of them run and where
//! their pages are. A pure function of its arguments; it knows neither time nor processes.
//!
//! ```text
//! misses per instruction   mu_i = curve_i(occupancy_i) * phase factor
//! stall per miss           S_i  = (idle latency of the routes + waits at what they pass) / mlp_i
//! seconds per instruction  t_i  = cpi_i / f + mu_i * S_i
//! rate                     r_i  = share of the core / t_i
//! occupancy                insertion rate r_i * mu_i times the residence time of its part of the LLC     (space.rs)
//! waits                    every controller and link direction carries what all r_i demand of it         (queue.rs)
//! ```
//!
//! # The joint fixed point
//!
//! network.rs writes it as equations in the utilisations `u_k` and the residence times `T_a`. newton.rs solves them all at once, by steps each
//! of which must bring the greatest residual down; where none does, bracket.rs takes over. Neither counts its steps: both end when
//! **every equation holds to 10^-9** of capacity and size. That certificate is what a solution is; nothing is returned without.
//!
//! What is proved:
//!
//! 1. *Existence*: a continuous map of a compact convex set (Brouwer).
//! 2. *At given waits* the occupancies are unique and found by monotone roots, overlapping masks included (space.rs).
//! 3. *At given residence times* waits and occupancies together are unique. With `y_i` = seconds of computing between misses and `X_i(y)` the
//!    space that gives it, they are the stationary point of
//!    `sum_k C_k Int u_k(W) dW + sum_i (mlp_i / T_i) Int X_i(y) dy - sum_i 64 share_i mlp_i ln(y_i + S_i(W))`, which is strictly convex in
//!    `(W, y)`: `u_k` and `X_i` increase, `S_i` is affine, `-ln` is convex.
//! 4. *No load rises when a wait rises* (bracket.rs). So with **one** controller or link in use, and wherever every LLC uses one resource of its
//!    own (all memory local), the fixed point is unique: `u(W) - L(W) / C` increases.
//! 5. *In general* bracket.rs ends at a fixed point, by halving boxes that 4 bounds; its worst case is exponential in the resources in use.
//!
//! Not proved: uniqueness where LLCs use several resources each. Competition there is through mixed terms, and the Jacobian need not be
//! monotone in any metric that we found (it is where occupancies per `mlp` and share in an LLC differ by less than 23 times). The solver starts from
//! the solution before, so that a machine with two solutions would stay on the branch that it is on, as real ones do. Tests start from
//! different points and find no second one; there, Newton's method arrives by itself in every case tried.
//!
//! # Laws
//!
//! - What is delivered stays below capacity, and what is demanded is delivered: properties of the fixed point.
//! - *Nobody gains from a new neighbour*, where there is **one memory controller**, any number of LLCs and partitions, an equal write-back share, and
//!   curves whose misses fall at most as fast as space grows (every curve of `MissCurve`). Proof: bring the neighbour in by a growing share
//!   of a core, and let `psi` be the relative growth of all stalls (equal, since latency and write-backs are). With `e` = relative growth of `Y` by space times
//!   `Y / (Y + S)` and `c >= 0` that of `k` (stream.rs), a thread's space grows by `(dlnT - psi S/(Y+S)) / (1+e+c)`. `psi < 0` would need fewer loads; but then in every part either
//!   `T` falls or all spaces grow beyond it, and every load rises: so `psi >= 0`. The others' spaces in a part do not grow together, so `dlnT <= psi`
//!   times the mean of `S/(Y+S)`, at most `psi`; a thread's misses fall by at most that, its stalls grow by `psi`: their product does not fall.
//! - Else a third may gain, and does so on real machines: whom the newcomer slows down, at another controller or by more write-backs,
//!   leaves room in cache and on links to those who do not suffer from the newcomer. Nobody is ever faster than alone; up to that, random programs were seen to gain 66 %.
//! - *More ways never raise a program's misses*: for one that has its ways alone, on any machine (it holds the lesser of its ways and its
//!   footprint); for all programs of a partition, under the conditions of the law before, by the same argument.
//!
//! A private cache counts where the LLC does not hold its lines too (a victim cache): then it is space beside what is held of the LLC. Else its lines are
//! among those held.
//!
//! **Left for growth**: prefetching (in the curve's MPKI today), probe traffic of the coherence protocol, what a switch of threads on a core costs
//! in private caches (it costs only LLC space here).

mod bracket;
mod network;
mod newton;
pub mod queue;
mod root;
mod space;
pub mod steady;
mod stream;

use crate::machine::{MachineSpec, Place};
use crate::program::MissCurve;
use network::{Network, Point, Trial};
use newton::Workspace;
use queue::LINE;
use stream::{Misses, Stream, Visit};

/// Lines that a page copy keeps in flight (estimate: a `rep movs` over a page with the hardware prefetcher).
const COPY_MLP: f64 = 4.0;
/// Kernel time of one page migration without the copy (estimate: with the copy about 600 MB/s, as Goglin and Furmento measured for
/// `move_pages` on a machine of four such Opterons, IPDPS workshops 2009).
const COPY_OVERHEAD: f64 = 4e-6;
/// Lines of a base page.
const PAGE_LINES: f64 = 64.0;

/// A thread that wants to run.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    /// The part of its CPU that it gets.
    pub share: f64,
    /// Where it runs.
    pub place: Place,
    /// The ways of its LLC that it may fill.
    pub mask: u64,
    /// Cycles per instruction without LLC misses.
    pub cpi: f64,
    /// Misses per instruction by space; they do not rise with it.
    pub curve: MissCurve,
    /// Factor of its phase on misses.
    pub factor: f64,
    pub mlp: f64,
    pub write_back: f64,
    /// The most bytes it can hold in a cache.
    pub footprint: f64,
    /// Bytes it can use for each byte it holds: above 1 where siblings on the LLC hold lines that it shares.
    pub reach: f64,
    /// Bytes of a private cache of its core whose lines the LLC does not hold too.
    pub private: f64,
    /// The part of its accesses that goes to each node, by position; sums to 1.
    pub weights: Vec<f64>,
}

/// What each thread and the page copy get.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Solution {
    /// Instructions a second, by demand.
    pub rates: Vec<f64>,
    /// LLC misses per instruction, by demand.
    pub misses: Vec<f64>,
    /// Bytes held in the LLC, by demand.
    pub held: Vec<f64>,
    /// Pages a second of the copy, where there is one.
    pub copied: f64,
}

/// Who competes, and the fixed point that was found last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contention {
    network: Network,
    /// The machine's resource that each of the network's is.
    used: Vec<usize>,
    /// The part of a CPU of each stream.
    shares: Vec<f64>,
    /// The idle part of every resource of the machine.
    slack: Vec<f64>,
    at: Trial,
    work: Workspace,
}

impl Contention {
    /// Sets who competes: threads, each with the bytes that it holds now, and at most one page copy `(from, to)`. What it found before is
    /// where it starts.
    pub fn compete(&mut self, machine: &MachineSpec, all: &[(Demand, f64)], copy: Option<(usize, usize)>) {
        let mut streams: Vec<_> = all.iter().map(|(one, _)| thread(machine, one)).collect();
        streams.extend(copy.map(|(from, to)| copying(machine, from, to)));
        let spaces = divide(machine, all, &mut streams);
        self.slack.resize(machine.resources.len(), 0.5);
        self.used = only_used(&mut streams, machine.resources.len());
        self.shares = all.iter().map(|(one, _)| one.share).chain(copy.map(|_| 1.0)).collect();
        let resources = self.used.iter().map(|k| machine.resources[*k]).collect();
        self.network = Network::of(resources, spaces, streams);
        self.start(all);
    }

    /// Sets the factor of a thread's phase, by position.
    pub fn set_factor(&mut self, thread: usize, to: f64) {
        if let Some(Misses::Curve { factor, .. }) = self.network.streams.get_mut(thread).map(|s| &mut s.misses) {
            *factor = to;
        }
    }

    /// Finds the fixed point.
    pub fn settle(&mut self, found: &mut Solution) {
        self.network.evaluate(&mut self.at);
        if !newton::descend(&self.network, &mut self.at, &mut self.work) {
            bracket::search(&self.network, &mut self.at, &mut self.work);
        }
        self.used.iter().zip(&self.at.point.slack).for_each(|(k, slack)| self.slack[*k] = *slack);
        self.tell(found);
    }

    /// Bytes a second on every resource of the machine.
    #[cfg(test)]
    pub fn loads(&self) -> Vec<f64> {
        let mut loads = vec![0.0; self.slack.len()];
        self.used.iter().zip(self.network.loads(&self.at.flows)).for_each(|(k, load)| loads[*k] = load);
        loads
    }

    /// The first point to try: waits as they were, residence times as the spaces held would make them.
    fn start(&mut self, all: &[(Demand, f64)]) {
        let slack: Vec<_> = self.used.iter().map(|k| self.slack[*k]).collect();
        let waits: Vec<_> = self.network.resources.iter().zip(&slack).map(|(one, s)| one.wait_at_slack(*s)).collect();
        let inserted =
            |(index, share): &(usize, f64)| share * self.network.streams[*index].inserted(all[*index].1, &waits);
        let parts = self.network.members.iter().zip(&self.network.spaces);
        let stay =
            parts.map(|(members, size)| size / (size / space::LONGEST + members.iter().map(inserted).sum::<f64>()));
        self.at.point = Point { slack, stay: stay.collect() };
        self.at.flows.clear();
        self.at.flows.resize(self.network.streams.len(), stream::Flow::default());
        self.at.flows.iter_mut().zip(all).for_each(|(flow, (_, held))| flow.space = *held);
    }

    fn tell(&self, found: &mut Solution) {
        let threads = self.network.streams.iter().zip(&self.at.flows).zip(&self.shares);
        let (rates, misses, held) = (&mut found.rates, &mut found.misses, &mut found.held);
        rates.clear();
        misses.clear();
        held.clear();
        found.copied = 0.0;
        for ((stream, flow), share) in threads {
            let (rate, missed) = stream.progress(flow, *share);
            if matches!(stream.misses, Misses::Fixed(_)) {
                found.copied = rate;
            } else {
                rates.push(rate);
                misses.push(missed);
                held.push(flow.space);
            }
        }
    }
}

fn thread(machine: &MachineSpec, one: &Demand) -> Stream {
    let home = one.place.node;
    let mut lines = vec![0.0; machine.resources.len()];
    // Data comes from the page's node, write-backs go there.
    for (node, weight) in one.weights.iter().enumerate() {
        lines[node] += weight * (1.0 + one.write_back);
        machine.routes[node][home].iter().for_each(|link| lines[*link] += weight);
        machine.routes[home][node].iter().for_each(|link| lines[*link] += weight * one.write_back);
    }
    let idle: f64 = one.weights.iter().zip(&machine.latency[home]).map(|(weight, seconds)| weight * seconds).sum();
    Stream {
        bytes: LINE * one.share,
        compute: one.cpi / machine.hertz,
        misses: Misses::Curve {
            curve: one.curve.clone(),
            factor: one.factor,
            reach: one.reach,
            private: one.private.min(one.footprint),
            most: one.curve.misses_and_slope(one.private).0,
        },
        stall: idle / one.mlp,
        visits: visits(&lines, one.mlp),
        limit: (one.footprint - one.private).max(0.0),
        shares: Vec::new(),
    }
}

/// A page copy by a CPU of the target: read there, over the links, written here.
fn copying(machine: &MachineSpec, from: usize, to: usize) -> Stream {
    let mut lines = vec![0.0; machine.resources.len()];
    lines[from] += 1.0;
    lines[to] += 1.0;
    machine.routes[from][to].iter().for_each(|link| lines[*link] += 1.0);
    Stream {
        bytes: LINE,
        compute: COPY_OVERHEAD,
        misses: Misses::Fixed(PAGE_LINES),
        stall: machine.latency[to][from] / COPY_MLP,
        visits: visits(&lines, COPY_MLP),
        limit: 0.0,
        shares: Vec::new(),
    }
}

/// Whoever causes a transfer waits for it, overlapped with `mlp` others.
fn visits(lines: &[f64], mlp: f64) -> Vec<Visit> {
    let visit = |(resource, lines): (usize, &f64)| Visit { resource, lines: *lines, stall: lines / mlp };
    lines.iter().enumerate().filter(|(_, lines)| **lines > 0.0).map(visit).collect()
}

/// Cuts every LLC into parts and gives the threads their shares; returns the bytes of each part.
fn divide(machine: &MachineSpec, all: &[(Demand, f64)], streams: &mut [Stream]) -> Vec<f64> {
    let mut spaces = Vec::new();
    for (llc, cache) in machine.llcs.iter().enumerate() {
        let here: Vec<_> = (0..all.len()).filter(|index| all[*index].0.place.llc == llc).collect();
        let mut masks: Vec<_> = here.iter().map(|index| all[*index].0.mask).collect();
        masks.sort_unstable();
        masks.dedup();
        let parts = space::parts(&masks);
        for index in here {
            let mask = all[index].0.mask;
            let open = parts.iter().enumerate().filter(|(_, part)| *part & mask != 0);
            let share = |part: &u64| f64::from(part.count_ones()) / f64::from(mask.count_ones());
            streams[index].shares = open.map(|(number, part)| (spaces.len() + number, share(part))).collect();
        }
        spaces.extend(parts.iter().map(|part| cache.bytes_of(*part)));
    }
    spaces
}

/// Renumbers the resources that streams visit; returns the machine's number of each.
fn only_used(streams: &mut [Stream], resources: usize) -> Vec<usize> {
    let mut number = vec![None; resources];
    streams.iter().flat_map(|stream| &stream.visits).for_each(|visit| number[visit.resource] = Some(0));
    let used: Vec<_> = (0..resources).filter(|k| number[*k].is_some()).collect();
    used.iter().enumerate().for_each(|(new, old)| number[*old] = Some(new));
    for visit in streams.iter_mut().flat_map(|stream| &mut stream.visits) {
        visit.resource = number[visit.resource].unwrap_or_default();
    }
    used
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
