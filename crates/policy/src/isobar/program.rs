//! What is known of one program: its recent speed, its properties, since when it has had them, and
//! how earlier changes to it turned out. The properties are estimates: its computing, its waiting,
//! and how much cache space saves it.

use super::curves::{Extrapolation, Kind, Size};
use super::estimate::{Cpi, Reuse};
use super::follows::Follows;
use super::growth::Growth;
use super::math::{exp, ln};
use super::pace::Speed;
use super::reading::{AGREE, FEW, Reading, WRITE_BACK, agree, ratio};
use super::remaining::remaining;
use super::taken::Taken;
use super::transfers::Transfers;
use super::turns::Turns;
use isobar_model::{Cgroup, Pid, Seconds};
use std::sync::Arc;

/// The limit below which phases do not matter ([`FEW`]), as the fraction of its time that a program
/// waits for misses.
const HARDLY_WAITS: f64 = 0.05;
/// Fraction of cache lookups that hit, below which a program finds hardly anything in the cache.
const HARDLY_FINDS: f64 = 0.1;
/// Weight of a new reading in running means.
const TAKEN: f64 = 0.3;
/// Largest fraction of its time that a program may wait and still show how long it computes.
const MOSTLY_COMPUTES: f64 = 0.2;
/// Largest fraction of a program's cycles that is attributed to a limit on its bandwidth.
const MOST_DELAYED: f64 = 0.75;
/// Largest fraction of cache lookups that is taken to hit: counters read over a second are not more
/// precise.
const FOUND: f64 = 0.999;
/// Number of readings of a program's speed that are kept.
const KEPT: usize = 16;
/// Logarithm of the ratio up to which two readings agree roughly: what a program does shows, and a
/// change of it must gain that much more.
const AGREE_ROUGHLY: f64 = 0.15;
/// Speed-up below 1 that still counts as no loss: the equations and readings are not more accurate.
pub const HARDLY: f64 = 0.998;

/// What is remembered of the programs of a name.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Their computing and waiting.
    pub cpi: Cpi,
    /// How much cache space saves them.
    pub reuse: Reuse,
    /// Seconds that they ran, as a running mean.
    pub life: f64,
    /// Misses per instruction.
    pub misses: f64,
}

/// One program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its process.
    pub pid: Pid,
    /// Its name.
    pub name: Arc<str>,
    /// How much memory it has.
    pub size: Size,
    /// Its control group, as last seen.
    pub cgroup: Option<Arc<Cgroup>>,
    /// When it was first seen.
    pub since: f64,
    /// Weight of its gain beside that of others.
    pub weight: f64,
    /// The most that a change may take of its speed, as a logarithm, if its owner set a limit.
    pub most: Option<f64>,
    /// Since when it has been in its present phase.
    pub phase: f64,
    /// Its computing and waiting.
    pub cpi: Cpi,
    /// How much cache space saves it.
    pub reuse: Reuse,
    /// Misses per instruction, as a running mean.
    pub misses: f64,
    /// Lines that pass between caches.
    pub transfers: Transfers,
    /// Lines transferred for each miss that memory answers, as a running mean.
    pub lines: f64,
    /// The last reading.
    pub last: Option<Reading>,
    /// Its speeds, the newest last.
    pub speeds: Vec<Speed>,
    /// Whether it grows.
    pub growth: Growth,
    /// Whether the kernel migrates its pages to it.
    pub follows: Follows,
    /// Whether the kernel moved it away from its pages.
    pub taken: Taken,
    /// Since when its owner has had a thread of it pinned: the beginning of the epoch in which that
    /// was first seen.
    pub pinned: Option<f64>,
    /// When its threads were moved within the last hour, rollbacks included.
    pub moves: Vec<f64>,
    /// Until when it is left alone after a change that did not help.
    pub rest: f64,
    /// Number of changes in a row that did not help.
    pub failures: u32,
    /// Seconds that programs of its name ran, if some have ended.
    pub life: Option<f64>,
    /// Logarithm of what all changes that were kept did to its speed.
    pub balance: f64,
    /// Misses per instruction of programs of its name, if some have ended.
    expected: Option<f64>,
    /// Cache lookups per instruction, as a running mean like that of the misses.
    pub(super) looks: Option<f64>,
    /// Number of readings in a row with many more misses than before, or with far fewer.
    pub(super) unlike: u32,
    /// Whether those readings had more misses.
    pub(super) more: bool,
    /// By how much its last two readings differ, as a logarithm: in speed or, if that is less, in
    /// what an instruction costs (cycles, and the part of its time that it waits for misses). On a
    /// crowded CPU the speed also depends on how much the other threads run. After its first
    /// reading: by how much it and others of its kind, first read with it, differ in misses.
    pub(super) differs: f64,
    /// Whether its last two readings agree in cache lookups, if these are counted.
    pub(super) looks_alike: bool,
    /// Whether it does two things in turn.
    pub turns: Turns,
    /// Whether its present phase is its own doing beyond doubt: its cache lookups rose by two
    /// thirds or fell by as much, which no neighbour and no cache can cause.
    pub turned: bool,
    /// Number of changes of phase so far.
    pub(super) changes: u32,
    pub(super) space: Option<(f64, f64)>,
    /// Bytes of cache and misses of its first reading, by unit. They are kept until the second
    /// reading shows whether it still does the same.
    pub(super) first: Vec<(f64, f64)>,
}

impl Program {
    /// A program that is seen for the first time. `before` is what an earlier program of its name
    /// was like, if that is known.
    #[must_use]
    pub fn new(pid: Pid, name: &Arc<str>, now: f64, before: Option<Known>) -> Self {
        let (cpi, reuse) = before.map_or((Cpi::unknown(), Reuse::unknown()), |known| (known.cpi, known.reuse));
        Self {
            pid,
            name: Arc::clone(name),
            size: Size::default(),
            cgroup: None,
            since: now,
            weight: 1.0,
            most: None,
            phase: now,
            cpi,
            reuse,
            misses: 0.0,
            transfers: Transfers::default(),
            lines: 1.3,
            last: None,
            speeds: Vec::new(),
            growth: Growth::default(),
            follows: Follows::default(),
            pinned: None,
            taken: Taken::default(),
            moves: Vec::new(),
            rest: 0.0,
            failures: 0,
            life: before.map(|known| known.life),
            balance: 0.0,
            expected: before.map(|known| known.misses),
            looks: None,
            unlike: 0,
            differs: f64::INFINITY,
            looks_alike: true,
            turned: false,
            turns: Turns::default(),
            more: false,
            changes: 0,
            space: None,
            first: Vec::new(),
        }
    }

    /// The kind of program that it belongs to: its misses are evidence for all programs of that
    /// kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        (Arc::clone(&self.name), self.size)
    }

    /// The fraction of its cache lookups that hit, if lookups are counted.
    fn finds(&self) -> Option<f64> {
        let last = self.last?;
        last.looks.filter(|looks| *looks > 0.0).map(|_| 1.0 - last.missed())
    }

    /// Misses per instruction if none of its cache lookups hit, if lookups are counted.
    #[must_use]
    pub fn most(&self) -> Option<f64> {
        self.looks.filter(|looks| *looks > 0.0).map(|looks| looks.max(self.misses))
    }

    /// Lines per instruction that it keeps in the cache. Multiplied by the instructions that it
    /// executes while a line stays there, this is what it holds. For a program that finds nothing
    /// these are its misses. Otherwise, lines that are found stay for as long again. If every line
    /// of its working set is looked up equally often and a fraction h of lookups hits, it holds h /
    /// -ln(1 - h) lines for each lookup in that time (Che's approximation; Che, Tung and Wang,
    /// 2002). If lookups are not counted, its misses are taken.
    #[must_use]
    pub fn kept(&self) -> f64 {
        let Some(looks) = self.looks.filter(|looks| *looks > self.misses) else { return self.misses };
        let found = (1.0 - self.misses / looks).min(FOUND);
        if found < 1e-3 { self.misses } else { looks * found / -ln(1.0 - found) }
    }

    /// Threads on its core and cycles of computing per instruction, by its last reading. `None` if
    /// it waits for more than a fifth of its cycles, because an error in the waits might be as
    /// large.
    #[must_use]
    pub fn computing(&self) -> Option<(f64, f64)> {
        let last = self.last.filter(|last| !last.disturbed)?;
        let waits = self.cpi.wait * last.exposure + self.delayed(&last);
        (waits < MOSTLY_COMPUTES * last.cycles).then_some((last.running, last.cycles - waits))
    }

    /// Lines read per miss.
    #[must_use]
    pub fn reads(&self) -> f64 {
        (self.lines / (1.0 + WRITE_BACK)).max(1.0)
    }

    /// What a reading says of computing and waiting: cycles, exposure and crowding. `None` if pages
    /// were being moved.
    fn exposed(&self, reading: &Reading) -> Option<(f64, f64, f64)> {
        let cycles = reading.cycles - self.delayed(reading);
        (!reading.disturbed).then_some((cycles, reading.exposure, reading.crowding))
    }

    /// Adopts what is known of another program of its kind, if that is known better.
    pub fn learn(&mut self, other: &Cpi) {
        if let Some(reading) = self.last.and_then(|last| self.exposed(&last)) {
            self.cpi.learn(other, reading);
        }
    }

    /// Cycles per instruction that a limit on its bandwidth added to a reading. They are capped,
    /// because a processor may delay less than the model says.
    fn delayed(&self, reading: &Reading) -> f64 {
        (reading.delay * self.reads()).min(MOST_DELAYED * reading.cycles)
    }

    /// Records the reading of an epoch.
    pub fn read(&mut self, reading: Reading, now: f64) {
        self.follows.read(self.last.as_ref(), &reading);
        self.transfers.read(self.last.as_ref(), &reading);
        self.taken.read(self.last.as_ref(), &reading, self.moves.last().copied(), now);
        if self.last.is_none() {
            self.misses = reading.misses;
        }
        let waits = |one: &Reading| one.exposure * self.cpi.wait / one.cycles.max(1e-9);
        let costs = |last: &Reading| ratio(last.cycles, reading.cycles).max((waits(last) - waits(&reading)).abs());
        let by_cost = self.last.map_or(f64::INFINITY, |last| costs(&last));
        let by_speed = self.speeds.last().map_or(f64::INFINITY, |last| (last.speed - Speed::of(&reading).speed).abs());
        self.differs = by_cost.min(by_speed);
        let both = self.last.and_then(|last| last.looks.zip(reading.looks));
        self.looks_alike = both.is_none_or(|(before, now)| agree(before, now));
        self.watch_phase(&reading, now);
        if let Some((cycles, exposure, crowding)) = self.exposed(&reading) {
            self.cpi.read(cycles, exposure, crowding);
        }
        // A single unlike reading may be the first of another phase: it belongs to neither phase.
        if self.unlike == 0 {
            let mean = |before: f64, now: f64| before + TAKEN * (now - before);
            self.looks = reading.looks.map(|now| self.looks.map_or(now, |before| mean(before, now)));
            self.misses = mean(self.misses, reading.misses);
        }
        self.lines += reading.lines.map_or(0.0, |lines| TAKEN * (lines.clamp(1.0, 8.0) - self.lines));
        if self.speeds.len() == KEPT {
            self.speeds.remove(0);
        }
        self.speeds.push(Speed::of(&reading));
        // If the program began during its first second, the second reading shows how fast it was.
        if let [first, second] = &mut self.speeds[..]
            && by_cost < AGREE_ROUGHLY
            && self.changes == 0
        {
            let differs = if by_cost < AGREE { 0.0 } else { by_cost };
            first.speed = first.speed.max(second.speed - differs);
        }
        self.last = Some(reading);
    }

    /// Records the bytes of cache that each of its threads holds, and learns from a change of them.
    pub fn hold(&mut self, bytes: f64) {
        let Some(last) = self.last.filter(|last| last.misses > FEW && bytes > 0.0) else { return };
        let now = (ln(bytes), ln(last.missed()));
        if let Some((space, misses)) = self.space {
            let change = now.0 - space;
            if change.abs() > 0.1 && (now.1 - misses).abs() < 2.0 {
                self.reuse.read(now.1 - misses, change);
            } else if change.abs() > 0.1 {
                self.space = None;
            } else {
                return;
            }
        }
        self.space = Some(now);
    }

    /// Whether it would hardly wait for misses. The misses are those of a reading or of its recent
    /// past, whichever are more, and each takes as long as in the reading.
    pub(super) fn hardly_waits_in(&self, reading: &Reading) -> bool {
        let each = reading.exposure / reading.misses.max(1e-12);
        let waits = reading.misses.max(self.misses) * each * self.cpi.wait;
        waits / reading.cycles.max(1e-9) < HARDLY_WAITS
    }

    /// The most favourable assumption about its use of the cache. The working set of a program that
    /// finds hardly anything there may not have fitted yet.
    #[must_use]
    pub fn hoped(&self) -> Extrapolation {
        let finds = self.finds();
        self.reuse.hoped(finds.is_some_and(|finds| finds < HARDLY_FINDS))
    }

    /// Whether it waits for misses so little, by its last reading, that a neighbour's effect on its
    /// cache does not matter.
    #[must_use]
    pub fn hardly_waits(&self) -> bool {
        self.last.is_some_and(|last| self.hardly_waits_in(&last))
    }

    /// How long its present state is expected to last. What a program does in turn with something
    /// else fills half of its time.
    #[must_use]
    pub fn horizon(&self, now: f64) -> f64 {
        let age = now - self.since;
        if self.turns.are_brief() {
            return remaining(age, age, 0, self.life) / 2.0;
        }
        remaining(age, now - self.since.max(self.phase), self.changes, self.life)
    }

    /// The least speed-up that a change may bring it, if all changes together may take `most` of
    /// its speed. A loss by earlier changes counts, a gain does not.
    #[must_use]
    pub fn least(&self, most: f64) -> f64 {
        ((1.0 - most) / exp(self.balance.min(0.0))).min(HARDLY)
    }

    /// The last speeds, or `None` before there are enough of them: see [`Self::doubt`].
    #[must_use]
    pub fn pace(&self, window: usize) -> Option<&[Speed]> {
        let first = self.speeds.len().saturating_sub(window);
        self.doubt(window).map(|_| &self.speeds[first..])
    }

    /// By how much its speed is in doubt, as a logarithm; `None` before there are enough readings:
    /// a window of them, two that agree roughly of a program in its first phase or of one that does
    /// two things in turn, or one of a program that does what others of its name did, or roughly
    /// what others do. What agrees only roughly is in doubt by the difference.
    #[must_use]
    pub fn doubt(&self, window: usize) -> Option<f64> {
        match self.speeds.len() {
            0 => None,
            read if read >= window => Some(0.0),
            1 if self.is_as_expected() => Some(0.0),
            _ if self.changes > 0 && !self.turns.are_brief() || self.differs >= AGREE_ROUGHLY => None,
            _ => Some(if self.differs < AGREE { 0.0 } else { self.differs }),
        }
    }

    fn is_as_expected(&self) -> bool {
        self.expected.is_some_and(|misses| agree(misses.max(FEW), self.misses.max(FEW)))
    }

    /// Whether it has been read exactly once.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.speeds.len() == 1 && self.changes == 0 && self.last.is_some()
    }

    /// The logarithm of its misses per instruction; if they are few they do not matter.
    #[must_use]
    pub fn missing(&self) -> f64 {
        ln(self.misses.max(FEW))
    }

    /// Whether its threads may be moved once more; with `guard`, also back again.
    #[must_use]
    pub fn may_move(&self, now: f64, most: u32, guard: bool) -> bool {
        let moved = self.moves.iter().filter(|time| now - **time < 3600.0).count();
        moved + usize::from(guard) < isobar_model::num::index(most)
    }

    /// A change to it did not help: it is left alone, twice as long each time.
    pub fn fail(&mut self, now: f64, rest: Seconds) {
        self.rest = now + rest.0 * f64::from(1u32 << self.failures.min(12));
        self.failures += 1;
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
