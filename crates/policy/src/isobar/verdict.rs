//! The verdict on a change: what was measured, and whether that is harm.

use super::targets::{MEASURED, is_borne};
use isobar_model::Pid;

/// Number of standard errors beyond which a gain is clear before the window is over.
pub(super) const CLEARLY: f64 = 4.0;

/// The result of a trial: sums over the witnesses, each by its weight, as fractions of a program's
/// speed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The predicted gain.
    pub predicted: f64,
    /// The measured gain.
    pub measured: f64,
    /// Standard error of the measured gain.
    pub error: f64,
    /// The gain of all witnesses with equal weights, less its standard error.
    pub all: f64,
    /// The largest loss of a program beyond its error, 0 or more.
    pub worst: f64,
    /// Whether a program lost more than its owner allows, beyond its error.
    pub broken: bool,
    /// Number of witnesses that were changed themselves, each by its weight.
    pub moved: f64,
    /// Whether programs came or went meanwhile: the prediction was not made for that.
    pub disturbed: bool,
    /// Whether the misses of a program have changed so much since its cache was changed that it
    /// looks like another program. No prediction knew that, and such a case says nothing about the
    /// next one.
    pub jumped: bool,
    /// The gain of each witness.
    pub gains: Vec<Gained>,
}

/// The gain of a witness, in logarithms of its speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gained {
    /// The program.
    pub pid: Pid,
    /// The predicted gain.
    pub predicted: f64,
    /// The measured gain.
    pub measured: f64,
    /// Standard error of the measured gain.
    pub error: f64,
}

impl Verdict {
    /// The effect of a change on each witness, as a logarithm: as measured if nothing else
    /// happened, otherwise as predicted.
    pub fn effects(&self) -> impl Iterator<Item = (Pid, f64)> + '_ {
        self.gains.iter().map(|one| (one.pid, if self.disturbed { one.predicted } else { one.measured }))
    }

    /// Whether the change did harm: all programs together clearly lost, or one program lost more
    /// than twice what it may and more than a quarter of what all together gained. If programs came
    /// or went, a loss may be their doing, so it counts only if less than half of the promised gain
    /// was measured. A protected program's loss counts whatever caused it.
    #[must_use]
    pub fn harmed(&self, most: f64) -> bool {
        self.measured < -self.error || self.wronged(most)
    }

    /// Whether one program lost more than it has to bear, whatever all together gained.
    #[must_use]
    pub fn wronged(&self, most: f64) -> bool {
        let its_doing = !self.disturbed || self.measured < 0.5 * self.predicted;
        let lost = self.worst > 2.0 * most && !is_borne(self.worst, self.all, MEASURED);
        (lost && its_doing) || self.broken
    }

    /// Whether a few readings are enough to keep the change: the gain is as promised and far beyond
    /// chance, and no program lost.
    #[must_use]
    pub fn is_clear(&self, most: f64) -> bool {
        let whole = !self.jumped && !self.broken;
        whole && self.measured > CLEARLY * self.error && self.measured > 0.5 * self.predicted && self.worst < most
    }

    /// How far the change fell short of its prediction, per program that was moved. A gain beyond
    /// the prediction is no reason to act less, so it counts as no shortfall.
    #[must_use]
    pub fn shortfall(&self) -> f64 {
        (self.predicted - self.measured).max(0.0) / self.moved.max(1e-9)
    }
}
