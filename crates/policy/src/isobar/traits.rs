//! The properties of a program in the form that a prediction needs: derived from its readings, and
//! from what its owner and the settings allow.

use super::config::Config;
use super::idle::runs;
use super::program::Program;
use super::programs::{Programs, resident};
use super::taken::AT_HOME;
use isobar_contention::MissCurve;
use isobar_model::{Observation, Process, Thread, num};

/// Bytes of a page.
pub const PAGE: f64 = 4096.0;
/// The longest time, in seconds, that the present behaviour of a program is expected to last,
/// however long it has lasted.
const LONGEST: f64 = 600.0;
/// The time, in seconds, for which a program has to be pinned before its pages may be moved: what
/// starts a program may pin it and release it again.
const STAYS_PINNED: f64 = 0.4;
/// Time of a hit in the last-level cache, as a fraction of the time of an access to the nearest
/// memory: 13.0 of 65.1 ns on Nehalem (Molka and others, PACT 2009), 0.15 to 0.3 on later machines.
pub const FOUND: f64 = 0.2;

/// The properties of a program, for a prediction.
#[derive(Clone, Debug)]
pub struct Traits {
    /// Seconds per instruction, as read.
    pub seconds: f64,
    /// Seconds of computing per instruction, on a core of its own.
    pub compute: f64,
    /// The same, one standard error less.
    pub least_compute: f64,
    /// The factor by which computing took longer, as read, because of what else ran on its cores.
    pub crowding: f64,
    /// Seconds of misses per instruction that were present in all of its readings.
    pub always: f64,
    /// The fraction of a miss's latency that is waited for.
    pub wait: f64,
    /// Misses per instruction.
    pub misses: f64,
    /// Seconds of a miss, as read, if it is waited for by itself.
    pub each: f64,
    /// The fraction of its misses that memory answers, as read.
    pub fetched: f64,
    /// Misses per instruction that are lines which its threads pass to each other: see
    /// [`super::exchange`].
    pub passed: f64,
    /// Lines per instruction that it keeps in the cache for as long as lines stay there: see
    /// [`Program::kept`].
    pub kept: f64,
    /// Misses by the bytes that a thread holds, and the present factor on them.
    pub curve: (MissCurve, f64),
    /// Lines read per miss.
    pub read: f64,
    /// Bytes that each thread may use.
    pub footprint: f64,
    /// Number of its pages.
    pub pages: f64,
    /// Seconds for which its state is expected to last.
    pub horizon: f64,
    /// Weight of its gain beside that of others.
    pub weight: f64,
    /// Whether it may not lose: its owner said so, or it is slower than its target.
    pub protected: bool,
    /// The most that a change may take of its speed, as a logarithm, if its owner set a limit.
    pub most: Option<f64>,
    /// The domain of all its threads, if they are on one.
    pub alone: Option<usize>,
    /// How many threads run.
    pub threads: usize,
    /// Whether its threads may be moved now.
    pub movable: bool,
    /// Whether its pages may be moved now.
    pub pages_movable: bool,
    /// Whether the kernel moved it away from the node of its pages.
    pub taken: bool,
    /// Whether the kernel migrates its pages to it, and all of its threads are on one domain.
    pub follows: bool,
    /// Whether the kernel migrates pages to its threads, wherever they are.
    pub brought: bool,
    /// Whether enough is known of it to predict its speed.
    pub known: bool,
    /// By how much its speed is in doubt, as a logarithm, if it is known: see [`Program::doubt`].
    pub doubt: f64,
    /// Whether it runs, waits for memory and was read, but too few times since it began what it
    /// does now.
    pub fresh: bool,
    /// Whether it was first seen less than two windows ago.
    pub young: bool,
    /// The least speed-up that a change may bring it.
    pub least: f64,
    /// What earlier changes took of its speed, all together, as a logarithm: 0 or more.
    pub lost: f64,
}

impl Traits {
    /// What one unit of the logarithm of its speed-up is worth: its weight, times the period for
    /// which its state is expected to last.
    #[must_use]
    pub fn stake(&self) -> f64 {
        self.weight * self.horizon
    }

    /// The fraction of its time that it waits for memory, as read.
    #[must_use]
    pub fn waits(&self) -> f64 {
        (1.0 - self.compute * self.crowding / self.seconds.max(1e-12)).max(0.0)
    }

    /// The largest speed-up that is possible: none of the waits that were read is left, and no
    /// neighbour is on its core. Misses that were present in all readings would at best be found in
    /// the cache. Its computing does not include the time for that, so this time is added.
    #[must_use]
    pub fn most_gain(&self) -> f64 {
        let found = FOUND * self.wait * self.always;
        (self.seconds / (self.least_compute + found).max(1e-12)).max(1.0)
    }

    /// Lines per second that it reads on a core.
    #[must_use]
    pub fn flow(&self) -> f64 {
        self.misses * self.fetched * self.read / self.seconds.max(1e-12)
    }

    /// Seconds per instruction if it had its cores to itself.
    #[must_use]
    pub fn uncrowded(&self) -> f64 {
        self.seconds - self.compute * (self.crowding - 1.0)
    }

    /// How many times longer an instruction takes than with local, idle memory of the given
    /// latency.
    #[must_use]
    pub fn slowdown(&self, latency: f64) -> f64 {
        self.seconds / (self.compute + self.misses * self.wait * latency).max(1e-12)
    }
}

/// Describes a program of an observation.
#[must_use]
pub fn describe(
    seen: &Observation,
    process: &Process,
    program: &Program,
    programs: &Programs,
    config: &Config,
) -> Traits {
    let now = seen.time.0;
    let online = seen.machine.online();
    let running = process.threads.iter().filter(|thread| runs(thread, seen.interval.0)).count();
    let free =
        |thread: &Thread| !thread.pinned && thread.allowed_cpus.as_ref().is_none_or(|cpus| online.is_subset(cpus));
    let pages = resident(process).unwrap_or(0);
    let window = num::index(config.window_epochs);
    // What a program does in turn may want different neighbours, but its pages nearby in any case.
    let away = program.last.and_then(|last| last.remote).is_some_and(|remote| remote > 1.0 - AT_HOME);
    let settled = away || !program.turns.are_brief();
    let doubt = program.last.filter(|_| settled).and_then(|_| program.doubt(window));
    let known = doubt.is_some();
    let ready = known && now >= program.rest && !program.does_better();
    let threads = num::float_len(running.max(1));
    let brought = programs.follows(program);
    let protected = config.protects(&process.name, process.cgroup.as_deref());
    Traits {
        seconds: program.last.map_or(0.0, |last| last.cycles / programs.hertz),
        compute: program.cpi.compute / programs.hertz,
        least_compute: program.cpi.least() / programs.hertz,
        crowding: program.last.map_or(1.0, |last| last.crowding),
        always: program.cpi.least_exposure() / programs.hertz,
        wait: program.cpi.wait,
        misses: program.misses,
        each: program.last.map_or(0.0, |last| last.exposure / last.misses.max(1e-12) / programs.hertz),
        fetched: program.last.map_or(1.0, |last| last.fetched()),
        passed: program.transfers.passed.min(program.misses),
        kept: program.kept(),
        curve: (MissCurve::parametric(1000.0 * program.misses, 0.0, 1.0), 1.0),
        read: program.reads(),
        footprint: (num::float(pages) * PAGE / threads).max(PAGE),
        pages: num::float(pages),
        horizon: program.horizon(now).clamp(0.0, LONGEST),
        weight: 1.0,
        protected,
        most: protected.then_some(0.0),
        alone: None,
        threads: running,
        movable: ready
            && config.threads
            && process.threads.iter().all(free)
            && program.may_move(now, config.moves_per_hour, config.guard),
        pages_movable: ready && config.pages && program.pinned.is_none_or(|since| now - since >= STAYS_PINNED),
        taken: program.taken.is_away,
        follows: brought,
        brought,
        known,
        doubt: doubt.unwrap_or_default(),
        young: now - program.since < f64::from(2 * config.window_epochs) * seen.interval.0,
        fresh: program.last.is_some() && !known && !program.hardly_waits(),
        least: program.least(if protected { 0.0 } else { config.max_loss_percent / 100.0 }),
        lost: -program.balance.min(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::part;
    use super::*;
    use crate::isobar::memory::Memory;
    use crate::kit::domains::Domains;
    use crate::test_kit::{observation, process, thread, with_pages};

    /// Four epochs at 5 cycles and 0.03 misses an instruction, then one with 0.03, 0.06 or 0.012. A
    /// program that has just begun to miss far less stays where it is, with its pages.
    #[test]
    fn what_does_better_by_itself_stays() {
        let may_move = |last: f64| {
            let mut programs = Programs::default();
            let counted = |misses: f64| {
                let instructions = 500_000_000;
                let llc_misses = Some(num::round(misses * num::float(instructions)));
                let (instructions, cycles) = (Some(instructions), Some(2_500_000_000));
                let thread = Thread { instructions, cycles, llc_misses, ..thread(1, 0, 0.0) };
                let mut seen = observation("node:2 core:2", vec![process(1, vec![thread])]);
                with_pages(&mut seen, 1, &[1000, 0]);
                seen
            };
            let seen = counted(last);
            let domains = Domains::of(&seen.machine);
            for misses in [0.03, 0.03, 0.03, 0.03, last] {
                let seen = counted(misses);
                programs.read(&seen, &domains, &Memory::of(&seen, &domains).unwrap(), part::all);
            }
            let its = describe(&seen, &seen.processes[0], &programs.list[0], &programs, &Config::default());
            (its.known, its.movable, its.pages_movable)
        };
        assert_eq!([0.03, 0.06, 0.012].map(may_move), [(true, true, true), (true, true, true), (true, false, false)]);
    }

    /// What does two things in turn is known if it is away from its pages, and may be moved. At
    /// home it is as unknown as ever.
    #[test]
    fn what_is_done_in_turn_moves_only_if_its_pages_are_elsewhere() {
        let may_move = |pages: &[u64]| {
            let mut programs = Programs::default();
            let counted = |misses: f64| {
                let of = |part: f64| Some(num::round(part * 5e8));
                let (instructions, llc_misses, llc_references) = (of(1.0), of(misses), of(1.1 * misses));
                let cycles = Some(2_500_000_000);
                let thread = Thread { instructions, cycles, llc_misses, llc_references, ..thread(1, 0, 0.0) };
                let mut seen = observation("node:2 core:2", vec![process(1, vec![thread])]);
                with_pages(&mut seen, 1, pages);
                seen
            };
            let domains = Domains::of(&counted(0.0).machine);
            for misses in [0.018, 0.018, 0.036, 0.036, 0.018, 0.018] {
                let seen = counted(misses);
                programs.read(&seen, &domains, &Memory::of(&seen, &domains).unwrap(), part::all);
            }
            let seen = counted(0.018);
            let its = describe(&seen, &seen.processes[0], &programs.list[0], &programs, &Config::default());
            (its.known, its.fresh, its.movable)
        };
        assert_eq!([may_move(&[1000, 0]), may_move(&[0, 1000])], [(false, true, false), (true, false, true)]);
    }

    /// Its owner pins a program, which is read every quarter of a second, or every second. Its
    /// pages may move once it was pinned for 0.4 s.
    #[test]
    fn pages_of_a_pinned_program_may_move_after_a_while() {
        let may_move = |interval: f64, epochs: u8| {
            let mut programs = Programs::default();
            let mut seen = observation("node:2 core:2", vec![process(1, vec![thread(1, 0, 20.0)])]);
            with_pages(&mut seen, 1, &[1000, 0]);
            let domains = Domains::of(&seen.machine);
            for epoch in 1..=8 + epochs {
                (seen.interval.0, seen.time.0) = (interval, interval * f64::from(epoch));
                seen.processes[0].threads[0].pinned = epoch > 8;
                programs.read(&seen, &domains, &Memory::of(&seen, &domains).unwrap(), part::all);
            }
            describe(&seen, &seen.processes[0], &programs.list[0], &programs, &Config::default()).pages_movable
        };
        assert_eq!([may_move(0.25, 1), may_move(0.25, 2), may_move(1.0, 1)], [false, true, true]);
    }
}
