//! Lines that the threads of a program pass to each other between last-level caches. Such a miss is
//! answered by another cache, so it loads no memory controller, and where pages are does not
//! matter. If all threads of the program share one cache, it is a hit there. Counters say how many
//! misses these are (`cache_transfers`), but only while the threads are on several caches. What was
//! read then is remembered, so that a program is not torn apart that was brought together.

use super::memory::Memory;
use super::scene::{Arrangement, Scene};
use super::traits::FOUND;

/// The effect of lines that a program's threads pass to each other, in an arrangement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// The fraction of the misses, by the program's miss curve, that memory answers.
    pub left: f64,
    /// Seconds per instruction for the lines that threads pass to each other.
    pub seconds: f64,
}

impl Exchange {
    const NONE: Self = Self { left: 1.0, seconds: 0.0 };
}

impl Scene {
    /// What lines that its threads pass to each other cost a program in an arrangement.
    #[must_use]
    pub fn exchange(&self, memory: &Memory, at: &Arrangement, program: usize) -> Exchange {
        let one = &self.traits[program];
        if one.passed <= 0.0 {
            return Exchange::NONE;
        }
        let (now, then) = (self.is_apart(memory, &self.base, program), self.is_apart(memory, at, program));
        let left = if now { 1.0 - (one.passed / one.misses.max(1e-12)).min(1.0) } else { 1.0 };
        let each = match (now, then) {
            (true, true) => one.each,
            (true, false) => FOUND * memory.nearest(),
            (false, true) => memory.nearest(),
            (false, false) => 0.0,
        };
        Exchange { left, seconds: one.passed * one.wait * each }
    }

    /// Whether a program has threads on several caches in an arrangement.
    fn is_apart(&self, memory: &Memory, at: &Arrangement, program: usize) -> bool {
        let mut caches = at.domains[self.units_of(program)].iter().map(|domain| memory.places[*domain].llc);
        let first = caches.next();
        caches.any(|llc| Some(llc) != first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::predict::Predictor;
    use crate::isobar::stage::stage;
    use crate::isobar::step::{Step, with};
    use crate::test_kit::{observation, process, thread};

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12 * b.abs().max(1e-9)
    }

    /// Two threads on different nodes miss 20 times in 1,000 instructions; another cache answers 15
    /// of these misses. On one cache they are found there, a quarter of the misses is left, and
    /// both are much faster. What was read is remembered when they are on one cache.
    #[test]
    fn lines_that_threads_pass_to_each_other_are_found_in_a_shared_cache() {
        let mut seen = observation("node:2 core:2", vec![process(1, vec![thread(1, 0, 20.0), thread(2, 2, 20.0)])]);
        for thread in &mut seen.processes[0].threads {
            (thread.instructions, thread.cycles) = (Some(500_000_000), Some(2_500_000_000));
            (thread.llc_misses, thread.cache_transfers) = (Some(10_000_000), Some(7_500_000));
        }
        let (scene, memory, programs) = stage(&seen, 4, &Idle::default());
        let one = &scene.traits[0];
        assert!(near(one.passed, 0.015) && near(one.misses, 0.02), "{one:?}");
        let step = Step { unit: 1, to: 0, partner: None, pages: None, partner_pages: None };
        let together = with(&[step], &scene, &memory, &scene.base);
        let (apart, shared) = (scene.exchange(&memory, &scene.base, 0), scene.exchange(&memory, &together, 0));
        assert!(near(apart.left, 0.25) && near(shared.left, 0.25), "{apart:?} {shared:?}");
        assert!(near(apart.seconds, 0.015 * one.wait * one.each), "{apart:?}");
        assert!(near(shared.seconds, 0.015 * one.wait * 0.2 * memory.nearest()), "{shared:?}");
        let gain = Predictor::new(&scene, &memory).gains(&together).unwrap()[0];
        assert!(gain > 1.4, "{gain}");
        let mut after = seen.clone();
        for thread in &mut after.processes[0].threads {
            thread.cpu = Some(isobar_model::CpuId(thread.tid.0 - 1));
            (thread.llc_misses, thread.cache_transfers) = (Some(2_500_000), Some(0));
        }
        let mut programs = programs;
        let domains = crate::kit::domains::Domains::of(&after.machine);
        (0..4).for_each(|_| programs.read(&after, &domains, &memory, crate::isobar::part::all));
        assert!(near(programs.list[0].passed, 0.015), "what was read is remembered: {}", programs.list[0].passed);
    }

    /// Without transfers, or if they are not counted, nothing changes.
    #[test]
    fn who_passes_nothing_exchanges_nothing() {
        for transfers in [None, Some(0)] {
            let mut seen = observation("node:2 core:1", vec![process(1, vec![thread(1, 0, 20.0), thread(2, 1, 20.0)])]);
            seen.processes[0].threads.iter_mut().for_each(|thread| thread.cache_transfers = transfers);
            let (scene, memory, _) = stage(&seen, 4, &Idle::default());
            assert_eq!(scene.exchange(&memory, &scene.base, 0), Exchange::NONE);
        }
    }
}
