//! The scheduler that the three policies share: settings in, plans out.
//!
//! ```text
//! every interval:
//!     characterize the programs                                     programs
//!     if the last decision no longer holds, decide anew             decision
//!         (an interval later, when threads have only ended):
//!         step 2, maximum-local mapping                             max_local
//!         step 3, cache-aware refinement (N-MASS only)              refine
//!     move every thread that is not on its core, or is there by chance
//! ```

use super::decision::Decision;
use super::penalty::{Penalties, Penalty, Regression};
use super::programs::{Known, Program, Programs, listed};
use super::refine::Refined;
use crate::kit::domains::{CachedDomains, Domains, SeatId};
use crate::kit::group::Member;
use crate::kit::words::Tenths;
use crate::settings::ConfigError;
use isobar_model::{Action, Mpki, Observation, Plan, Policy, Process, Sensor, num};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The sensors that the three policies need.
pub const NEEDS: &[Sensor] =
    &[Sensor::Instructions, Sensor::LlcMisses, Sensor::PagesByNode, Sensor::SeveralNodes, Sensor::SeveralDomains];

/// Settings, as the scheduler wants them.
#[derive(Clone, Debug, PartialEq)]
pub struct How {
    /// Measured penalties; `None` = estimates only.
    pub penalties: Option<Penalties>,
    /// The estimate.
    pub regression: Regression,
    /// Pressure from which on an LLC takes no remote process, in MPKI; `None` = no refinement.
    pub threshold: Option<f64>,
    /// Relative change of a process's MPKI that ends a decision.
    pub change: f64,
    /// MPKI below which changes do not count.
    pub floor: f64,
    /// Share of a process's pages by which another node must have more to become its home.
    pub home_margin: f64,
}

impl How {
    /// The NUMA penalty of a process whose threads have these miss rates; the estimate is made from their mean.
    #[must_use]
    pub fn penalty(&self, process: &Process, rates: &[f64]) -> Penalty {
        let mean = rates.iter().sum::<f64>() / num::float_len(rates.len().max(1));
        let measured = self.penalties.as_ref().and_then(|penalties| penalties.of(process));
        measured.unwrap_or_else(|| self.regression.of(Mpki(mean)))
    }

    /// Whether a process's pressure has changed so much that a decision no longer holds.
    #[must_use]
    pub fn is_change(&self, old: f64, new: f64) -> bool {
        old.max(new) >= self.floor && (new - old).abs() > self.change * old
    }
}

/// Checks of the settings that the three policies share, as they stand in the configuration.
pub(super) fn check_adaptation(section: &str, change: f64, floor: f64, margin: f64) -> Result<(), ConfigError> {
    let wrong = |key, value, expected| Err(ConfigError::impossible(section, key, value, expected));
    if !(change.is_finite() && change >= 0.0) {
        return wrong("change_percent", change, "a percentage of 0 or more");
    }
    if !(floor.is_finite() && floor >= 0.0) {
        return wrong("change_floor_mpki", floor, "a miss rate of 0 or more");
    }
    if !(0.0..=100.0).contains(&margin) {
        return wrong("home_margin_percent", margin, "0 to 100");
    }
    Ok(())
}

/// The check of the threshold of algorithm 3.
pub(super) fn check_threshold(section: &str, threshold: f64) -> Result<(), ConfigError> {
    let possible = threshold.is_finite() && threshold > 0.0;
    let refused = || ConfigError::impossible(section, "threshold_mpki", threshold, "a pressure above 0");
    possible.then_some(()).ok_or_else(refused)
}

/// N-MASS, with or without its refinement.
#[derive(Debug)]
pub struct Scheduler {
    name: &'static str,
    how: How,
    domains: CachedDomains,
    known: Known,
    last: Option<Decision>,
    /// Whether the last interval passed without a decision.
    waited: bool,
}

impl Scheduler {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(name: &'static str, how: How) -> Self {
        Self { name, how, domains: CachedDomains::default(), known: Known::default(), last: None, waited: false }
    }
}

impl Policy for Scheduler {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> &'static [Sensor] {
        NEEDS
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let domains = self.domains.of(&seen.machine);
        let mut cast = self.known.programs(seen, domains, &self.how);
        let mut plan = Plan { notes: std::mem::take(&mut cast.notes), ..Plan::nothing(self.name) };
        let holds = self.last.as_ref().is_some_and(|last| last.holds(&seen.machine, &cast, &self.how));
        let waits = !holds && !self.waited && self.last.as_ref().is_some_and(|last| last.has_lost(&cast));
        self.waited = waits;
        if waits {
            return plan;
        }
        let kept = self.last.take().filter(|_| holds);
        let decision = kept.unwrap_or_else(|| Decision::make(&seen.machine, domains, &cast, &self.how));
        plan.actions = moves(domains, &cast, &decision, !holds);
        plan.notes.extend(self.estimated(&cast));
        self.last = Some(decision);
        plan
    }
}

impl Scheduler {
    /// Which penalties a profile lacks, where there could be one.
    fn estimated(&self, cast: &Programs<'_>) -> Option<String> {
        self.how.penalties.as_ref()?;
        // Copies of a program are named once.
        let lacking = cast.programs.iter().filter(|program| !program.penalty.measured);
        let names: BTreeSet<&str> = lacking.map(|program| &*program.process.name).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let text = || format!("NUMA penalty estimated from the miss rate, since no profile has it: {}", listed(&names));
        (!names.is_empty()).then(text)
    }
}

/// A move for every thread that is not on its core. A thread that slept since it was bound is where it last ran, and will wake
/// up on its core.
fn moves(domains: &Domains, cast: &Programs<'_>, decision: &Decision, fresh: bool) -> Vec<Action> {
    let mut actions = Vec::new();
    for (program, refined) in cast.programs.iter().zip(&decision.refined) {
        for at in program.members.clone() {
            let member = &cast.groups.members[at];
            let slept = !fresh && member.thread.instructions == Some(0);
            let away = decision.seats[at].filter(|seat| member.must_go_to(*seat) && !slept);
            if let Some(seat) = away {
                let reason = reason(domains, program, member, seat, *refined);
                let cpu = domains.seat(seat).cpu;
                actions.push(Action::MoveThread { pid: member.pid, tid: member.thread.tid, cpu, reason });
            }
        }
    }
    actions
}

fn reason(
    domains: &Domains,
    program: &Program<'_>,
    member: &Member<'_>,
    seat: SeatId,
    refined: Option<Refined>,
) -> String {
    let domain = domains.seat(seat).domain;
    let here = domains.describe(domain);
    let local = domains.node_of(seat) == Some(program.home);
    let home = program.home;
    let mut text = String::with_capacity(160);
    if member.seat == Some(seat) {
        let _ = write!(text, "keeps its core, bound so that it stays on {here}");
    } else if member.seat.is_some_and(|old| domains.seat(old).domain == domain) {
        let _ = write!(text, "its core is taken, another one of {here}");
    } else if let Some(Refined { from, source, target }) = refined {
        let [before, after, there, then] = [source.0, source.1, target.0, target.1].map(Tenths);
        let _ = write!(
            text,
            "lowest penalty on {}: from {before} to {after} MPKI there, from {there} to {then} on {here}",
            domains.describe(from)
        );
    } else if local {
        let _ = write!(text, "at home on node {home}: {here}");
    } else {
        let _ = write!(text, "the cores of its home node {home} are taken: {here}");
    }
    let origin = if program.penalty.measured { "measured" } else { "estimated" };
    let _ = write!(
        text,
        " ({} MPKI, NUMA penalty {} {origin})",
        Tenths(program.pressure),
        Hundredths(program.penalty.value)
    );
    text
}

/// A number that is not negative, with two decimals: NUMA penalties differ in the second.
struct Hundredths(f64);

impl std::fmt::Display for Hundredths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = num::round(self.0 * 100.0);
        write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
pub(super) mod tests;
