//! The scheduler that the three policies share. They differ in their settings.
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

use super::config::Config;
use super::decision::Decision;
use super::programs::{Characterizer, NAMED, Program, Programs};
use super::refine::Refined;
use crate::kit::domains::{CachedDomains, Domains, SeatId};
use crate::kit::group::Member;
use crate::kit::refused::Refused;
use crate::kit::words::{OneDecimal, listed};
use isobar_model::{Action, Observation, Outcome, Plan, Policy, Sensor, num};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The sensors that the three policies need.
pub const NEEDS: &[Sensor] =
    &[Sensor::Instructions, Sensor::LlcMisses, Sensor::PagesByNode, Sensor::SeveralNodes, Sensor::SeveralDomains];

/// The paper.
pub const PAPER: &str = "Majo and Gross, Memory Management in NUMA Multicore Systems: Trapped between \
                         Cache Contention and Interconnect Overhead (2011)";

/// N-MASS, with or without its refinement.
#[derive(Debug)]
pub struct Scheduler {
    name: &'static str,
    config: Config,
    domains: CachedDomains,
    characterizer: Characterizer,
    last: Option<Decision>,
    /// Whether the last interval passed without a decision.
    waited: bool,
    refused: Refused,
}

impl Scheduler {
    /// Makes a scheduler that has seen nothing yet.
    #[must_use]
    pub fn new(name: &'static str, config: Config) -> Self {
        Self {
            name,
            config: config.merged(),
            domains: CachedDomains::default(),
            characterizer: Characterizer::default(),
            last: None,
            waited: false,
            refused: Refused::default(),
        }
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
        self.refused.next_epoch(seen);
        let domains = self.domains.of(&seen.machine);
        let mut programs = self.characterizer.programs(seen, domains, &self.config);
        let mut plan = Plan { notes: std::mem::take(&mut programs.notes), ..Plan::nothing(self.name) };
        let holds = self.last.as_ref().is_some_and(|last| last.holds(&seen.machine, domains, &programs, &self.config));
        let waits = !holds && !self.waited && self.last.as_ref().is_some_and(|last| last.has_lost(&programs));
        self.waited = waits;
        if waits {
            return plan;
        }
        let kept = self.last.take().filter(|_| holds);
        let decision = kept.unwrap_or_else(|| Decision::make(&seen.machine, domains, &programs, &self.config));
        plan.actions = moves(domains, &programs, &decision, !holds);
        self.refused.hold_back(&mut plan);
        plan.notes.extend(self.estimated(&programs));
        self.last = Some(decision);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
    }
}

impl Scheduler {
    /// A note on programs whose penalty no profile has, if the policy uses profiles.
    fn estimated(&self, programs: &Programs<'_>) -> Option<String> {
        self.config.penalties.as_ref()?;
        // Copies of a program are named once.
        let lacking = programs.list.iter().filter(|program| !program.penalty.measured);
        let names: BTreeSet<&str> = lacking.map(|program| &*program.process.name).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let text =
            || format!("NUMA penalty estimated from the miss rate, since no profile has it: {}", listed(&names, NAMED));
        (!names.is_empty()).then(text)
    }
}

/// A move for every thread that is not on its core. A thread that has slept since it was bound is
/// seen where it last ran, and will wake up on its core.
fn moves(domains: &Domains, programs: &Programs<'_>, decision: &Decision, fresh: bool) -> Vec<Action> {
    let mut actions = Vec::new();
    for (program, refined) in programs.list.iter().zip(&decision.refined) {
        for at in program.members.clone() {
            let member = &programs.groups.members[at];
            let slept = !fresh && member.thread.instructions == Some(0);
            let away = decision.seats[at].filter(|seat| member.must_go_to(*seat) && !slept);
            if let Some(seat) = away {
                let reason = reason(domains, program, member, seat, *refined);
                let cpu = domains.seat(seat).cpu;
                actions.push(Action::MoveThread { pid: member.pid, tid: member.thread.tid, cpu, cpus: None, reason });
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
        let _ = write!(text, "its core is taken, goes to another core of {here}");
    } else if let Some(Refined { from, source, target }) = refined {
        let [before, after, there, then] = [source.0, source.1, target.0, target.1].map(OneDecimal);
        let _ = write!(
            text,
            "lowest penalty on {}: pressure goes from {before} to {after} MPKI there, from {there} to {then} on {here}",
            domains.describe(from)
        );
    } else if local {
        let _ = write!(text, "goes to its home node {home}: {here}");
    } else {
        let _ = write!(text, "the cores of its home node {home} are taken: goes to {here}");
    }
    let origin = if program.penalty.measured { "measured" } else { "estimated" };
    let _ = write!(
        text,
        " ({} MPKI, NUMA penalty {} {origin})",
        OneDecimal(program.pressure),
        Hundredths(program.penalty.value)
    );
    text
}

/// Formats a number that is not negative with two decimals: NUMA penalties differ in the second.
struct Hundredths(f64);

impl std::fmt::Display for Hundredths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = num::round(self.0 * 100.0);
        write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
}
