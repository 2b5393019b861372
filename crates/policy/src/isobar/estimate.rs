//! Estimates the properties of a program from readings of its speed: numbers that cannot be read
//! directly, each with its variance. This file is pure arithmetic, without processes or time.
//!
//! ```text
//! CPI = c * k + s * x  c  cycles of computing an instruction
//!                      k  how much longer they take beside what runs on the same core
//!                      s  one over the misses in flight together
//!                      x  misses an instruction * cycles of a miss
//! misses ~ space^-e    e  how much space saves
//! ```
//!
//! `CPI`, `k` and `x` are read in each epoch; `c` and `s` are to be found. As long as `x` stays the
//! same, a reading says only how `c` and `s` are related, and their values come from what programs
//! are like in general. When `x` changes (because of a neighbour or a move), both become known. The
//! estimator is a Kalman filter over two numbers that hardly change.

use super::curves::Extrapolation;
use super::samples::{NOISE, Sample, Steady};

/// Logarithm of the ratio by which a change of the space that a program holds may be wrong: the
/// space is computed, not read.
const SPACE_ERROR: f64 = 0.2;
/// Standard error of a speed of which there are few readings.
const OF_FEW: f64 = 0.02;
/// Growth of the variances in an epoch, as a fraction of the initial ones: a program that changes
/// slowly is followed within some minutes.
const DRIFT: f64 = 0.003;
/// A program is like another of its kind if the other's numbers come this close to one of its own
/// readings.
const LIKE: f64 = 0.1;
/// Fraction of its time by which the waits of the other's readings must differ more than the waits
/// of its own readings, for the other to be known better.
const BETTER: f64 = 0.2;

/// Fraction of an exposure that is chance: misses are counted, but latencies are probed. It counts
/// while next to nothing is known of waiting, because it could be taken for all that is to know.
const EXPOSURE_NOISE: f64 = 0.05;
/// The longest wait for a miss, in latencies of memory: a table of pages may be read before it.
const MOST_WAIT: f64 = 1.2;

/// No exposures.
const NONE: (f64, f64) = (f64::INFINITY, 0.0);

/// The cycles of computing, and the fraction of a miss that is waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cpi {
    /// Cycles per instruction without misses.
    pub compute: f64,
    /// Cycles waited per cycle of a miss: one over the number of misses in flight together.
    pub wait: f64,
    /// Variances of both, with their covariance in between.
    variance: [f64; 3],
    /// Whether nothing has been read since it began what it does now.
    unread: bool,
    /// The least and the greatest exposure at which it was read twice in a row since it began what
    /// it does now.
    exposures: (f64, f64),
    /// The last reading, unless it is doubtful whether the next one is of the same behaviour.
    before: Option<Sample>,
    steady: Option<Steady>,
}

impl Cpi {
    /// Most programs take 0.5 to 1.1 cycles per instruction on a wide core (CPI without misses of
    /// SPEC CPU, as published from Nehalem to Skylake).
    const COMPUTE: (f64, f64) = (0.8, 0.3);
    /// Most programs have two to ten misses in flight (a core has 10 to 12 line fill buffers;
    /// chains of pointers have one or two misses in flight).
    const WAIT: (f64, f64) = (0.3, 0.15);

    /// The estimate for a program of which nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        let (compute, wait) = (Self::COMPUTE, Self::WAIT);
        let variance = [compute.1 * compute.1, 0.0, wait.1 * wait.1];
        Self { compute: compute.0, wait: wait.0, variance, unread: true, exposures: NONE, before: None, steady: None }
    }

    /// Records a reading: `cycles` per instruction, with `exposure` cycles of misses per
    /// instruction, while computing took `crowding` times as long as on a core of its own.
    ///
    /// If an instruction takes clearly longer with less exposure than in the reading before, or the
    /// other way round, the program does something else now, with another number of misses in
    /// flight together: what waits for misses may wait little for them, but not less than nothing.
    /// The reading is then taken in full, like the first one.
    pub fn read(&mut self, cycles: f64, exposure: f64, crowding: f64) {
        let sample = Sample { cycles, exposure, crowding };
        if self.before.is_some_and(|before| before.contradicts(&sample)) {
            *self = Self::unknown();
        }
        let before = self.before.replace(sample).map_or(exposure, |before| before.exposure);
        self.exposures = (self.exposures.0.min(before.max(exposure)), self.exposures.1.max(before.min(exposure)));
        let [mut a, b, mut d] = self.variance;
        a += DRIFT * Self::COMPUTE.1 * Self::COMPUTE.1;
        d += DRIFT * Self::WAIT.1 * Self::WAIT.1;
        // What even the longest wait leaves is computing, however unlike that is to most programs.
        let left = (cycles - MOST_WAIT * exposure) / crowding;
        if self.unread && left > exposure.max(Self::COMPUTE.0 + 3.0 * Self::COMPUTE.1) {
            a = a.max(left * left);
        }
        let is_open = d > 2.0 * Self::WAIT.1 * Self::WAIT.1;
        let of_waits = if is_open { EXPOSURE_NOISE * self.wait * exposure } else { 0.0 };
        let of_cycles = NOISE * cycles;
        let noise = of_cycles * of_cycles + of_waits * of_waits;
        // The gains of the filter.
        let (first, second) = (a * crowding + b * exposure, b * crowding + d * exposure);
        let known = first * crowding + second * exposure;
        let (gain, other) = (first / (known + noise), second / (known + noise));
        // A program may be unlike most: one that lives in the last-level cache may take ten times
        // as long. Its first reading is then off by more than most programs vary, and its noise is
        // larger as well. The first reading is therefore taken in full.
        let is_first = std::mem::replace(&mut self.unread, false);
        let part = if is_first { (known + noise) / known } else { 1.0 };
        let error = part * (cycles - (self.compute * crowding + self.wait * exposure));
        self.compute = (self.compute + gain * error).clamp(0.1, cycles.max(0.1));
        self.wait = (self.wait + other * error).clamp(0.02, MOST_WAIT);
        self.variance = [a - gain * first, b - gain * second, d - other * second];
        if is_first && self.wait >= MOST_WAIT {
            // Not even the longest wait explains it. Which part of the reading is computing is open
            // until a reading with other misses shows it.
            self.compute = left.max(0.1);
            let d = (MOST_WAIT / 2.0) * (MOST_WAIT / 2.0);
            let each = exposure / crowding;
            self.variance = [d * each * each, -d * each, d];
        }
        let steady = Steady::with(self.steady, &sample);
        if let Some(most) = steady.most_wait().filter(|most| *most < self.wait) {
            self.wait = most.max(0.02);
            self.compute = ((cycles - self.wait * exposure) / crowding).max(0.1);
        }
        self.steady = Some(steady);
    }

    /// Forgets part of what is known, because the program does something else now.
    pub fn doubt(&mut self) {
        let fresh = Self::unknown().variance;
        self.variance =
            [(self.variance[0] + fresh[0]) / 2.0, self.variance[1] / 2.0, (self.variance[2] + fresh[2]) / 2.0];
        (self.unread, self.exposures, self.before) = (true, NONE, None);
    }

    /// Forgets part of what is known of waiting: the program's cache lookups hit more or less often
    /// than before, and it may wait for them in another way.
    pub fn doubt_waiting(&mut self) {
        self.variance[1] /= 2.0;
        self.variance[2] = (self.variance[2] + Self::WAIT.1 * Self::WAIT.1) / 2.0;
    }

    /// Cycles of misses per instruction that were present in all of its readings.
    #[must_use]
    pub fn least_exposure(&self) -> f64 {
        if self.exposures.0.is_finite() { self.exposures.0 } else { 0.0 }
    }

    /// Cycles per instruction by which the waits of its readings differ. The larger the difference,
    /// the better it is known how much of its time is computing.
    #[must_use]
    pub fn range(&self) -> f64 {
        self.wait * (self.exposures.1 - self.exposures.0).max(0.0)
    }

    /// Adopts another program's numbers if they are known better and nearly agree with the last
    /// reading of this program: then it is one of the same kind. The split between computing and
    /// waiting is taken from the other, their sum from the program's own reading.
    pub fn learn(&mut self, other: &Self, (cycles, exposure, crowding): (f64, f64, f64)) {
        let as_other = other.compute * crowding + other.wait * exposure;
        let is_like = (as_other - cycles).abs() < LIKE * cycles;
        if is_like && other.range() > self.range() + BETTER * cycles {
            let Self { exposures, before, steady, .. } = *self;
            *self = Self { unread: false, before: None, ..*other };
            self.variance[0] += (LIKE * other.compute) * (LIKE * other.compute);
            self.variance[2] += (LIKE * other.wait) * (LIKE * other.wait);
            self.read(cycles, exposure, crowding);
            (self.exposures, self.before, self.steady) = (exposures, before, steady);
        }
    }

    /// Cycles of an instruction that waits for nothing, one standard error below the likely value.
    #[must_use]
    pub fn least(&self) -> f64 {
        (self.compute - self.variance[0].max(0.0).sqrt()).max(0.0)
    }

    /// Standard deviation of the fraction of its time that it waits, at an exposure.
    #[must_use]
    pub fn doubtful(&self, cycles: f64, exposure: f64) -> f64 {
        (self.variance[2].max(0.0).sqrt() * exposure / cycles.max(1e-9)).min(1.0)
    }
}

/// How much cache space saves: the elasticity of misses over space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reuse {
    /// Misses fall by this many per cent for each per cent of additional space.
    pub elasticity: f64,
    variance: f64,
}

impl Reuse {
    /// A quarter, give or take a quarter: between a stream (none) and the square-root law of
    /// commercial programs (a half; Hartstein and others, 2006).
    #[must_use]
    pub fn unknown() -> Self {
        Self { elasticity: 0.25, variance: 0.0625 }
    }

    /// The most favourable assumption, one standard error from the likely value: less space costs
    /// no more than this, and more space saves as much as this. For a program that `finds_nothing`
    /// in the cache, the assumption about more space than was ever read is never less than the
    /// initial one, because its working set may not have fitted yet.
    #[must_use]
    pub fn hoped(&self, finds_nothing: bool) -> Extrapolation {
        let of = |reuse: &Self| (reuse.elasticity, reuse.variance.sqrt());
        let ((own, error), (first, doubt)) = (of(self), of(&Self::unknown()));
        let least = if finds_nothing { first + doubt } else { 0.0 };
        let more = (own + error).max(least).min(0.9);
        Extrapolation { less: (own - error).max(0.0), more, in_proportion: false }
    }

    /// Records a reading: the change in the logarithm of the misses, and in that of the space.
    pub fn read(&mut self, misses: f64, space: f64) {
        let held = SPACE_ERROR * self.elasticity;
        let noise = 2.0 * NOISE * NOISE + held * held;
        let gain = self.variance * space / (space * space * self.variance + noise);
        self.elasticity = (self.elasticity + gain * (-misses - self.elasticity * space)).clamp(0.0, 0.9);
        self.variance = (self.variance * (1.0 - gain * space)).max(1e-4);
    }
}

/// Mean and standard error. The error is at least half a per cent, which counters read over a
/// second cannot resolve, and larger if there are too few values.
#[must_use]
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = isobar_model::num::float_len(values.len()).max(1.0);
    let mean = values.iter().sum::<f64>() / count;
    let spread = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (spread / count).sqrt().max(least_error(count)))
}

/// The least standard error of the mean of a number of values.
#[must_use]
pub fn least_error(count: f64) -> f64 {
    if count < 2.5 { OF_FEW } else { 0.005 }
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
