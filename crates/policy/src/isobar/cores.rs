//! Models hardware threads that share a core. Two threads on one core each compute slower than
//! alone, but at more than half of that speed: together they are taken to execute a quarter more
//! than one. That figure is corrected by programs that were seen both alone and beside another. The
//! kernel fills idle cores first, so some threads share a core on a cache with more running threads
//! than cores, and which of its CPUs they run on makes no lasting difference.

use crate::kit::domains::Domains;
use isobar_model::{Observation, Thread, num};

/// Initial figure: the maker says up to 30 % (Marr and others, Intel Technology Journal 6, 2002).
/// Waits for memory are not included, because they overlap.
const FIRST_ADDED: f64 = 0.25;
/// Weight of what one program shows.
const TAKEN: f64 = 0.1;
/// A program counts as alone on its core up to the first number of threads, and as sharing it from
/// the second number on.
const ALONE: f64 = 1.05;
const BESIDE: f64 = 1.8;

/// What each further thread on a core adds, as a fraction of what the first executes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Added(f64);

impl Default for Added {
    fn default() -> Self {
        Self(FIRST_ADDED)
    }
}

impl Added {
    /// The factor by which a thread's computing takes longer while `running` threads, itself
    /// included, run on its core.
    #[must_use]
    pub fn crowding(self, running: f64) -> f64 {
        let others = (running - 1.0).max(0.0);
        (1.0 + others) / (1.0 + self.0 * others)
    }

    /// Learns from two readings of one program: how many threads ran on its core, and its cycles of
    /// computing per instruction. If it was alone in one of them and shared its core in the other,
    /// they show what a thread adds.
    pub fn read(&mut self, readings: [(f64, f64); 2]) {
        let [alone, beside] = if readings[0].0 < readings[1].0 { readings } else { [readings[1], readings[0]] };
        if alone.0 > ALONE || beside.0 < BESIDE || alone.1 <= 0.0 || beside.1 <= 0.0 {
            return;
        }
        let others = beside.0 - 1.0;
        let added = ((1.0 + others) * alone.1 / beside.1 - 1.0) / others;
        self.0 += TAKEN * (added.clamp(0.0, 1.0) - self.0);
    }
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
    /// The cores of each domain.
    #[must_use]
    pub fn of(domains: &Domains) -> Vec<Self> {
        let one = |domain: &crate::kit::domains::Domain| Self {
            cores: num::float_len(domain.cores).max(1.0),
            cpus: num::float_len(domain.seats.len()),
        };
        domains.domains.iter().map(one).collect()
    }

    /// The mean factor by which computing takes longer for threads that are spread over these cores
    /// and keep `busy` CPUs busy.
    #[must_use]
    pub fn crowding(self, busy: f64, added: Added) -> f64 {
        let each = busy.min(self.cpus) / self.cores;
        if each <= 1.0 {
            return 1.0;
        }
        let (fewer, part) = (each.floor(), each.fract());
        let on = |threads: f64| threads * added.crowding(threads);
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
    /// Reads an epoch.
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

    /// How many threads ran on the core of a thread, itself included, judged by how busy the other
    /// CPUs of its core were.
    #[must_use]
    pub fn running(&self, thread: &Thread, domains: &Domains) -> f64 {
        let Some(at) = thread.cpu.and_then(|cpu| domains.seat_of(cpu)) else { return 1.0 };
        1.0 + self.by_core[domains.seat(at).core] - self.by_seat[at.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{observation, process, thread};
    use isobar_model::Seconds;

    /// Two threads on a core each take `2 / 1.25` times as long.
    #[test]
    fn a_shared_core_computes_a_quarter_more() {
        let added = Added::default();
        assert!((added.crowding(1.0) - 1.0).abs() < 1e-9 && (added.crowding(2.0) - 1.6).abs() < 1e-9);
    }

    /// A program of one cycle per instruction takes 1.8 beside another: a thread adds
    /// `2 / 1.8 - 1`. A program that was never alone, or never beside another, shows nothing.
    #[test]
    fn what_a_thread_adds_is_learnt() {
        let mut added = Added::default();
        (0..60).for_each(|_| added.read([(1.0, 1.0), (2.0, 1.8)]));
        assert!((added.0 - 0.111).abs() < 0.01, "{added:?}");
        assert!((added.crowding(2.0) - 1.8).abs() < 0.02);
        let before = added;
        added.read([(1.5, 1.0), (2.0, 3.0)]);
        added.read([(1.0, 1.0), (1.0, 3.0)]);
        assert_eq!(added, before);
        (0..60).for_each(|_| added.read([(2.0, 0.9), (1.0, 1.0)]));
        assert!(added.0 > 0.99, "at most as much again: {added:?}");
    }

    /// Four cores of two CPUs. Six threads are two pairs at 1.6 and two alone, so `4 * 1.6 + 2`
    /// over six. More than eight threads take turns and do not crowd more.
    #[test]
    fn cores_fill_before_they_are_shared() {
        let cores = Cores { cores: 4.0, cpus: 8.0 };
        let added = Added::default();
        let factors = [3.0, 4.0, 6.0, 8.0, 12.0].map(|busy| cores.crowding(busy, added));
        let wanted = [1.0, 1.0, 8.4 / 6.0, 1.6, 1.6];
        assert!(factors.iter().zip(wanted).all(|(is, should)| (is - should).abs() < 1e-9), "{factors:?}");
        assert!((Cores { cores: 4.0, cpus: 4.0 }.crowding(9.0, added) - 1.0).abs() < 1e-9);
    }

    /// CPUs 0 and 2 are a core, 1 and 3 another. The thread beside one that sleeps half of the time
    /// has half of another thread on its core.
    #[test]
    fn what_runs_on_a_core_is_counted() {
        let one = |pid, cpu, share| {
            let thread = Thread { cpu_time: Some(Seconds(share)), ..thread(pid, cpu, 1.0) };
            process(pid, vec![thread])
        };
        let seen = observation("node:1 core:2 pu:2", vec![one(1, 0, 1.0), one(2, 1, 1.0), one(3, 3, 0.5)]);
        let domains = Domains::of(&seen.machine);
        let busy = Busy::of(&seen, &domains);
        let running: Vec<f64> =
            seen.processes.iter().map(|process| busy.running(&process.threads[0], &domains)).collect();
        assert!(running.iter().zip([1.0, 1.5, 2.0]).all(|(is, should)| (is - should).abs() < 1e-9), "{running:?}");
    }
}
