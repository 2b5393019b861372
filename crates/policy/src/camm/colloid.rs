//! `colloid`: balance the loaded access latencies of two tiers.
//!
//! M. Vuppalapati, R. Agarwal: *Tiered Memory Management: Access Latency is the Key!*, SOSP 2024.
//! As long as the default tier answers faster than the alternate one, pages that are accessed are
//! promoted; if it is slower, they are demoted. How many pages move is found by bisection.
//!
//! | symbol | meaning | here |
//! |---|---|---|
//! | `L_D`, `L_A` | loaded latency of the default and the alternate tier | probed latency of the local node and its neighbour |
//! | `p` | share of accesses that the default tier serves | share of accessed pages that are local |
//! | `p_lo`, `p_hi` | bounds on the `p` at which latencies meet | [`Bounds`] |
//! | delta | tolerated difference of latencies, as a fraction of `L_D` | `delta` |
//! | epsilon | width of the bounds below which they are opened again | `epsilon` |
//!
//! ```text
//! if |L_D - L_A| <= delta * L_D: nothing
//! if L_D < L_A: p_lo = p                        the balance lies above p
//! else:         p_hi = p                        it lies below
//! if p_hi < p_lo + epsilon:                     the bounds have met, but latencies have not:
//!     if L_D < L_A: p_hi = 1 else p_lo = 0      the load has changed
//! dp = |(p_lo + p_hi) / 2 - p|
//! move pages with dp of all accesses: alternate -> default if L_D < L_A, else default -> alternate
//! ```
//!
//! *Properties*: those of [`super::capm`], with delta as the threshold.
//!
//! *Departures from the paper*. The bisection above and the values of delta and epsilon have not
//! been checked against the paper's text; docs/design/camm.md says what is certain.
//! 1. The paper has one default and one alternate tier per machine. Here each node with CPUs has
//!    its own two tiers: its memory, and that of its neighbour. The bounds are forgotten when the
//!    neighbour changes.
//! 2. The paper measures latencies and request rates with uncore counters and smooths them. Here a
//!    latency is probed, as a median of many loads, and no counter says which share of accesses a
//!    tier serves: every accessed page counts as one access. If accessed pages were not measured,
//!    every resident page does.
//! 3. The paper's migration limit is in bytes per second. Here it is `max_pages_per_epoch`, for
//!    each node.
//! 4. The paper's systems choose pages by hotness so that their accesses add up to `dp`. Here the
//!    processes of the node share the pages evenly, each of them at most the pages that it
//!    accessed.

use super::config::Reserve;
use super::free::FreePages;
use super::latency::{NOT_MEASURED, Unit, View, views};
use super::moves::{PageRequest, candidates, grant};
use super::share::fair;
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::refused::Refused;
use crate::kit::running::Running;
use crate::kit::words::{OneDecimal, whole_percent};
use crate::settings::{ConfigError, Section, at_least, between, settings};
use isobar_model::{NodeId, Observation, Outcome, Plan, Policy, Process, Sensor, num};
use std::collections::BTreeMap;

/// Canonical name.
pub const NAME: &str = "colloid";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: "Vuppalapati and Agarwal, Tiered Memory Management: Access Latency is the Key! (2024)",
    summary: "accessed pages until local and remote latency meet, by bisection",
    moves: Moves::Pages,
    needs: &[Sensor::Latency, Sensor::SeveralNodes, Sensor::PagesByNode],
    make: &PolicyMaker { defaults: <(Config, Reserve)>::default, new: Colloid::new },
};

settings! {
    /// Settings.
    pub struct Config {
        /// Difference of local and remote latency, as a part of the local one, that is tolerated.
        pub delta: f64 = 0.05,
        /// Width of the bounds on the local share of accesses below which the bounds are opened
        /// again, because the load has changed.
        pub epsilon: f64 = 0.01,
        /// The most pages that move in an epoch for the CPUs of a node (131072: 512 MiB).
        pub max_pages_per_epoch: u64 = 131_072,
    }
}

impl Section for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        between(section, "delta", self.delta, 0.0, 1.0)?;
        between(section, "epsilon", self.epsilon, 0.0, 1.0)?;
        at_least(section, "max_pages_per_epoch", self.max_pages_per_epoch, 1)
    }
}

/// The local shares of accesses between which the latencies meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    neighbour: NodeId,
    low: f64,
    high: f64,
}

impl Bounds {
    const fn new(neighbour: NodeId) -> Self {
        Self { neighbour, low: 0.0, high: 1.0 }
    }

    /// The wanted change of the local share, 0 to 1, in the direction of `promote`.
    fn shift(&mut self, share: f64, promote: bool, epsilon: f64) -> f64 {
        if promote {
            self.low = share;
        } else {
            self.high = share;
        }
        if self.high < self.low + epsilon {
            if promote { self.high = 1.0 } else { self.low = 0.0 }
        }
        (f64::midpoint(self.low, self.high) - share).abs()
    }
}

/// The policy that balances access latencies.
#[derive(Debug)]
pub struct Colloid {
    config: Config,
    reserve: Reserve,
    bounds: BTreeMap<NodeId, Bounds>,
    refused: Refused,
}

impl Colloid {
    /// Takes validated settings.
    #[must_use]
    pub fn new((config, reserve): (Config, Reserve)) -> Self {
        Self { config, reserve, bounds: BTreeMap::new(), refused: Refused::default() }
    }

    /// The pages that move for the CPUs of a node, on which these processes run.
    fn balance<'a>(&mut self, seen: &Observation, view: &View, processes: &[&'a Process]) -> Vec<PageRequest<'a>> {
        let (Some(local), Some((neighbour, remote))) = (view.local, view.neighbour()) else { return Vec::new() };
        let on =
            |node: NodeId| -> Vec<u64> { processes.iter().map(|process| candidates(seen, process, node)).collect() };
        let sum = |pages: &[u64]| pages.iter().fold(0, |sum: u64, pages| sum.saturating_add(*pages));
        let (near, far) = (on(view.node), on(neighbour));
        let (here, total) = (sum(&near), sum(&near).saturating_add(sum(&far)));
        if total == 0 || (local - remote).abs() <= self.config.delta * local {
            return Vec::new();
        }
        let promote = local < remote;
        let bounds = self.bounds.entry(view.node).or_insert(Bounds::new(neighbour));
        if bounds.neighbour != neighbour {
            *bounds = Bounds::new(neighbour);
        }
        let shift = bounds.shift(num::float(here) / num::float(total), promote, self.config.epsilon);
        let pages = num::round(shift * num::float(total)).min(self.config.max_pages_per_epoch);
        let (from, to, present) = if promote { (neighbour, view.node, far) } else { (view.node, neighbour, near) };
        let reason = format!(
            "node {} waits {} ns for its own memory and {} for node {neighbour}; {} % of its accessed pages are local",
            view.node,
            OneDecimal(local),
            OneDecimal(remote),
            whole_percent(here, total)
        );
        let wish =
            |(process, pages): (&&'a Process, u64)| PageRequest { process, from, to, pages, reason: reason.clone() };
        processes.iter().zip(fair(&present, pages)).filter(|(_, pages)| *pages > 0).map(wish).collect()
    }
}

impl Policy for Colloid {
    as_registered!();

    fn uses(&self) -> &'static [Sensor] {
        &[Sensor::AccessedPages]
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan::nothing(NAME);
        let views = views(seen, Unit::Nanoseconds);
        if views.is_empty() {
            plan.notes.push(NOT_MEASURED.to_owned());
        }
        let mut by_node: BTreeMap<NodeId, Vec<&Process>> = BTreeMap::new();
        self.refused.next_epoch(seen);
        for process in self.refused.with_movable_pages(seen) {
            if let Some(main) = Running::of(process, &seen.machine).and_then(|running| running.main) {
                by_node.entry(main).or_default().push(process);
            }
        }
        let of = |view: &View| by_node.get(&view.node).map_or(&[][..], Vec::as_slice);
        let mut wishes: Vec<_> = views.iter().flat_map(|view| self.balance(seen, view, of(view))).collect();
        wishes.sort_by_key(|wish| wish.process.pid);
        grant(wishes, &mut FreePages::new(seen, &self.reserve), &mut plan);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camm::test_kit::{accessed, latency, on_nodes, seen};
    use crate::test_kit::{moved, policy, refused};

    #[test]
    fn bisection_meets_the_balance_and_follows_it_when_it_moves() {
        let mut bounds = Bounds::new(NodeId(1));
        assert_eq!(bounds.shift(1.0, false, 0.01), 0.5, "between 0 and 1");
        assert_eq!(bounds.shift(0.5, true, 0.01), 0.25, "between 0.5 and 1");
        assert_eq!(bounds.shift(0.75, false, 0.01), 0.125, "between 0.5 and 0.75");
        assert_eq!(bounds.shift(0.5, false, 0.01), 0.25, "the bounds met: opened down to 0");
        assert_eq!(bounds.shift(1.0, true, 0.01), 0.0, "nothing is away");
    }

    /// Local latency grows with the local share: the latencies meet at two thirds.
    #[test]
    fn latencies_meet() {
        let mut colloid = policy(&ENTRY, "");
        let mut local = 9000u64;
        let mut sizes = Vec::new();
        for _ in 0..12 {
            let share = num::float(local) / 9000.0;
            let mut seen = seen("node:2 core:4", &[&[100.0 + 150.0 * share, 200.0], &[300.0, 100.0]]);
            seen.processes = on_nodes(&[0]);
            accessed(&mut seen, 1, &[local, 9000 - local]);
            let moved = moved(&seen, &colloid.decide(&seen));
            let Some(action) = moved.first() else { break };
            let pages: u64 = action.split(' ').nth(1).unwrap().parse().unwrap();
            local = if action.ends_with("0>1") { local - pages } else { local + pages };
            sizes.push(pages);
        }
        assert_eq!(sizes[..3], [4500, 2250, 1125]);
        assert!((5000..7000).contains(&local) && sizes.len() < 12, "{local}: {sizes:?}");
    }

    #[test]
    fn processes_share_what_moves_within_the_limit() {
        let mut seen = seen("node:2 core:4", &[&[400.0, 200.0], &[300.0, 100.0]]);
        seen.processes = on_nodes(&[0, 0, 1]);
        for (pid, pages) in [(1, [8000, 0]), (2, [400, 0]), (3, [0, 5000])] {
            accessed(&mut seen, pid, &pages);
        }
        assert_eq!(moved(&seen, &policy(&ENTRY, "").decide(&seen)), ["1: 3800 0>1", "2: 400 0>1"]);
        let limited = policy(&ENTRY, "max_pages_per_epoch = 1000").decide(&seen);
        assert_eq!(moved(&seen, &limited), ["1: 600 0>1", "2: 400 0>1"]);
        latency(&mut seen, &[&[200.0, 209.0], &[300.0, 100.0]]);
        assert!(policy(&ENTRY, "").decide(&seen).actions.is_empty(), "within delta");
        assert_eq!(refused(&ENTRY, "delta = 2.0"), "colloid.delta: 2 is impossible: expected 0 to 1");
    }
}
