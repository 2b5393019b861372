//! Hardware threads that share a core. Two that run on one core each compute slower than alone,
//! and not half as fast: together they execute a quarter more than one. The kernel fills idle cores
//! first, so that a cache with more running threads than cores has some that share, and it makes no
//! difference to them on which of its CPUs they are for long.

use crate::kit::domains::Domains;
use isobar_model::{Observation, Thread, num};

/// What each further thread of a core adds to what the first executes: the maker says up to 30 %
/// (Marr and others, Intel Technology Journal 6, 2002). Waits for memory are not in it: they
/// overlap.
const ADDED: f64 = 0.25;

/// The factor on the time of computing of a thread where so many run on its core, itself included.
#[must_use]
pub fn crowding(running: f64) -> f64 {
    let others = (running - 1.0).max(0.0);
    (1.0 + others) / (1.0 + ADDED * others)
}

/// The cores of a domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cores {
    /// How many.
    pub cores: f64,
    /// Their CPUs.
    pub cpus: f64,
}

impl Cores {
    /// Of each domain.
    #[must_use]
    pub fn of(domains: &Domains) -> Vec<Self> {
        let one = |domain: &crate::kit::domains::Domain| Self {
            cores: num::float_len(domain.cores).max(1.0),
            cpus: num::float_len(domain.seats.len()),
        };
        domains.domains.iter().map(one).collect()
    }

    /// The mean factor on the time of computing of threads that are spread over these cores, where
    /// they keep so many CPUs busy.
    #[must_use]
    pub fn crowding(self, busy: f64) -> f64 {
        let each = busy.min(self.cpus) / self.cores;
        if each <= 1.0 {
            return 1.0;
        }
        let (fewer, part) = (each.floor(), each.fract());
        let on = |threads: f64| threads * crowding(threads);
        (part * on(fewer + 1.0) + (1.0 - part) * on(fewer)) / each
    }
}

/// How busy the CPUs of each core were in an epoch.
#[derive(Clone, Debug)]
pub struct Busy {
    by_seat: Vec<f64>,
    by_core: Vec<f64>,
}

impl Busy {
    /// In an epoch.
    #[must_use]
    pub fn of(seen: &Observation, domains: &Domains) -> Self {
        let mut by_seat = vec![0.0_f64; domains.seats.len()];
        let interval = seen.interval.0.max(1e-9);
        for (_, thread) in seen.threads() {
            if let (Some(time), Some(seat)) = (thread.cpu_time, thread.cpu.and_then(|cpu| domains.seat_of(cpu))) {
                by_seat[seat.0] = (by_seat[seat.0] + time.0 / interval).min(1.0);
            }
        }
        let mut by_core = vec![0.0; domains.core_count()];
        domains.seats.iter().zip(&by_seat).for_each(|(seat, busy)| by_core[seat.core] += busy);
        Self { by_seat, by_core }
    }

    /// The factor on the time of computing of a thread, by how busy the other CPUs of its core
    /// were.
    #[must_use]
    pub fn crowding(&self, thread: &Thread, domains: &Domains) -> f64 {
        let Some(at) = thread.cpu.and_then(|cpu| domains.seat_of(cpu)) else { return 1.0 };
        crowding(1.0 + self.by_core[domains.seat(at).core] - self.by_seat[at.0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{observation, process, thread};
    use isobar_model::Seconds;

    /// Two threads on a core take `2 / 1.25` times as long each.
    #[test]
    fn a_shared_core_computes_a_quarter_more() {
        assert!((crowding(1.0) - 1.0).abs() < 1e-9 && (crowding(2.0) - 1.6).abs() < 1e-9);
    }

    /// Four cores of two CPUs: six threads are two pairs at 1.6 and two alone, so `4 * 1.6 + 2` of
    /// six; more than eight take turns, and do not crowd more.
    #[test]
    fn cores_fill_before_they_are_shared() {
        let cores = Cores { cores: 4.0, cpus: 8.0 };
        let factors = [3.0, 4.0, 6.0, 8.0, 12.0].map(|busy| cores.crowding(busy));
        let wanted = [1.0, 1.0, 8.4 / 6.0, 1.6, 1.6];
        assert!(factors.iter().zip(wanted).all(|(is, should)| (is - should).abs() < 1e-9), "{factors:?}");
        assert!((Cores { cores: 4.0, cpus: 4.0 }.crowding(9.0) - 1.0).abs() < 1e-9);
    }

    /// CPUs 0 and 2 are a core, 1 and 3 another. The thread beside one that sleeps half of the time
    /// is crowded by a half.
    #[test]
    fn a_thread_is_crowded_by_what_runs_on_its_core() {
        let one = |pid, cpu, share| {
            let thread = Thread { cpu_time: Some(Seconds(share)), ..thread(pid, cpu, 1.0) };
            process(pid, vec![thread])
        };
        let seen = observation("node:1 core:2 pu:2", vec![one(1, 0, 1.0), one(2, 1, 1.0), one(3, 3, 0.5)]);
        let domains = Domains::of(&seen.machine);
        let busy = Busy::of(&seen, &domains);
        let factors: Vec<f64> =
            seen.processes.iter().map(|process| busy.crowding(&process.threads[0], &domains)).collect();
        let wanted = [1.0, crowding(1.5), crowding(2.0)];
        assert!(factors.iter().zip(wanted).all(|(is, should)| (is - should).abs() < 1e-9), "{factors:?}");
    }
}
