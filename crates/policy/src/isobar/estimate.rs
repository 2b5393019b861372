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
    /// If an instruction takes clearly longer with less exposure than in the reading before, the
    /// program does something else now, with fewer misses in flight together: what waits for misses
    /// may wait little for them, but not less than nothing. The reading is then taken in full, like
    /// the first one.
    pub fn read(&mut self, cycles: f64, exposure: f64, crowding: f64) {
        let sample = Sample { cycles, exposure, crowding };
        if self.before.is_some_and(|before| before.contradicts(&sample)) {
            *self = Self { steady: self.steady, ..Self::unknown() };
        }
        let before = self.before.replace(sample).map_or(exposure, |before| before.exposure);
        self.exposures = (self.exposures.0.min(before.max(exposure)), self.exposures.1.max(before.min(exposure)));
        let [mut a, b, mut d] = self.variance;
        a += DRIFT * Self::COMPUTE.1 * Self::COMPUTE.1;
        d += DRIFT * Self::WAIT.1 * Self::WAIT.1;
        // What even the longest wait leaves is computing, however unlike that is to most programs.
        let left = cycles - MOST_WAIT * exposure;
        if self.unread && left > exposure.max(Self::COMPUTE.0 + 3.0 * Self::COMPUTE.1) {
            a = a.max(left * left);
        }
        let noise = (NOISE * cycles) * (NOISE * cycles);
        // The gains of the filter.
        let (first, second) = (a * crowding + b * exposure, b * crowding + d * exposure);
        let known = first * crowding + second * exposure;
        let (gain, other) = (first / (known + noise), second / (known + noise));
        // A program may be unlike most: one that lives in the last-level cache may take ten times
        // as long. Its first reading is then off by more than most programs vary, and its noise is
        // larger as well. The first reading is therefore taken in full.
        let part = if std::mem::replace(&mut self.unread, false) { (known + noise) / known } else { 1.0 };
        let error = part * (cycles - (self.compute * crowding + self.wait * exposure));
        self.compute = (self.compute + gain * error).clamp(0.1, cycles.max(0.1));
        self.wait = (self.wait + other * error).clamp(0.02, MOST_WAIT);
        self.variance = [a - gain * first, b - gain * second, d - other * second];
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
            *self = Self { unread: false, ..*other };
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
mod tests {
    use super::*;

    /// A program of 0.6 cycles that waits for a fifth of its misses, read at 2 and at 6 cycles of
    /// misses per instruction.
    #[test]
    fn two_exposures_tell_computing_from_waiting() {
        let mut cpi = Cpi::unknown();
        for epoch in 0..40 {
            let exposure = if epoch % 10 < 5 { 2.0 } else { 6.0 };
            cpi.read(0.6 + 0.2 * exposure, exposure, 1.0);
        }
        assert!((cpi.compute - 0.6).abs() < 0.03 && (cpi.wait - 0.2).abs() < 0.01, "{cpi:?}");
    }

    #[test]
    fn one_exposure_tells_their_sum_and_leaves_the_rest_open() {
        let mut cpi = Cpi::unknown();
        (0..20).for_each(|_| cpi.read(2.0, 4.0, 1.0));
        assert!((cpi.compute + 4.0 * cpi.wait - 2.0).abs() < 0.02, "{cpi:?}");
        assert!(cpi.doubtful(2.0, 4.0) > 0.05, "{cpi:?}");
    }

    #[test]
    fn a_program_that_changes_is_followed_after_a_doubt() {
        let mut cpi = Cpi::unknown();
        (0..30).for_each(|_| cpi.read(1.0, 1.0, 1.0));
        cpi.doubt();
        (0..30).for_each(|_| cpi.read(3.0, 5.0, 1.0));
        assert!((cpi.compute + 5.0 * cpi.wait - 3.0).abs() < 0.05, "{cpi:?}");
    }

    /// A program of 0.6 cycles that waits for a fifth of its misses, alone on its core and beside
    /// another: that difference separates computing from waiting as well.
    #[test]
    fn a_shared_core_is_not_taken_for_misses() {
        let mut cpi = Cpi::unknown();
        for epoch in 0..40 {
            let crowding = if epoch % 10 < 5 { 1.0 } else { 1.6 };
            cpi.read(0.6 * crowding + 0.2 * 4.0, 4.0, crowding);
        }
        assert!((cpi.compute - 0.6).abs() < 0.03 && (cpi.wait - 0.2).abs() < 0.01, "{cpi:?}");
    }

    /// A program that lives in the last-level cache: 9 cycles per instruction, and in addition 0.2
    /// and then 0.6 cycles of misses, waited for in full. Judged by programs in general it would
    /// compute for 0.8 cycles.
    #[test]
    fn a_surprising_program_is_known_after_two_readings() {
        let mut cpi = Cpi::unknown();
        [0.2, 0.6].iter().for_each(|exposure| cpi.read(9.0 + exposure, *exposure, 1.0));
        assert!((cpi.compute - 9.0).abs() < 0.4, "{cpi:?}");
        let expected = cpi.compute + 0.6 * cpi.wait;
        assert!((expected / 9.6 - 1.0).abs() < 0.02 && cpi.least() > 8.0, "{cpi:?}");
    }

    /// A client that mostly waits for something else: 20.6 cycles, whether it has 13 or 25 of
    /// misses. Even if each change of its misses is taken for another phase, it is not believed to
    /// be faster without misses.
    #[test]
    fn a_speed_that_ignores_misses_does_not_depend_on_them() {
        let mut cpi = Cpi::unknown();
        for exposure in [13.0, 21.0, 25.0, 13.5, 18.0, 25.0] {
            cpi.doubt();
            cpi.read(20.6, exposure, 1.0);
        }
        // 6 % of 20.6 cycles, over the difference of 12.
        assert!(cpi.wait <= 0.06 * 20.6 / 12.0 && cpi.compute > 17.0, "{cpi:?}");
        // Misses that differ little say nothing, and neither does a speed that follows them.
        let mut chase = Cpi::unknown();
        [50.0, 60.0, 50.0, 75.0, 50.0].iter().for_each(|exposure| chase.read(2.0 + exposure, *exposure, 1.0));
        assert!(chase.wait > 0.9, "{chase:?}");
    }

    /// A hash join builds its table with one miss in flight at a time, and looks things up with
    /// several: 2.73 cycles with 2.05 of misses, and 1.13 with 4.12. It waits for memory in both.
    /// With latencies of 1.8 times as much, the two took 4.1 and 1.9 cycles.
    #[test]
    fn what_waits_in_another_way_waits_all_the_same() {
        let mut cpi = Cpi::unknown();
        for (cycles, exposure, farther) in
            [(2.73, 2.05, 4.1), (1.13, 4.12, 1.9), (2.73, 2.05, 4.1), (2.77, 2.09, 4.1), (1.13, 4.12, 1.9)]
        {
            cpi.read(cycles, exposure, 1.0);
            let remote = cpi.compute + 1.8 * exposure * cpi.wait;
            assert!((remote / farther - 1.0).abs() < 0.2, "{cycles}: {remote} {cpi:?}");
        }
    }

    /// A server takes 5.65 cycles with 1.3 of misses. Even if it waited for all of them it would
    /// compute for longer than any program should, so the rest is computing. The misses are not
    /// made responsible for what they cannot explain.
    #[test]
    fn what_the_longest_wait_leaves_is_computing() {
        let mut cpi = Cpi::unknown();
        cpi.read(5.65, 1.3, 1.0);
        assert!((cpi.wait - 0.3).abs() < 0.05 && (cpi.compute + 1.3 * cpi.wait - 5.65).abs() < 0.05, "{cpi:?}");
    }

    /// A pointer chase that first fills its memory in order, at 2.3 cycles with 3.6 of misses. Then
    /// it waits for nearly all of its misses, at 24 cycles with 26 of misses: one reading is enough
    /// to know that.
    #[test]
    fn another_phase_is_another_program() {
        let mut cpi = Cpi::unknown();
        (0..4).for_each(|_| cpi.read(2.3, 3.6, 1.0));
        cpi.doubt();
        cpi.read(24.0, 26.0, 1.0);
        assert!(cpi.wait > 0.8 && cpi.compute < 2.5, "{cpi:?}");
        assert!((cpi.compute + 26.0 * cpi.wait - 24.0).abs() < 0.5, "{cpi:?}");
    }

    /// Two programs of 9 cycles that wait for 0.7 of their misses. One was read at 0.1 and at 26
    /// cycles of misses; the other was read at 26 only, and might therefore wait for all of them.
    /// What is known of the first is adopted for the second, and not the other way round. It is not
    /// adopted for a program that takes a third longer at as many misses, nor for one whose own
    /// readings say as much.
    #[test]
    fn what_was_read_of_another_of_its_kind_is_known_of_it() {
        let mut first = Cpi::unknown();
        (0..8).for_each(|_| first.read(27.2, 26.0, 1.0));
        let mut second = first;
        (0..8).for_each(|_| first.read(9.07, 0.1, 1.0));
        assert!(first.compute > 8.0 && second.compute < 1.5, "{first:?} {second:?}");
        let (before, unlike) = (first, second);
        first.learn(&second, (9.07, 0.1, 1.0));
        assert_eq!(first, before);
        let mut slower = unlike;
        slower.learn(&first, (36.0, 26.0, 1.0));
        assert_eq!(slower, unlike);
        second.learn(&first, (27.2, 26.0, 1.0));
        assert!((second.compute / first.compute - 1.0).abs() < 0.02, "{first:?} {second:?}");
        let mut heavier = unlike;
        heavier.learn(&first, (29.0, 26.0, 1.0));
        let both = heavier.compute + 26.0 * heavier.wait;
        assert!((both - 29.0).abs() < 0.5 && heavier.compute > 7.5, "{heavier:?}");
        // Once it was read at exposures that differ as much itself, its own readings count.
        (0..2).for_each(|_| second.read(9.0, 0.1, 1.0));
        let own = second;
        second.learn(&first, (9.0, 0.1, 1.0));
        assert_eq!(second, own);
    }

    /// A program that is a stream by its readings and finds nothing in the cache: its working set
    /// may be larger than the space that it had.
    #[test]
    fn what_finds_nothing_may_be_hoped_for() {
        let mut stream = Reuse::unknown();
        (0..20).for_each(|_| stream.read(0.0, -0.7));
        assert!(stream.hoped(false).more < 0.1 && (stream.hoped(true).more - 0.5).abs() < 1e-9);
        assert!(stream.hoped(true).less < 0.01);
    }

    #[test]
    fn space_that_saves_nothing_is_seen() {
        let mut stream = Reuse::unknown();
        (0..5).for_each(|_| stream.read(0.0, -0.7));
        let mut sensitive = Reuse::unknown();
        (0..5).for_each(|_| sensitive.read(0.35, -0.7));
        assert!(stream.elasticity < 0.02 && (sensitive.elasticity - 0.5).abs() < 0.02);
    }
}
