//! Step 3 of N-MASS, algorithm 3: processes leave a crowded LLC as long as less than half of the
//! difference is transferred (section 3.1), so that the pressures become as equal as the penalty of
//! remote execution allows.
//!
//! ```text
//! repeat:
//!     from the LLC with the most pressure take the process with the lowest NUMA penalty
//!         (back of the list)
//!     map it onto the LLC on which the pressure is then least, of those
//!         that have free cores for it,
//!         that do not end above the LLC that it leaves, with its penalty counted there,
//!         and where, if it runs remotely there, the pressure stays below the threshold
//! until there is none
//! ```
//!
//! *Properties*: it ends, because no process is moved twice; no move makes its target the fuller
//! one of the two LLCs; no remote process is moved to an LLC whose pressure would then reach the
//! threshold; equal pressures move nothing.
//!
//! *Departures from the paper*
//! 1. The loop (docs/design/n-mass.md): as printed, it ends when a move is made and never uses the
//!    difference computed in line 6. How much a move may transfer is taken from section 3.1.
//! 2. Only one side is tried. As printed, the cheaper of the two last processes is tried first. A
//!    move to the LLC with more pressure would end above the other, so it is never accepted and
//!    need not be tried.
//! 3. With more than two LLCs, a process moves from the LLC with the most pressure to the one with
//!    the least, counted after the move, so that an LLC of the home node is preferred to a remote
//!    one with the same pressure. Ties go to the nearer LLC, then to the first.
//! 4. The threshold holds for remote mappings only. Its purpose is to protect the interconnect
//!    (section 3.1), which a process that comes home does not load.
//! 5. A process without misses is skipped: it adds no pressure, so moving it evens out nothing.
//! 6. A process of several threads moves as a whole. One that is already spread over several LLCs
//!    stays.

use super::mapping::Mapping;
use super::max_local::by_penalty;
use super::programs::Program;
use crate::kit::domains::{DomainId, SeatId};

/// Pressures are sums that were added up in different orders: equal ones differ by less than this
/// factor.
const ROUNDING: f64 = 1.0 + 1e-9;

/// A process that the refinement moved, and the pressures that led to the move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refined {
    /// The LLC that it left.
    pub from: DomainId,
    /// The pressures of the LLC that it left, before and after.
    pub source: (f64, f64),
    /// The pressures of the LLC that it joined, before and after.
    pub target: (f64, f64),
}

/// Refines a mapping. Returns for each program how it was moved, if it was.
pub fn refine_mapping(mapping: &mut Mapping<'_, '_>, programs: &[Program<'_>], threshold: f64) -> Vec<Option<Refined>> {
    let order = by_penalty(programs);
    let mut refined = vec![None; programs.len()];
    while let Some((at, from)) = candidate(mapping, programs, &order, &refined) {
        let Some(step) = best_step(mapping, &programs[at], from, threshold) else { break };
        let members = programs[at].members.clone();
        members.clone().for_each(|member| mapping.leave(&programs[at], member));
        members.zip(step.seats).for_each(|(member, seat)| mapping.sit(&programs[at], member, seat));
        refined[at] = Some(step.refined);
    }
    refined
}

/// The last process in the list of the LLC with the most pressure, with its domain.
fn candidate(
    mapping: &Mapping<'_, '_>,
    programs: &[Program<'_>],
    order: &[usize],
    refined: &[Option<Refined>],
) -> Option<(usize, DomainId)> {
    let mut best: Option<(usize, DomainId)> = None;
    let movable = order.iter().rev().filter(|at| refined[**at].is_none() && programs[**at].pressure > 0.0);
    for &at in movable {
        let Some(domain) = mapping.domain_of(&programs[at]) else { continue };
        // From the back of the list: the first process that is found on an LLC is its last one.
        if best.is_none_or(|(_, known)| is_more(mapping, domain, known)) {
            best = Some((at, domain));
        }
    }
    best
}

/// Whether a domain's LLC has more pressure than another's; on equal pressure the first LLC takes
/// precedence.
fn is_more(mapping: &Mapping<'_, '_>, one: DomainId, other: DomainId) -> bool {
    let (a, b) = (mapping.pressure(one), mapping.pressure(other));
    a.total_cmp(&b).then(mapping.cache(other).cmp(&mapping.cache(one))).is_gt()
}

struct Step {
    domain: DomainId,
    seats: Vec<SeatId>,
    refined: Refined,
}

fn best_step(mapping: &Mapping<'_, '_>, program: &Program<'_>, from: DomainId, threshold: f64) -> Option<Step> {
    let all = (0..mapping.domains.domains.len()).map(DomainId);
    let steps = all.filter_map(|to| step(mapping, program, from, to, threshold));
    steps.min_by(|a, b| {
        let far = |step: &Step| mapping.distance(program.home, step.domain);
        a.refined.target.1.total_cmp(&b.refined.target.1).then(far(a).cmp(&far(b)))
    })
}

/// The move of a program to a domain, if it is acceptable.
fn step(
    mapping: &Mapping<'_, '_>,
    program: &Program<'_>,
    from: DomainId,
    to: DomainId,
    threshold: f64,
) -> Option<Step> {
    let (source, target) = (mapping.pressure(from), mapping.pressure(to));
    let source_after = source - mapping.weighted(program, program.pressure, from);
    let target_after = target + mapping.weighted(program, program.pressure, to);
    let fits = mapping.is_local(program, to) || target_after < threshold;
    if mapping.cache(from) == mapping.cache(to) || target_after > source_after * ROUNDING || !fits {
        return None;
    }
    let seats = mapping.free_cores_for(program, to)?;
    let refined = Refined { from, source: (source, source_after), target: (target, target_after) };
    Some(Step { domain: to, seats, refined })
}
