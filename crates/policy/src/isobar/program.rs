//! What is known of one program: how fast it was lately, what it is like, since when it has been
//! like that, and what became of changes to it.

use super::curves::{Beyond, Kind, Size};
use super::estimate::{Cpi, Reuse};
use super::follows::Follows;
use super::math::{exp, ln};
use super::pace::Speed;
use super::reading::{Reading, WRITE_BACK};
use super::taken::Taken;
use isobar_model::{Cgroup, Pid, Seconds};
use std::sync::Arc;

/// Misses an instruction below which phases do not matter.
pub const FEW: f64 = 5e-4;
/// The same as a part of its time that it waits for them.
const HARDLY_WAITS: f64 = 0.05;
/// Part of what a program looks for in a cache below which it finds hardly anything there.
const HARDLY_FINDS: f64 = 0.1;
/// Part of a new reading in running means.
const TAKEN: f64 = 0.3;
/// Part of its time up to which a program may wait and still tell how long it computes.
const MOSTLY_COMPUTES: f64 = 0.2;
/// The greatest part of a program's cycles that is taken to be the delay of a limited bandwidth.
const MOST_DELAYED: f64 = 0.75;
/// The greatest part of its looks that is taken to be found: counters of a second tell no more.
const FOUND: f64 = 0.999;
/// Readings of a program's speed that are kept.
const KEPT: usize = 16;
/// Seconds ahead that count in how long a young program is expected to go on.
const AHEAD: f64 = 60.0;
/// Logarithm of the ratio up to which two readings agree: what counters of a second leave to
/// chance.
const AGREE: f64 = 0.05;
/// A speed-up of less than 1 that is no loss: what the equations' accuracy and readings may feign.
pub const HARDLY: f64 = 0.998;

/// What is remembered of the programs of a name.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Computing and waiting.
    pub cpi: Cpi,
    /// What space saves.
    pub reuse: Reuse,
    /// Seconds that they ran, the running mean.
    pub life: f64,
    /// Misses an instruction.
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
    /// How much its gain weighs beside that of others.
    pub weight: f64,
    /// The most that a change may take of its speed, as a logarithm, where its owner said so.
    pub most: Option<f64>,
    /// Since when it has been doing what it does.
    pub phase: f64,
    /// Its computing and waiting.
    pub cpi: Cpi,
    /// What space saves it.
    pub reuse: Reuse,
    /// Misses an instruction, the running mean.
    pub misses: f64,
    /// Lines of memory for each miss, the running mean.
    pub lines: f64,
    /// The last reading.
    pub last: Option<Reading>,
    /// Its speeds, the newest last.
    pub speeds: Vec<Speed>,
    /// Whether the kernel brings its pages to it.
    pub follows: Follows,
    /// Whether the kernel took it away from its pages.
    pub taken: Taken,
    /// Epochs in a row in which its owner had pinned a thread of it.
    pub pinned: u32,
    /// When its threads were moved, back included, within the last hour.
    pub moves: Vec<f64>,
    /// Until when it is left alone, and how often a change did not help in a row.
    pub rest: f64,
    /// Changes in a row that did not help.
    pub failures: u32,
    /// Seconds that programs of its name ran, where some have ended.
    pub life: Option<f64>,
    /// Logarithm of what changes that were kept did to its speed, all together.
    pub balance: f64,
    /// Misses an instruction of programs of its name, where some have ended.
    expected: Option<f64>,
    /// Whether others of its name and size, first read with it, missed as much.
    pub alike: bool,
    /// What it looks for in the cache an instruction, the running mean as that of misses.
    pub(super) looks: Option<f64>,
    /// Readings in a row with many more misses, or with far fewer.
    pub(super) unlike: u32,
    /// Whether they were more.
    pub(super) more: bool,
    /// Whether an instruction took as many cycles and misses in its last reading as in the one
    /// before.
    is_steady: bool,
    /// Whether it looked for as much in the cache, where that is counted.
    pub(super) looks_alike: bool,
    /// Whether its present phase is its own doing beyond doubt: it looks for two thirds more in the
    /// cache than before, or for less, which no neighbour and no cache changes.
    pub turned: bool,
    /// Changes of phase so far.
    pub(super) changes: u32,
    pub(super) space: Option<(f64, f64)>,
    /// Bytes of cache and misses of its first reading, by unit, until the second one says whether
    /// it still does the same.
    pub(super) first: Vec<(f64, f64)>,
}

impl Program {
    /// One that is seen for the first time; what one of its name was like, where that is known.
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
            lines: 1.3,
            last: None,
            speeds: Vec::new(),
            follows: Follows::default(),
            pinned: 0,
            taken: Taken::default(),
            moves: Vec::new(),
            rest: 0.0,
            failures: 0,
            life: before.map(|known| known.life),
            balance: 0.0,
            expected: before.map(|known| known.misses),
            alike: false,
            looks: None,
            unlike: 0,
            is_steady: false,
            looks_alike: true,
            turned: false,
            more: false,
            changes: 0,
            space: None,
            first: Vec::new(),
        }
    }

    /// Those of which it is one: what it misses tells of them, too.
    #[must_use]
    pub fn kind(&self) -> Kind {
        (Arc::clone(&self.name), self.size)
    }

    /// The part of what it looks for in the cache that it finds there, where that is counted.
    fn finds(&self) -> Option<f64> {
        let last = self.last?;
        last.looks.filter(|looks| *looks > 0.0).map(|_| 1.0 - last.missed())
    }

    /// Misses an instruction were nothing of what it looks for in the cache found there, where that
    /// is counted.
    #[must_use]
    pub fn most(&self) -> Option<f64> {
        self.looks.filter(|looks| *looks > 0.0).map(|looks| looks.max(self.misses))
    }

    /// Lines an instruction, of different addresses, that it looks for within the time that a line
    /// stays in the cache, for each such time: what it holds. Of a program that finds nothing they
    /// are its misses. Else lines that are found stay for as long again: were every line of its
    /// working set looked for as often, a part h of looks would be found that holds h / -ln(1 - h)
    /// lines for each (Che's approximation; Che, Tung and Wang, 2002). Where looks are not counted,
    /// its misses.
    #[must_use]
    pub fn kept(&self) -> f64 {
        let Some(looks) = self.looks.filter(|looks| *looks > self.misses) else { return self.misses };
        let found = (1.0 - self.misses / looks).min(FOUND);
        if found < 1e-3 { self.misses } else { looks * found / -ln(1.0 - found) }
    }

    /// Threads on its core and cycles of computing an instruction, by its last reading; `None`
    /// where waits are more than a fifth of them, so that an error in these might be as much.
    #[must_use]
    pub fn computing(&self) -> Option<(f64, f64)> {
        let last = self.last.filter(|last| !last.disturbed)?;
        let waits = self.cpi.wait * last.exposure + self.delayed(&last);
        (waits < MOSTLY_COMPUTES * last.cycles).then_some((last.running, last.cycles - waits))
    }

    /// Lines read for each miss.
    #[must_use]
    pub fn reads(&self) -> f64 {
        (self.lines / (1.0 + WRITE_BACK)).max(1.0)
    }

    /// What a reading says of computing and waiting: cycles, exposure and crowding; `None` where
    /// pages were under way.
    fn exposed(&self, reading: &Reading) -> Option<(f64, f64, f64)> {
        let cycles = reading.cycles - self.delayed(reading);
        (!reading.disturbed).then_some((cycles, reading.exposure, reading.crowding))
    }

    /// Takes what is known of another of its kind, where it is known better there.
    pub fn learn(&mut self, other: &Cpi) {
        if let Some(reading) = self.last.and_then(|last| self.exposed(&last)) {
            self.cpi.learn(other, reading);
        }
    }

    /// Cycles an instruction that a limit on its bandwidth added to a reading; a processor may
    /// delay less than the model says.
    fn delayed(&self, reading: &Reading) -> f64 {
        (reading.delay * self.reads()).min(MOST_DELAYED * reading.cycles)
    }

    /// Takes the reading of an epoch.
    pub fn read(&mut self, reading: Reading, now: f64) {
        self.follows.read(self.last.as_ref(), &reading);
        self.taken.read(self.last.as_ref(), &reading, self.moves.last().copied(), now);
        if self.last.is_none() {
            self.misses = reading.misses;
        }
        let same = |last: &Reading| agree(last.cycles, reading.cycles) && miss_alike(last.misses, reading.misses);
        self.is_steady = self.last.is_some_and(|last| same(&last));
        let both = self.last.and_then(|last| last.looks.zip(reading.looks));
        self.looks_alike = both.is_none_or(|(before, now)| agree(before, now));
        self.watch_phase(&reading, now);
        if let Some((cycles, exposure, crowding)) = self.exposed(&reading) {
            self.cpi.read(cycles, exposure, crowding);
        }
        // One unlike reading may be the first of another phase: it belongs to neither.
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
        // Where it began during its first second, the second one tells how fast it was.
        if let [first, second] = &mut self.speeds[..]
            && self.is_steady
            && self.changes == 0
        {
            first.speed = first.speed.max(second.speed);
        }
        self.last = Some(reading);
    }

    /// Takes the bytes of cache that each of its threads holds.
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

    /// Whether it would hardly wait at the misses of a reading or of late, whichever are more, each
    /// as long as those of the reading.
    pub(super) fn hardly_waits_in(&self, reading: &Reading) -> bool {
        let each = reading.exposure / reading.misses.max(1e-12);
        let waits = reading.misses.max(self.misses) * each * self.cpi.wait;
        waits / reading.cycles.max(1e-9) < HARDLY_WAITS
    }

    /// What may be hoped of its use of the cache. One that finds hardly anything there may have a
    /// working set that did not fit yet.
    #[must_use]
    pub fn hoped(&self) -> Beyond {
        let finds = self.finds();
        self.reuse.hoped(finds.is_some_and(|finds| finds < HARDLY_FINDS))
    }

    /// Whether it waits for misses so little, by its last reading, that what a neighbour does to
    /// its cache does not matter.
    #[must_use]
    pub fn hardly_waits(&self) -> bool {
        self.last.is_some_and(|last| self.hardly_waits_in(&last))
    }

    /// How long its present state can be expected to last. One that changes again and again is
    /// expected to do so when it usually does.
    #[must_use]
    pub fn horizon(&self, now: f64) -> f64 {
        let lasted = now - self.since.max(self.phase);
        let usual = (now - self.since) / f64::from(self.changes + 1);
        let lasts = if self.changes < 2 || lasted > 1.5 * usual {
            expected(lasted)
        } else {
            lasted.min((usual - lasted).max(0.0))
        };
        // Where programs of its name have ended, it is expected to end when they did.
        let left = self.life.map(|life| life - (now - self.since)).filter(|left| *left > 0.0);
        match left {
            Some(left) if self.changes == 0 => left,
            Some(left) => lasts.min(left),
            None => lasts,
        }
    }

    /// The least speed-up that a change may bring it, where changes together may take `most` of its
    /// speed: what those before took counts, what they brought does not.
    #[must_use]
    pub fn least(&self, most: f64) -> f64 {
        ((1.0 - most) / exp(self.balance.min(0.0))).min(HARDLY)
    }

    /// The last speeds; `None` before there are enough: a window of readings, or two that agree of
    /// one that did nothing else before, or one of a program that does what others of its name did,
    /// or do.
    #[must_use]
    pub fn pace(&self, window: usize) -> Option<&[Speed]> {
        if let Some(first) = self.speeds.len().checked_sub(window) {
            return Some(&self.speeds[first..]);
        }
        let enough = match self.speeds[..] {
            [] => false,
            [_] => self.alike || self.is_as_expected(),
            [.., before, last] => self.changes == 0 && (last.speed - before.speed).abs() < AGREE,
        };
        enough.then_some(&self.speeds[..])
    }

    fn is_as_expected(&self) -> bool {
        self.expected.is_some_and(|misses| self.misses_about(misses))
    }

    /// Whether it was read for the first time.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.speeds.len() == 1 && self.changes == 0 && self.last.is_some()
    }

    /// Whether it misses about as much an instruction.
    #[must_use]
    pub fn misses_about(&self, misses: f64) -> bool {
        miss_alike(self.misses, misses)
    }

    /// Whether threads of it may be moved once more; with `guard`, and back.
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

/// Whether two readings agree, up to what counters of a second leave to chance.
fn agree(before: f64, now: f64) -> bool {
    ln(now / before.max(1e-12)).abs() < AGREE
}

/// The same of misses an instruction: where they are few they do not matter.
fn miss_alike(before: f64, now: f64) -> bool {
    agree(before.max(FEW), now.max(FEW))
}

/// Seconds that something goes on that has lasted for some: of processes that ran for a second half
/// run for two, and half of those for four, and so on (Harchol-Balter and Downey, 1997), so that
/// the median is as long again. The mean is longer; what comes after a minute is left out of it.
fn expected(lasted: f64) -> f64 {
    let mean = lasted * ln(1.0 + AHEAD / lasted.max(1e-9));
    mean.max(lasted)
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
