//! Which cores are idle, and for how long. A core is idle for a moment between the end of a program
//! and the start of the one after it. If a change takes the core meanwhile, the new program starts
//! on another cache, and the predicted gain does not come. So a core whose thread has ended or
//! sleeps counts as free only once it has been idle for some epochs. A core on which no thread was
//! seen, or whose thread runs elsewhere now, is free at once.

use crate::kit::domains::Domains;
use isobar_model::{Observation, Thread, Tid};
use std::collections::BTreeSet;

/// Fraction of an interval from which on a thread holds its CPU.
const BUSY: f64 = 0.05;

/// Whether a thread holds a CPU.
#[must_use]
pub fn runs(thread: &Thread, interval: f64) -> bool {
    match thread.cpu_time {
        Some(time) => time.0 > BUSY * interval,
        None => thread.instructions.is_some_and(|count| count > 0),
    }
}

/// The cores of a machine.
#[derive(Clone, Debug, Default)]
pub struct Idle(Vec<Core>);

/// A core.
#[derive(Clone, Debug, Default)]
struct Core {
    /// Number of epochs in a row at whose end it was idle; in the first of them a thread may have
    /// run.
    idle: u32,
    /// The threads that ran on it last and may come back, because they have ended or sleep.
    last: Vec<Tid>,
}

impl Idle {
    /// Reads an epoch.
    pub fn pass(&mut self, seen: &Observation, domains: &Domains) {
        self.0.resize(domains.core_count(), Core { idle: 1, last: Vec::new() });
        let mut on: Vec<Vec<Tid>> = vec![Vec::new(); self.0.len()];
        let mut running = BTreeSet::new();
        for (_, thread) in seen.threads().filter(|(_, thread)| runs(thread, seen.interval.0)) {
            if let Some(seat) = thread.cpu.and_then(|cpu| domains.seat_of(cpu)) {
                on[domains.seat(seat).core].push(thread.tid);
                running.insert(thread.tid);
            }
        }
        for (core, threads) in self.0.iter_mut().zip(on) {
            if threads.is_empty() {
                core.idle = core.idle.saturating_add(1);
                core.last.retain(|tid| !running.contains(tid));
            } else {
                *core = Core { idle: 0, last: threads };
            }
        }
    }

    /// Whether a core has been idle for `epochs` whole epochs, or for one if no thread may come
    /// back to it.
    #[must_use]
    pub fn is_free(&self, core: usize, epochs: u32) -> bool {
        self.0.get(core).is_some_and(|core| core.idle > if core.last.is_empty() { 1 } else { epochs })
    }

    /// How many cores of each domain are free.
    #[must_use]
    pub fn by_domain(&self, domains: &Domains, epochs: u32) -> Vec<usize> {
        let free = |domain: &crate::kit::domains::Domain| {
            let seats = domains.seats[domain.seats.clone()].iter().take(domain.cores);
            seats.filter(|seat| self.is_free(seat.core, epochs)).count()
        };
        domains.domains.iter().map(free).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{observation, process, thread};

    /// Two cores; the program on the second ends at 3 s, and another starts there at 5 s.
    #[test]
    fn a_core_is_free_once_it_has_been_idle_for_a_while() {
        let mut idle = Idle::default();
        let mut free = Vec::new();
        for now in 1u8..=14 {
            let mut programs = vec![process(1, vec![thread(1, 0, 1.0)])];
            if now < 3 || (5..8).contains(&now) {
                programs.push(process(2, vec![thread(2, 1, 1.0)]));
            }
            let mut seen = observation("node:1 core:2", programs);
            seen.time.0 = f64::from(now);
            let domains = Domains::of(&seen.machine);
            idle.pass(&seen, &domains);
            free.push(idle.by_domain(&domains, 5)[0]);
        }
        assert_eq!(free, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    }

    /// Three cores: nothing ever ran on the third, and the thread of the first goes to the second
    /// at 3 s.
    #[test]
    fn a_core_that_no_one_comes_back_to_is_free_at_once() {
        let mut idle = Idle::default();
        let mut free = Vec::new();
        for now in 1u8..=5 {
            let cpu = if now < 3 { 0 } else { 1 };
            let mut seen = observation("node:1 core:3", vec![process(1, vec![thread(1, cpu, 1.0)])]);
            seen.time.0 = f64::from(now);
            let domains = Domains::of(&seen.machine);
            idle.pass(&seen, &domains);
            free.push([0, 1, 2].map(|core| idle.is_free(core, 5)));
        }
        assert_eq!(free[1], [false, true, true]);
        assert_eq!(free[2..], [[false, false, true], [true, false, true], [true, false, true]]);
    }
}
