//! The contention model: what every thread gets of caches, memory controllers and links, given where all of them run and where
//! their pages are. A pure function of its arguments; it knows neither time nor processes.
//!
//! ```text
//! misses per instruction   mu_i = curve_i(occupancy_i) * phase factor
//! seconds per instruction  t_i  = cpi_i / f + (mu_i / mlp_i) * (idle latency of the routes + waits at what they pass)
//! rate                     r_i  = share of the core / t_i
//! occupancy                proportional to r_i * mu_i inside an LLC          (cache.rs: one root, monotone)
//! waits                    controllers and links carry what all r_i demand   (queue.rs: one minimum, strictly convex)
//! ```
//!
//! **Method.** Given the waits, the occupancies are unique; given the occupancies, the waits are unique; both are found exactly
//! (proofs in those files). The two are alternated until occupancies move by less than 10^-7 of a cache. The joint fixed point
//! exists (Brouwer: a continuous map of a compact convex set); that the alternation reaches it is not proved in general, so it is
//! not assumed: a round that does not bring the two closer is damped, `Solution::settled` says whether they met, and the machine carries
//! the occupancies over and goes on in its next step where they did not, which is what a real cache does while it
//! fills. A property test finds no machine and load on which they do not meet.
//!
//! **Laws** (tests below): what is delivered stays below capacity; what is demanded is delivered; on one memory domain nobody gains
//! from a new neighbour. Over several domains a neighbour of a neighbour may gain, since whom the newcomer slows
//! down leaves room elsewhere; real machines do the same.
//!
//! **Left for growth**: way partitions (a size per partition instead of per LLC), SMT (a core's share and CPI), prefetching
//! (in the curve's MPKI today), probe traffic of the coherence protocol.

pub(crate) mod cache;
pub mod queue;
mod root;

use crate::machine::{MachineSpec, Place};
use crate::program::MissCurve;
use cache::Inserter;
use queue::{Flow, LINE};

/// Occupancies have met the waits when none moves by more than this part of its cache.
const MEETING: f64 = 1e-7;
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
    /// The part of its core that it gets.
    pub share: f64,
    /// Where it runs.
    pub place: Place,
    /// Cycles per instruction without LLC misses.
    pub cpi: f64,
    pub curve: MissCurve,
    /// Factor of its phase on misses.
    pub factor: f64,
    pub mlp: f64,
    pub write_back: f64,
    /// The most bytes it can hold in a cache.
    pub footprint: f64,
    /// Bytes it can use for each byte it holds: above 1 where siblings on the LLC hold lines that it shares.
    pub reach: f64,
    /// The part of its accesses that goes to each node, by position; sums to 1.
    pub weights: Vec<f64>,
}

/// What carries over from one solution to the next; any start is right, the last one is fast.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub occupancy: Vec<f64>,
    pub waits: Vec<f64>,
}

/// What each thread and the page copy get.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Solution {
    /// Instructions a second, by demand.
    pub rates: Vec<f64>,
    /// LLC misses per instruction, by demand.
    pub misses: Vec<f64>,
    /// Pages a second of the copy, where there is one.
    pub copied: f64,
    /// Bytes a second on each resource.
    #[cfg_attr(not(test), allow(dead_code))]
    pub loads: Vec<f64>,
    /// Whether occupancies and waits have met.
    pub settled: bool,
}

/// The fixed point for some threads and at most one page copy `(from, to)`.
pub(crate) fn solve(
    machine: &MachineSpec,
    all: &[Demand],
    copy: Option<(usize, usize)>,
    state: &mut State,
) -> Solution {
    state.occupancy.resize(all.len(), 0.0);
    state.waits.resize(machine.resources.len(), 0.0);
    let visits: Vec<_> = all.iter().map(|one| visits(machine, one)).collect();
    let (mut damping, mut last, mut settled) = (1.0, f64::INFINITY, false);
    let mut flows = flows(machine, all, &visits, copy, state);
    while !settled && damping > 1e-3 {
        let target = occupancies(machine, all, &flows, &state.waits);
        let distance = distance(machine, all, &state.occupancy, &target);
        settled = distance <= MEETING;
        if distance > 0.7 * last {
            damping *= 0.7;
        }
        last = distance;
        state.occupancy.iter_mut().zip(&target).for_each(|(held, aim)| *held += damping * (aim - *held));
        flows = self::flows(machine, all, &visits, copy, state);
        queue::settle(&machine.resources, &flows, &mut state.waits);
    }
    Solution {
        rates: flows.iter().take(all.len()).map(|flow| flow.rate(&state.waits)).collect(),
        misses: flows.iter().take(all.len()).map(|flow| flow.misses).collect(),
        copied: flows.get(all.len()).map_or(0.0, |flow| flow.rate(&state.waits)),
        loads: queue::loads(&machine.resources, &flows, &state.waits),
        settled,
    }
}

/// The greatest move of an occupancy, as a part of its cache.
fn distance(machine: &MachineSpec, all: &[Demand], from: &[f64], to: &[f64]) -> f64 {
    let moved = all.iter().zip(from.iter().zip(to));
    moved.map(|(one, (a, b))| (a - b).abs() / machine.llc_bytes[one.place.llc]).fold(0.0, f64::max)
}

fn occupancies(machine: &MachineSpec, all: &[Demand], flows: &[Flow], waits: &[f64]) -> Vec<f64> {
    let mut held = vec![0.0; all.len()];
    for (llc, size) in machine.llc_bytes.iter().enumerate() {
        let here: Vec<_> = (0..all.len()).filter(|index| all[*index].place.llc == llc).collect();
        let inserters: Vec<_> =
            here.iter().map(|index| inserter(machine, &all[*index], &flows[*index], waits)).collect();
        let spaces = cache::occupancies(*size, &inserters);
        here.iter().zip(spaces).for_each(|(index, space)| held[*index] = space);
    }
    held
}

/// Bytes that a thread inserts a second, by the space it holds, at given waits.
fn inserter<'a>(
    machine: &MachineSpec,
    one: &'a Demand,
    flow: &Flow,
    waits: &[f64],
) -> Inserter<impl Fn(f64) -> f64 + 'a> {
    let compute = one.cpi / machine.hertz;
    let stall =
        idle_latency(machine, one) / one.mlp + Flow { misses: 1.0, fixed: 0.0, ..flow.clone() }.unit_time(waits);
    let insertion = move |space: f64| {
        let misses = one.curve.misses(space * one.reach) * one.factor;
        LINE * one.share * misses / (compute + misses * stall)
    };
    Inserter { insertion, footprint: one.footprint }
}

fn idle_latency(machine: &MachineSpec, one: &Demand) -> f64 {
    one.weights.iter().zip(&machine.latency[one.place.node]).map(|(weight, seconds)| weight * seconds).sum()
}

fn flows(
    machine: &MachineSpec,
    all: &[Demand],
    visits: &[Vec<(usize, f64)>],
    copy: Option<(usize, usize)>,
    state: &State,
) -> Vec<Flow> {
    let threads = all.iter().zip(visits).zip(&state.occupancy).map(|((one, visits), held)| {
        let misses = one.curve.misses(held * one.reach) * one.factor;
        let fixed = one.cpi / machine.hertz + misses * idle_latency(machine, one) / one.mlp;
        Flow { share: one.share, fixed, misses, mlp: one.mlp, visits: visits.clone() }
    });
    threads.chain(copy.map(|(from, to)| copying(machine, from, to))).collect()
}

/// The lines that pass each resource for one miss: data comes from the page's node, write-backs go there.
fn visits(machine: &MachineSpec, one: &Demand) -> Vec<(usize, f64)> {
    let mut lines = vec![0.0; machine.resources.len()];
    let home = one.place.node;
    for (node, weight) in one.weights.iter().enumerate() {
        lines[node] += weight * (1.0 + one.write_back);
        machine.routes[node][home].iter().for_each(|link| lines[*link] += weight);
        machine.routes[home][node].iter().for_each(|link| lines[*link] += weight * one.write_back);
    }
    lines.into_iter().enumerate().filter(|(_, lines)| *lines > 0.0).collect()
}

/// A page copy by a CPU of the target: read there, over the links, written here.
fn copying(machine: &MachineSpec, from: usize, to: usize) -> Flow {
    let mut lines = vec![0.0; machine.resources.len()];
    lines[from] += 1.0;
    lines[to] += 1.0;
    machine.routes[from][to].iter().for_each(|link| lines[*link] += 1.0);
    let fixed = COPY_OVERHEAD + PAGE_LINES * machine.latency[to][from] / COPY_MLP;
    let visits = lines.into_iter().enumerate().filter(|(_, lines)| *lines > 0.0).collect();
    Flow { share: 1.0, fixed, misses: PAGE_LINES, mlp: COPY_MLP, visits }
}

#[cfg(test)]
mod tests;
