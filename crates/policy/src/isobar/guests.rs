//! What happens to a divided cache when threads come to it or leave it. The division stays if a
//! program that comes has a part of it by its name, and if programs are left in both parts.
//! Otherwise every way is open to all again.

use super::memory::Memory;
use super::part::Part;
use super::scene::{Arrangement, Scene};

/// Adapts what programs may take of a cache to a unit that has come, or to one that has left.
pub fn fit(scene: &Scene, memory: &Memory, at: &mut Arrangement, llc: usize, comes: Option<usize>) {
    let guests = scene.guests.get(&llc);
    let part = |unit: usize| guests.and_then(|guests| guests[scene.units[unit].program]);
    let was_open = is_open(memory, at, llc, comes);
    let takes = comes.map(part);
    let own = takes.flatten().filter(|_| !was_open);
    if let Some(unit) = comes {
        at.parts[unit] = own.unwrap_or(Part::ALL);
    }
    let goes_on = takes.is_none() || own.is_some();
    if !(was_open || goes_on && are_two(memory, at, llc)) {
        let here = |domain: usize| memory.places[domain].llc == llc;
        at.parts.iter_mut().zip(&at.domains).filter(|(_, on)| here(**on)).for_each(|(part, _)| *part = Part::ALL);
    }
}

/// Whether a cache is open to all in an arrangement, not counting one unit.
#[must_use]
pub fn is_open(memory: &Memory, at: &Arrangement, llc: usize, but: Option<usize>) -> bool {
    let units = at.domains.iter().zip(&at.parts).enumerate().filter(|(unit, _)| Some(*unit) != but);
    units.filter(|(_, (on, _))| memory.places[**on].llc == llc).all(|(_, (_, part))| *part == Part::ALL)
}

/// Whether programs are left in both parts of a cache.
fn are_two(memory: &Memory, at: &Arrangement, llc: usize) -> bool {
    let here = at.domains.iter().zip(&at.parts).filter(|(on, _)| memory.places[**on].llc == llc);
    let mut parts = here.map(|(_, part)| *part).filter(|part| *part != Part::ALL);
    parts.next().is_some_and(|first| parts.any(|other| other != first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::isobar::step::Step;
    use crate::test_kit::{observation, process, thread};

    const FEW: Part = Part { mask: 0b11, percent: 100 };
    const MANY: Part = Part { mask: 0b1111_1100, percent: 100 };

    /// Two caches. The first is divided: program 1 on it has few ways, and program 2 many. Programs
    /// 3 and 4 are on the other cache. What they would take of the first is given.
    fn after(guests: [Option<Part>; 4], unit: usize, partner: usize) -> Vec<Part> {
        let running = (1..=4).map(|pid| process(pid, vec![thread(pid, if pid < 3 { pid - 1 } else { pid + 1 }, 20.0)]));
        let seen = observation("node:2 core:4", running.collect());
        let (mut scene, memory, _) = stage(&seen, 1, &Idle::default());
        scene.guests = [(0, guests.to_vec())].into();
        (scene.base.parts[0], scene.base.parts[1]) = (FEW, MANY);
        let mut at = scene.base.clone();
        let step = Step { unit, to: 1, partner: Some(partner), pages: None, partner_pages: None };
        step.apply(&scene, &memory, &mut at);
        at.parts
    }

    /// Program 3 has the part of program 1 by its name, so if these change places, the division
    /// stays. If program 3 changes places with program 2, no program is left in the larger part.
    /// What program 4 would take is not known.
    #[test]
    fn a_division_stays_where_who_comes_has_a_part_of_it() {
        let known = [Some(FEW), Some(MANY), Some(FEW), None];
        assert_eq!(after(known, 0, 2), [Part::ALL, MANY, FEW, Part::ALL]);
        assert_eq!(after(known, 1, 2), [Part::ALL; 4]);
        assert_eq!(after(known, 0, 3), [Part::ALL; 4]);
    }
}
