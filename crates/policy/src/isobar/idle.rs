//! Cores on which no thread runs, and for how long. A core is idle for a moment between a program
//! that ends and the one that starts after it: where that one finds its core taken, it starts on
//! another cache, and what was predicted does not come. So an idle core counts as free only once
//! it has been idle for some epochs.

use crate::kit::domains::Domains;
use isobar_model::{Observation, Thread};

/// Part of an interval from which on a thread holds its CPU.
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
pub struct Idle {
    /// Epochs at whose end each was idle, one after another, by position; in the first of them a
    /// thread may have run.
    epochs: Vec<u32>,
}

impl Idle {
    /// Takes an epoch.
    pub fn pass(&mut self, seen: &Observation, domains: &Domains) {
        self.epochs.resize(domains.core_count(), 1);
        self.epochs.iter_mut().for_each(|idle| *idle = idle.saturating_add(1));
        for (_, thread) in seen.threads().filter(|(_, thread)| runs(thread, seen.interval.0)) {
            if let Some(seat) = thread.cpu.and_then(|cpu| domains.seat_of(cpu)) {
                self.epochs[domains.seat(seat).core] = 0;
            }
        }
    }

    /// Whether a core has been idle for some whole epochs.
    #[must_use]
    pub fn is_free(&self, core: usize, epochs: u32) -> bool {
        self.epochs.get(core).is_some_and(|idle| *idle > epochs)
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
}
