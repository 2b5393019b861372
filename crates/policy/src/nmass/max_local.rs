//! Step 2 of N-MASS, algorithm 2: every process gets a core of its home node, those with a high
//! NUMA penalty first.
//!
//! ```text
//! merge the lists of all homes by falling NUMA penalty; for each process:
//!     the next free core of its home processor
//!     or, where there is none, of another
//! ```
//!
//! *Properties*: if no thread is confined, as many threads are local as possible: for each home,
//! the lesser of its cores and its threads; no core has two threads while another core that they
//! may use has none; within a home, the threads with higher penalties are the local ones.
//!
//! *Departures from the paper*
//! 1. Surplus processes are mapped after all others. As printed, the surplus of one home may take a
//!    core from a process whose home it is. On two processors with no more processes than cores,
//!    both orders give the same mapping.
//! 2. If a home has several LLCs, a process goes to the one with the least pressure among those
//!    that have cores for all its threads (section 5: "cache contention within a processor is
//!    minimized as in an SMP context").
//! 3. Surplus goes to the nearest node with a free core, and there to the LLC with the least
//!    pressure. The paper has only one other node.
//! 4. Equal penalties are ordered by pid.

use super::mapping::Mapping;
use super::programs::Program;
use crate::kit::domains::DomainId;

/// Maps every program.
pub fn map_maxlocal(mapping: &mut Mapping<'_, '_>, programs: &[Program<'_>]) {
    let order = by_penalty(programs);
    for confined in [true, false] {
        let of_kind = || order.iter().map(|at| &programs[*at]).filter(|program| program.confined == confined);
        of_kind().for_each(|program| map_home(mapping, program));
        of_kind().for_each(|program| map_surplus(mapping, program));
    }
}

/// Positions of the programs, highest NUMA penalty first: the merged lists.
#[must_use]
pub fn by_penalty(programs: &[Program<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..programs.len()).collect();
    order.sort_by(|a, b| programs[*b].penalty.value.total_cmp(&programs[*a].penalty.value));
    order
}

fn map_home(mapping: &mut Mapping<'_, '_>, program: &Program<'_>) {
    let wanted = program.members.len();
    let has_room = |id: &DomainId| mapping.is_local(program, *id) && mapping.free_cores(*id) > 0;
    let mut home: Vec<DomainId> = (0..mapping.domains.domains.len()).map(DomainId).filter(has_room).collect();
    home.sort_by(|a, b| {
        let key = |id: &DomainId| (mapping.free_cores(*id) < wanted, mapping.pressure(*id), mapping.free_cores(*id));
        let ((short_a, pressure_a, free_a), (short_b, pressure_b, free_b)) = (key(a), key(b));
        short_a.cmp(&short_b).then(pressure_a.total_cmp(&pressure_b)).then(free_b.cmp(&free_a))
    });
    for domain in home {
        for member in program.members.clone() {
            if mapping.at[member].is_none()
                && let Some(seat) = mapping.free_core(member, domain)
            {
                mapping.sit(program, member, seat);
            }
        }
    }
}

fn map_surplus(mapping: &mut Mapping<'_, '_>, program: &Program<'_>) {
    for member in program.members.clone() {
        if mapping.at[member].is_none()
            && let Some(seat) = mapping.least_loaded(program, member)
        {
            mapping.sit(program, member, seat);
        }
    }
}
