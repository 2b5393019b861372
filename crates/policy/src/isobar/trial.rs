//! A trial judges a change by measurement. The prediction is compared with the speed of every
//! program in a window after the change, relative to its speed in a window before. Programs whose
//! speed counts as evidence are called witnesses. A program that did something else meanwhile, or
//! ended, or that the kernel moved to another node, is no witness. For a program that does several
//! things in turn, those epochs are compared in which it did the same. If the programs that were to
//! gain by the change are no witnesses any more, the speeds of the others say nothing about it, and
//! the change stays unmeasured.
//!
//! Many more misses, or far fewer, usually mean that a program does something else, but a change of
//! its cache has the same effect. So a program whose cache was changed stays a witness if the
//! difference began at once, unless its cache lookups changed, too, which is its own doing. Lookups
//! do change with the cache if the program's threads pass lines to each other.

use super::carry::Carried;
use super::division::Division;
use super::math::ln;
use super::pace::{STEADY, Speed, gained, here};
use super::program::Program;
use super::programs::Programs;
use super::stable_programs::there;
use super::verdict::{Gained, Verdict};
use isobar_model::{Observation, Pid};

/// Seconds after which pages that are still under way are no longer waited for.
const PATIENCE: f64 = 60.0;

/// Loss beyond what a program may lose that still counts as none: readings vary by as much.
const HARDLY: f64 = 0.005;

/// Minimum number of readings after a change to judge a program that has looked different since
/// then.
const FEWEST: usize = 2;

/// Fraction of the predicted gain that must have been promised to the witnesses that are left.
const PROMISED: f64 = 0.5;

/// Maximum number of epochs for which a verdict waits because a witness may have begun something
/// else.
const DOUBTED: u32 = 2;

/// A program as it was before a change.
#[derive(Clone, Debug)]
struct Witness {
    pid: Pid,
    phase: f64,
    /// Its speeds.
    before: Vec<Speed>,
    /// Logarithm of the predicted speed-up.
    predicted: f64,
    /// Weight of its gain.
    weight: f64,
    /// The most that it may lose, as a logarithm, if its owner set a limit.
    most: Option<f64>,
    /// Whether its cache was changed: which programs share it, or how.
    beside: bool,
    /// Whether its threads pass lines to each other and came to one cache, so that its cache
    /// lookups change.
    united: bool,
    /// The nodes where it ran, by position, as a bit mask.
    nodes: u64,
}

/// What a change did to a program.
#[derive(Clone, Debug)]
pub struct Touched {
    /// The program.
    pub pid: Pid,
    /// Its threads that went elsewhere or were bound where they are.
    pub carried: Vec<Carried>,
    /// Where its pages were, if they were asked to move.
    pub pages: Option<Vec<f64>>,
}

impl Touched {
    /// Whether its own threads or pages were changed, rather than only those of others beside it.
    #[must_use]
    pub const fn is_moved(&self) -> bool {
        !self.carried.is_empty() || self.pages.is_some()
    }

    /// Why a thread of it is bound where it is: the rest of the program or its pages come there, or
    /// others come to where it is with its pages.
    #[must_use]
    pub fn why_it_stays(&self) -> &'static str {
        if self.carried.iter().any(Carried::goes) {
            "bound there because other threads of its program move there"
        } else if self.pages.is_some() {
            "bound there because its pages move there"
        } else {
            "kept there with its pages because other programs move there"
        }
    }
}

/// A change that is being judged.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its number, as in its prediction.
    pub change: u64,
    /// What was changed, by program.
    pub touched: Vec<Touched>,
    /// The cache, by position, whose ways were divided.
    pub divided: Option<usize>,
    /// Divisions of caches, by position, that were removed to make way for it.
    pub opened: Vec<(usize, Division)>,
    /// Whether it is an exploration, made to learn from: then its prediction promises nothing.
    pub explores: bool,
    /// Until when another phase of a program whose cache was changed is attributed to the change.
    pub soon: f64,
    witnesses: Vec<Witness>,
    /// The programs that ran when it began.
    there: Vec<Pid>,
    since: f64,
    /// When the first of the trials began that it grew from.
    began: f64,
    /// Number of epochs since everything has been in its place.
    quiet: u32,
    /// Number of epochs for which its verdict was put off.
    doubted: u32,
    /// The trial that it grew from.
    earlier: Option<Box<Self>>,
}

impl Trial {
    /// Begins a trial; `gains` is the predicted speed-up of each program by position.
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
            let before = here(program.pace(window)?).to_vec();
            let Program { pid, phase, weight, most, .. } = *program;
            let nodes = program.last.map_or(0, |last| last.nodes);
            let (beside, united) = (false, false);
            Some(Witness { pid, phase, before, predicted: ln(*gain), weight, most, beside, united, nodes })
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
            began: now,
            quiet: 0,
            doubted: 0,
            earlier: None,
        }
    }

    /// Sets the programs whose caches are changed, and those of them whose threads pass lines to
    /// each other and come to one cache. They stay witnesses if they do something else within
    /// `seconds`.
    pub fn watch(&mut self, beside: &[Pid], united: &[Pid], seconds: f64) {
        self.soon = self.since + seconds;
        for one in &mut self.witnesses {
            (one.beside, one.united) = (beside.contains(&one.pid), united.contains(&one.pid));
        }
    }

    /// Whether it was promised to programs that their threads find lines in one cache which they
    /// passed to each other before.
    #[must_use]
    pub fn unites(&self) -> bool {
        self.witnesses.iter().any(|one| one.united)
    }

    /// What was promised to all programs together, each by its weight, in logarithms of their
    /// speeds.
    #[must_use]
    pub fn promised(&self) -> f64 {
        self.witnesses.iter().map(|witness| witness.weight * witness.predicted).sum()
    }

    /// Whether a program was changed.
    #[must_use]
    pub fn touches(&self, pid: Pid) -> bool {
        self.touched.iter().any(|one| one.pid == pid)
    }

    /// Seconds since it began, or since the first of the trials did that it grew from.
    #[must_use]
    pub fn age(&self, now: f64) -> f64 {
        now - self.began
    }

    /// Takes over an earlier trial, which is then judged together with this one: against the speeds
    /// before both, and by what both promised.
    pub fn join(&mut self, earlier: Self) {
        for old in &earlier.witnesses {
            if let Some(own) = self.witnesses.iter_mut().find(|own| own.pid == old.pid) {
                own.predicted += old.predicted;
                (own.weight, own.most) = (old.weight, old.most);
                (own.phase, own.beside) = (old.phase, own.beside || old.beside);
                own.united |= old.united;
                own.nodes = old.nodes;
                own.before.clone_from(&old.before);
            } else {
                self.witnesses.push(old.clone());
            }
        }
        self.touched.extend(earlier.touched.iter().cloned());
        self.opened.extend(earlier.opened.iter().cloned());
        self.began = earlier.began;
        self.earlier = Some(Box::new(earlier));
    }

    /// The trial that it grew from, if it did.
    pub fn take_earlier(&mut self) -> Option<Self> {
        self.earlier.take().map(|earlier| *earlier)
    }

    /// Records that an epoch has passed. `busy`: pages still have to move.
    pub fn pass(&mut self, seen: &Observation, busy: bool) {
        let flying = seen.in_flight().any(|flight| self.touches(flight.pid));
        let waits = (busy || flying) && seen.time.0 - self.since < PATIENCE;
        self.quiet = if waits { 0 } else { self.quiet + 1 };
    }

    /// Number of readings since everything has been in its place and caches have been warm.
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

    /// Whether a program that was changed does something else by now.
    #[must_use]
    pub fn is_past(&self, programs: &Programs) -> bool {
        let turned = |now: &Program| !now.turns.are_brief();
        let differs =
            |one: &Witness| programs.list.iter().any(|now| now.pid == one.pid && now.phase > one.phase && turned(now));
        self.witnesses.iter().any(|one| self.touches(one.pid) && differs(one))
    }

    /// Whether it is better judged in the next epoch, because a witness may have begun something
    /// else in the last one (see [`Program::may_turn`]). It waits for two epochs at most.
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

    /// By how much faster a witness is, and the error of that; `None` if it is no witness any more.
    /// A program whose cache lookups show that it does something else may still do in turn what it
    /// did before.
    fn gain(&self, witness: &Witness, program: &Program, window: usize) -> Option<(f64, f64)> {
        if program.phase <= witness.phase {
            return gained(&witness.before, program.pace(window)?, f64::INFINITY);
        }
        // There may be fewer speeds since then than a window has.
        let after = program.pace(window.min(program.speeds.len().max(FEWEST)))?;
        let its_doing = witness.beside && program.phase <= self.soon;
        match program.turned && !(witness.united && its_doing) {
            true => gained(&witness.before, after, STEADY),
            false if its_doing => gained(&witness.before, after, f64::INFINITY),
            false => None,
        }
    }

    /// Whether the kernel or its owner took a witness to another node: what it then loses is no
    /// measure of the change. This does not apply to a program that the change touched, or whose
    /// owner set a limit.
    fn strayed(&self, witness: &Witness, program: &Program) -> bool {
        let now = program.last.map_or(0, |last| last.nodes);
        let elsewhere = witness.nodes.is_power_of_two() && now.is_power_of_two() && now != witness.nodes;
        elsewhere && witness.most.is_none() && !self.touches(witness.pid)
    }

    /// The verdict. `None` if no program that was changed is a witness any more. Also `None` if the
    /// remaining witnesses were promised less than half of the predicted gain, unless one of them
    /// lost more than its owner allows.
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
