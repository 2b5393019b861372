//! The outstanding misses of a CPU. A CPU does not wait where it misses. It continues until all of
//! its places for misses (line fill buffers) are taken, or until it has executed as many
//! instructions beyond the oldest load as it can hold (reorder buffer). This file knows lines,
//! times and instruction numbers. It does not know what a miss costs, or which instruction needs it
//! (scoreboard.rs).
//!
//! Departures from real cores:
//!
//! 1. *A place is taken from dispatch on*, even by a load whose address is not known yet. A core
//!    keeps such a load elsewhere, so a loop of one long chain and many independent loads overlaps
//!    a little less here.
//! 2. *Stores* never hold up the instructions behind them: they wait in an unlimited store buffer.
//!    Only places are counted.
//! 3. *No misprediction*: a branch that depends on an outstanding load counts as predicted
//!    correctly. If it is mispredicted, a real core overlaps less.

/// The instruction number of a miss that nothing needs to wait for: a store or a prefetch.
pub(crate) const FREE: u64 = u64::MAX;

/// See the head of the file.
#[derive(Clone, Debug)]
pub(crate) struct OutstandingMisses {
    misses: Vec<Miss>,
    places: usize,
    /// Instructions that may be executed beyond an outstanding load.
    reach: u64,
    /// The instruction at which the CPU must wait for its oldest load.
    limit: u64,
    /// When the first miss arrives; [`FREE`]: there is none.
    first: u64,
    /// One bit for each value of the low bits of a line: whether such a line may be on its way.
    filter: u64,
}

const fn bit(line: u64) -> u64 {
    1 << (line % 64)
}

/// A line on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Miss {
    line: u64,
    arrives: u64,
    /// The first load that needs it; [`FREE`]: none does.
    load: u64,
}

impl OutstandingMisses {
    pub fn new(spec: &crate::spec::Overlap) -> Self {
        let places = crate::num::index(u64::from(spec.misses));
        let reach = u64::from(spec.instructions);
        Self { misses: Vec::with_capacity(places), places, reach, limit: FREE, first: FREE, filter: 0 }
    }

    /// Removes all outstanding misses.
    pub fn clear(&mut self) {
        self.misses.clear();
        (self.limit, self.first, self.filter) = (FREE, FREE, 0);
    }

    /// Whether a line may be on its way.
    #[inline]
    pub fn may_have(&self, line: u64) -> bool {
        self.filter & bit(line) != 0
    }

    /// A load needs a line now (or nothing does: [`FREE`]). Returns when the line arrives; 0 if it
    /// is not on its way.
    #[inline]
    pub fn meet(&mut self, line: u64, load: u64) -> u64 {
        if !self.may_have(line) {
            return 0;
        }
        let Some(miss) = self.misses.iter_mut().find(|miss| miss.line == line) else { return 0 };
        miss.load = miss.load.min(load);
        self.limit = self.limit.min(miss.load.saturating_add(self.reach));
        miss.arrives
    }

    /// How long a CPU must wait for a place.
    pub fn room(&mut self, now: u64) -> u64 {
        if self.misses.len() < self.places {
            return 0;
        }
        let wait = self.first.saturating_sub(now);
        self.arrived(now + wait);
        wait
    }

    /// Records a line as on its way; the buffer must not be full.
    pub fn start(&mut self, line: u64, arrives: u64, load: u64) {
        self.misses.push(Miss { line, arrives, load });
        self.filter |= bit(line);
        self.first = self.first.min(arrives);
        self.limit = self.limit.min(load.saturating_add(self.reach));
    }

    /// How long a CPU must wait before it may execute an instruction.
    #[inline]
    pub fn due(&mut self, now: u64, instruction: u64) -> u64 {
        let mut wait = 0;
        while instruction >= self.limit {
            let Some(at) = (0..self.misses.len()).min_by_key(|at| self.misses[*at].load) else { break };
            let oldest = self.misses.swap_remove(at);
            wait = wait.max(oldest.arrives.saturating_sub(now));
            self.bound();
        }
        wait
    }

    /// How long until all loads, stores and prefetches are answered; afterwards nothing is
    /// outstanding.
    pub fn drain(&mut self, now: u64) -> u64 {
        let last = self.misses.iter().map(|miss| miss.arrives).max().unwrap_or(now);
        self.clear();
        last.saturating_sub(now)
    }

    fn arrived(&mut self, now: u64) {
        let (mut kept, mut filter, mut oldest, mut first) = (0, 0, FREE, FREE);
        for at in 0..self.misses.len() {
            let miss = self.misses[at];
            self.misses[kept] = miss;
            if miss.arrives > now {
                (kept, filter) = (kept + 1, filter | bit(miss.line));
                (oldest, first) = (oldest.min(miss.load), first.min(miss.arrives));
            }
        }
        self.misses.truncate(kept);
        (self.filter, self.first, self.limit) = (filter, first, oldest.saturating_add(self.reach));
    }

    fn bound(&mut self) {
        let (oldest, first) = self
            .misses
            .iter()
            .fold((FREE, FREE), |(oldest, first), miss| (oldest.min(miss.load), first.min(miss.arrives)));
        (self.first, self.limit) = (first, oldest.saturating_add(self.reach));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight() -> OutstandingMisses {
        OutstandingMisses::new(&crate::spec::Overlap { misses: 2, instructions: 10 })
    }

    #[test]
    fn a_third_miss_waits_for_the_first_of_two_that_arrives() {
        let mut flight = flight();
        flight.start(1, 100, 0);
        flight.start(2, 70, 1);
        assert_eq!(flight.room(20), 50);
        assert_eq!((flight.meet(1, 3), flight.meet(2, 3)), (100, 0), "line 2 is here");
        assert_eq!(flight.room(70), 0);
    }

    #[test]
    fn a_load_holds_up_what_is_too_far_behind_it_and_a_store_nothing() {
        let mut flight = flight();
        flight.start(1, 100, 5);
        flight.start(2, 900, FREE);
        assert_eq!((flight.due(0, 14), flight.due(0, 15)), (0, 100));
        assert_eq!(flight.due(100, 1_000_000), 0, "no load waits for the store");
        assert_eq!(flight.meet(2, 2_000_000), 900);
        assert_eq!(flight.due(100, 2_000_010), 800, "now a load wants its line");
    }

    #[test]
    fn a_fence_waits_for_all() {
        let mut flight = flight();
        flight.start(1, 100, 5);
        flight.start(2, 900, FREE);
        assert_eq!((flight.drain(40), flight.drain(40), flight.due(40, FREE - 1)), (860, 0, 0));
    }

    /// The misses in a list that is searched from beginning to end: line, arrival, load.
    #[derive(Default)]
    struct Slow(Vec<(u64, u64, u64)>);

    impl Slow {
        fn room(&mut self, now: u64) -> u64 {
            let Some(first) = self.0.iter().map(|miss| miss.1).min().filter(|_| self.0.len() == 3) else { return 0 };
            let then = first.max(now);
            self.0.retain(|miss| miss.1 > then);
            then - now
        }

        fn due(&mut self, now: u64, instruction: u64) -> u64 {
            let (late, rest) = self.0.iter().partition(|miss| instruction >= miss.2.saturating_add(10));
            self.0 = rest;
            let late: Vec<(u64, u64, u64)> = late;
            late.iter().map(|miss| miss.1.saturating_sub(now)).max().unwrap_or(0)
        }

        fn meet(&mut self, line: u64, load: u64) -> u64 {
            let met = self.0.iter_mut().find(|miss| miss.0 == line);
            met.map_or(0, |miss| {
                miss.2 = miss.2.min(load);
                miss.1
            })
        }
    }

    proptest::proptest! {
        /// Lines that are needed by loads or by nothing, and arrive some time later.
        #[test]
        fn waits_are_those_of_a_list(steps in proptest::collection::vec((0..9_u64, 1..60_u64, 0..6_u64, proptest::bool::ANY), 1..60)) {
            let spec = crate::spec::Overlap { misses: 3, instructions: 10 };
            let (mut flight, mut slow, mut now, mut instruction) = (OutstandingMisses::new(&spec), Slow::default(), 0, 0);
            for (line, takes, executed, loads) in steps {
                instruction += executed;
                now += 5;
                let wait = flight.due(now, instruction);
                proptest::prop_assert_eq!(wait, slow.due(now, instruction));
                now += wait;
                let load = if loads { instruction } else { FREE };
                let arrives = flight.meet(line, load);
                proptest::prop_assert_eq!(arrives, slow.meet(line, load));
                if arrives == 0 {
                    let wait = flight.room(now);
                    proptest::prop_assert_eq!(wait, slow.room(now));
                    now += wait;
                    flight.start(line, now + takes, load);
                    slow.0.push((line, now + takes, load));
                }
            }
        }
    }
}
