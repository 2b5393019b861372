//! A change is a trial. What was predicted stands beside what was measured: the speed of every
//! program in a window after it, against that in a window before. A program that did something
//! else meanwhile, or ended, or that the kernel took to another node, is no witness; of one that
//! does several things in turn, those epochs are compared in which it did the same. Where those
//! that were to gain by the change are none any more, what the others did says nothing of it, and
//! it stays unmeasured.
//!
//! What looks as if a program did something else, many more misses or far fewer, is what a change
//! of its cache does as well. So one whose cache was changed stays a witness where that began at
//! once, unless it looks for more or less in the cache, which is its own doing.

use super::calm::there;
use super::carry::Carried;
use super::division::Division;
use super::math::ln;
use super::pace::{STEADY, Speed, gained};
use super::program::Program;
use super::programs::Programs;
use super::targets::{MEASURED, is_borne};
use isobar_model::{Observation, Pid};

/// Seconds after which pages that are still under way are not waited for.
const PATIENCE: f64 = 60.0;

/// A loss beyond what a program may lose that counts as none: readings vary by as much.
const HARDLY: f64 = 0.005;

/// Readings after a change by which a program is judged that looks like another since then.
const FEWEST: usize = 2;

/// Standard errors from which on a gain is clear before the window is over.
pub(super) const CLEARLY: f64 = 4.0;

/// The part of the predicted gain that those who are left to judge by must have been promised.
const PROMISED: f64 = 0.5;

/// Epochs for which a verdict waits where a witness may have begun something else.
const DOUBTED: u32 = 2;

/// A program before a change.
#[derive(Clone, Debug)]
struct Witness {
    pid: Pid,
    phase: f64,
    /// Its speeds.
    before: Vec<Speed>,
    /// Logarithm of the predicted speed-up.
    predicted: f64,
    /// How much its gain weighs.
    weight: f64,
    /// The most that it may lose, as a logarithm, where its owner said so.
    most: Option<f64>,
    /// Whether who shares its cache, or how, was changed.
    beside: bool,
    /// The nodes where it ran, by position, as bits.
    nodes: u64,
}

/// What was changed of a program.
#[derive(Clone, Debug)]
pub struct Touched {
    /// The program.
    pub pid: Pid,
    /// Its threads that went elsewhere.
    pub carried: Vec<Carried>,
    /// Where its pages were, where they were asked to move.
    pub pages: Option<Vec<f64>>,
}

impl Touched {
    /// Whether its threads or pages were to go elsewhere, rather than others beside it.
    #[must_use]
    pub const fn is_moved(&self) -> bool {
        !self.carried.is_empty() || self.pages.is_some()
    }

    /// Why a thread of it is bound where it is: the rest of the program comes there, or others come
    /// to where it is with its pages.
    #[must_use]
    pub fn why_it_stays(&self) -> &'static str {
        if self.carried.iter().any(Carried::goes) {
            "stays where others of its program come"
        } else if self.pages.is_some() {
            "stays where its pages come"
        } else {
            "stays with its pages where others come"
        }
    }
}

/// A change that is being judged.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its number, as its prediction has it.
    pub change: u64,
    /// What was changed.
    pub touched: Vec<Touched>,
    /// The cache, by position, whose ways were divided.
    pub divided: Option<usize>,
    /// Divisions of caches, by position, that made way for it.
    pub opened: Vec<(usize, Division)>,
    /// Whether it is made to learn from: then its prediction promises nothing.
    pub explores: bool,
    /// Until when another phase of a program whose cache was changed is the change's doing.
    pub soon: f64,
    witnesses: Vec<Witness>,
    /// The programs that ran.
    there: Vec<Pid>,
    since: f64,
    /// Epochs since everything has been in its place.
    quiet: u32,
    /// Epochs for which its verdict waited.
    doubted: u32,
    /// The trial that it grew from.
    earlier: Option<Box<Self>>,
}

/// What came of it: sums over the witnesses, each by its weight, as parts of a program's speed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// What was predicted.
    pub predicted: f64,
    /// What was measured.
    pub measured: f64,
    /// Standard error of that.
    pub error: f64,
    /// What all gained at least, less the standard error, were they alike.
    pub all: f64,
    /// The greatest loss of a program beyond its error, 0 or more.
    pub worst: f64,
    /// Whether a program lost more than its owner lets it, and its error.
    pub broken: bool,
    /// Programs that were changed and are among the witnesses, each by its weight.
    pub moved: f64,
    /// Whether programs came or went meanwhile: what was predicted was not for these.
    pub disturbed: bool,
    /// Whether a program misses so much more or less since its cache was changed that it looks like
    /// another: no prediction knew that, and one such says nothing of the next.
    pub jumped: bool,
    /// The witnesses.
    pub gains: Vec<Gained>,
}

/// What became of a witness, in logarithms of its speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gained {
    /// The program.
    pub pid: Pid,
    /// What was predicted for it.
    pub predicted: f64,
    /// What was measured.
    pub measured: f64,
    /// Standard error of that.
    pub error: f64,
}

impl Verdict {
    /// What a change did to each witness, as a logarithm: as measured where nothing else happened,
    /// else as predicted.
    pub fn effects(&self) -> impl Iterator<Item = (Pid, f64)> + '_ {
        self.gains.iter().map(|one| (one.pid, if self.disturbed { one.predicted } else { one.measured }))
    }

    /// Whether the change did harm: all together clearly lost, or one lost twice what it may and
    /// more than a quarter of what all together gained. Where programs came or went, that may be
    /// their doing: then only if the others did not gain what was promised. A protected program is
    /// not asked whose doing it was.
    #[must_use]
    pub fn harmed(&self, most: f64) -> bool {
        let its_doing = !self.disturbed || self.measured < 0.5 * self.predicted;
        let lost = self.worst > 2.0 * most && !is_borne(self.worst, self.all, MEASURED);
        self.measured < -self.error || (lost && its_doing) || self.broken
    }

    /// Whether a few readings are enough to keep the change: the gain is as promised and far beyond
    /// chance, and no one lost.
    #[must_use]
    pub fn is_clear(&self, most: f64) -> bool {
        let whole = !self.jumped && !self.broken;
        whole && self.measured > CLEARLY * self.error && self.measured > 0.5 * self.predicted && self.worst < most
    }

    /// By how much the change fell short of its prediction, for each program that was moved: more
    /// than was predicted is no reason to act less.
    #[must_use]
    pub fn shortfall(&self) -> f64 {
        (self.predicted - self.measured).max(0.0) / self.moved.max(1e-9)
    }
}

impl Trial {
    /// Begins, with the predicted speed-up of each program by position.
    #[must_use]
    pub fn new(
        change: u64,
        touched: Vec<Touched>,
        programs: &Programs,
        gains: &[f64],
        window: usize,
        now: f64,
    ) -> Self {
        let witness = |(program, gain): (&Program, &f64)| {
            let before = program.pace(window)?.to_vec();
            let Program { pid, phase, weight, most, .. } = *program;
            let nodes = program.last.map_or(0, |last| last.nodes);
            Some(Witness { pid, phase, before, predicted: ln(*gain), weight, most, beside: false, nodes })
        };
        let witnesses = programs.list.iter().zip(gains).filter_map(witness).collect();
        Self {
            change,
            touched,
            divided: None,
            opened: Vec::new(),
            explores: false,
            soon: now,
            witnesses,
            there: there(programs),
            since: now,
            quiet: 0,
            doubted: 0,
            earlier: None,
        }
    }

    /// The programs whose caches are changed, which stay witnesses where they do something else
    /// within some seconds.
    pub fn watch(&mut self, beside: &[Pid], seconds: f64) {
        self.soon = self.since + seconds;
        self.witnesses.iter_mut().for_each(|one| one.beside = beside.contains(&one.pid));
    }

    /// What all programs together were promised, each by its weight, in logarithms of their speeds.
    #[must_use]
    pub fn promised(&self) -> f64 {
        self.witnesses.iter().map(|witness| witness.weight * witness.predicted).sum()
    }

    /// Whether a program was changed.
    #[must_use]
    pub fn touches(&self, pid: Pid) -> bool {
        self.touched.iter().any(|one| one.pid == pid)
    }

    /// Takes over what another trial changed before, which is judged with this one: by speeds
    /// before both, and what both promised.
    pub fn join(&mut self, earlier: Self) {
        for old in &earlier.witnesses {
            if let Some(own) = self.witnesses.iter_mut().find(|own| own.pid == old.pid) {
                own.predicted += old.predicted;
                (own.weight, own.most) = (old.weight, old.most);
                (own.phase, own.beside) = (old.phase, own.beside || old.beside);
                own.nodes = old.nodes;
                own.before.clone_from(&old.before);
            } else {
                self.witnesses.push(old.clone());
            }
        }
        self.touched.extend(earlier.touched.iter().cloned());
        self.opened.extend(earlier.opened.iter().cloned());
        self.earlier = Some(Box::new(earlier));
    }

    /// The trial that it grew from, where it did.
    pub fn take_earlier(&mut self) -> Option<Self> {
        self.earlier.take().map(|earlier| *earlier)
    }

    /// An epoch has passed. `busy`: pages still have to move.
    pub fn pass(&mut self, seen: &Observation, busy: bool) {
        let flying = seen.in_flight().any(|flight| self.touches(flight.pid));
        let waits = (busy || flying) && seen.time.0 - self.since < PATIENCE;
        self.quiet = if waits { 0 } else { self.quiet + 1 };
    }

    /// Readings since everything has been in its place and caches are warm.
    #[must_use]
    pub fn readings(&self, settle: u32) -> u32 {
        self.quiet.saturating_sub(settle + 1)
    }

    /// Whether all programs that were changed have ended.
    #[must_use]
    pub fn is_moot(&self, programs: &Programs) -> bool {
        let runs = |one: &Touched| programs.list.iter().any(|program| program.pid == one.pid);
        !self.touched.iter().any(runs)
    }

    /// Whether it is better judged in the next epoch: a witness may have begun something else in
    /// the last one (see [`Program::may_turn`]). It waits for two epochs at most.
    #[must_use]
    pub fn waits_for_doubt(&mut self, programs: &Programs) -> bool {
        let in_doubt = |one: &Witness| {
            let its = programs.list.iter().find(|program| program.pid == one.pid);
            its.is_some_and(|program| program.phase <= one.phase && program.may_turn())
        };
        let waits = self.doubted < DOUBTED && !self.is_moot(programs) && self.witnesses.iter().any(in_doubt);
        self.doubted += u32::from(waits);
        waits
    }

    /// By how much faster a witness is, where it still is one, and the error of that. One of which
    /// its looks in the cache say that it does something else may do in turn what it did before.
    fn gain(&self, witness: &Witness, program: &Program, window: usize) -> Option<(f64, f64)> {
        if program.phase <= witness.phase {
            return gained(&witness.before, program.pace(window)?, f64::INFINITY);
        }
        // Its speeds since then may be fewer than a window.
        let after = program.pace(window.min(program.speeds.len().max(FEWEST)))?;
        let its_doing = witness.beside && program.phase <= self.soon;
        match program.turned {
            true => gained(&witness.before, after, STEADY),
            false if its_doing => gained(&witness.before, after, f64::INFINITY),
            false => None,
        }
    }

    /// Whether the kernel or its owner took a witness to another node: what it then loses is no
    /// measure of the change. Not one whose owner says what it may lose.
    fn strayed(&self, witness: &Witness, program: &Program) -> bool {
        let now = program.last.map_or(0, |last| last.nodes);
        let elsewhere = witness.nodes.is_power_of_two() && now.is_power_of_two() && now != witness.nodes;
        elsewhere && witness.most.is_none() && !self.touches(witness.pid)
    }

    /// What came of it; `None` where no program that was changed is a witness any more, or those
    /// that are witnesses were promised less than half of what it was to gain, unless one of them
    /// lost more than its owner lets it.
    #[must_use]
    pub fn judge(&self, programs: &Programs, window: usize) -> Option<Verdict> {
        let mut verdict = Verdict { disturbed: self.there != there(programs), ..Verdict::default() };
        let (mut variance, mut alike) = (0.0, 0.0);
        for witness in &self.witnesses {
            let Some(program) = programs.list.iter().find(|program| program.pid == witness.pid) else { continue };
            if self.strayed(witness, program) {
                continue;
            }
            let Some((gain, error)) = self.gain(witness, program, window) else { continue };
            verdict.jumped |= program.phase > witness.phase && !program.turned;
            let (pid, predicted, weight) = (witness.pid, witness.predicted, witness.weight);
            variance += weight * weight * error * error;
            alike += error * error;
            verdict.all += gain;
            verdict.gains.push(Gained { pid, predicted, measured: gain, error });
            verdict.predicted += weight * predicted;
            verdict.measured += weight * gain;
            let lost = -gain - 2.0 * error;
            match witness.most {
                Some(most) => verdict.broken |= lost > most + HARDLY,
                None => verdict.worst = verdict.worst.max(lost),
            }
            verdict.moved += if self.touches(witness.pid) { weight } else { 0.0 };
        }
        verdict.error = variance.sqrt();
        verdict.all -= f64::sqrt(alike);
        let tells = verdict.broken || self.explores || verdict.predicted >= PROMISED * self.promised();
        (verdict.moved > 0.0 && tells).then_some(verdict)
    }
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
