//! Lines that pass between last-level caches. A miss that another cache answers loads no memory
//! controller, and where pages are does not matter. If the threads of a program pass lines to each
//! other, these misses become hits once all of its threads share one cache. Counters say how many
//! misses other caches answer (`cache_transfers`), but not whose caches these are. What other
//! programs pass to a program shows while its own threads are on one cache, and is subtracted.

use super::memory::Memory;
use super::scene::{Arrangement, Scene};
use super::traits::FOUND;

/// What lines that pass between caches mean for a program in an arrangement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// The fraction of the misses, by the program's miss curve, that memory answers.
    pub left: f64,
    /// Seconds per instruction for the lines that other caches pass to it.
    pub seconds: f64,
}

impl Exchange {
    const NONE: Self = Self { left: 1.0, seconds: 0.0 };
}

impl Scene {
    /// What lines that pass between caches mean for a program in an arrangement. Those of its own
    /// threads are hits once all of them are on one cache; all others cost what misses were read to
    /// cost.
    #[must_use]
    pub fn exchange(&self, memory: &Memory, at: &Arrangement, program: usize) -> Exchange {
        let one = &self.traits[program];
        if one.fetched >= 1.0 {
            return Exchange::NONE;
        }
        let others = (one.misses * (1.0 - one.fetched) - one.passed).max(0.0);
        let together = one.passed > 0.0 && !self.is_apart(memory, at, program);
        let own = one.passed * if together { FOUND * memory.nearest() } else { one.each };
        Exchange { left: one.fetched, seconds: one.wait * (others * one.each + own) }
    }

    /// Whether a program has threads on several caches in an arrangement.
    fn is_apart(&self, memory: &Memory, at: &Arrangement, program: usize) -> bool {
        let mut caches = at.domains[self.units_of(program)].iter().map(|domain| memory.places[*domain].llc);
        let first = caches.next();
        caches.any(|llc| Some(llc) != first)
    }

    /// The programs, by position, whose threads pass lines to each other and come to one cache by
    /// an arrangement.
    pub fn united<'a>(&'a self, memory: &'a Memory, at: &'a Arrangement) -> impl Iterator<Item = usize> + 'a {
        (0..self.traits.len()).filter(|one| self.traits[*one].passed > 0.0 && !self.is_apart(memory, at, *one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::part;
    use crate::isobar::predict::Predictor;
    use crate::isobar::programs::Programs;
    use crate::isobar::stage::stage;
    use crate::isobar::step::{Step, with};
    use crate::kit::domains::Domains;
    use crate::test_kit::{observation, process, thread};
    use isobar_model::{Bandwidth, Observation};

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1e-9)
    }

    /// A program with threads on two CPUs of two nodes of two cores. It misses 20 times in 1,000
    /// instructions; another cache answers a number of these misses, and the others fetch a line
    /// each.
    fn seen(cpus: [u32; 2], answered: u64) -> Observation {
        let threads = [(1, cpus[0]), (2, cpus[1])].map(|(tid, cpu)| isobar_model::Thread {
            instructions: Some(500_000_000),
            cycles: Some(2_500_000_000),
            llc_misses: Some(10_000_000),
            cache_transfers: Some(500_000 * answered),
            bandwidth: Some(Bandwidth(64.0 * isobar_model::num::float(10_000_000 - 500_000 * answered))),
            ..thread(tid, cpu, 0.0)
        });
        observation("node:2 core:2", vec![process(1, threads.to_vec())])
    }

    /// 15 of 20 misses are answered by another cache. On one cache they are found there, and both
    /// threads are much faster. Controllers carry the other 5 in both cases.
    #[test]
    fn lines_that_threads_pass_to_each_other_are_found_in_a_shared_cache() {
        let (scene, memory, _) = stage(&seen([0, 2], 15), 4, &Idle::default());
        let one = &scene.traits[0];
        assert!(near(one.passed, 0.015) && near(one.misses, 0.02) && near(one.fetched, 0.25), "{one:?}");
        let step = Step { unit: 1, to: 0, partner: None, pages: None, partner_pages: None };
        let together = with(&[step], &scene, &memory, &scene.base);
        let (apart, shared) = (scene.exchange(&memory, &scene.base, 0), scene.exchange(&memory, &together, 0));
        assert!(near(apart.left, 0.25) && near(shared.left, 0.25), "{apart:?} {shared:?}");
        assert!(near(apart.seconds, 0.015 * one.wait * one.each), "{apart:?}");
        assert!(near(shared.seconds, 0.015 * one.wait * 0.2 * memory.nearest()), "{shared:?}");
        let gain = Predictor::new(&scene, &memory).gains(&together).unwrap()[0];
        assert!(gain > 1.4, "{gain}");
        assert_eq!([&scene.base, &together].map(|at| scene.united(&memory, at).count()), [0, 1]);
        // A billion instructions a second, 5 lines of 64 bytes for each 1,000.
        let carried: f64 = scene.flows[..2].iter().sum();
        assert!((carried / (1e9 * 0.005 * 64.0) - 1.0).abs() < 0.3, "{:?}", scene.flows);
    }

    /// While its threads are on one cache, another program passes it 4 of the lines that it misses.
    /// On two caches 10 of 20 misses are answered by others: 6 of them by its own threads. In the
    /// first epoch there it is not known yet.
    #[test]
    fn what_others_pass_to_it_stays() {
        let mut programs = Programs::default();
        let mut passed = |cpus, answered| {
            let seen = seen(cpus, answered);
            let domains = Domains::of(&seen.machine);
            programs.read(&seen, &domains, &Memory::of(&seen, &domains).unwrap(), part::all);
            programs.list[0].transfers.passed
        };
        assert_eq!([passed([0, 1], 4), passed([0, 1], 4), passed([0, 2], 10)], [0.0; 3]);
        assert!(near(passed([0, 2], 10), 0.006));
        assert_eq!(passed([0, 1], 4), 0.0, "together again");
    }

    /// Without transfers, or if they are not counted, nothing changes.
    #[test]
    fn who_passes_nothing_exchanges_nothing() {
        for transfers in [None, Some(0)] {
            let mut seen = seen([0, 2], 0);
            seen.processes[0].threads.iter_mut().for_each(|thread| thread.cache_transfers = transfers);
            let (scene, memory, _) = stage(&seen, 4, &Idle::default());
            assert_eq!(scene.exchange(&memory, &scene.base, 0), Exchange::NONE);
        }
    }
}
