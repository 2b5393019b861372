//! What two or more readings of a program's speed show by themselves: that it does something else,
//! or that it does not wait for its misses.

use super::math::ln;

/// Fraction of a reading that is chance: the noise of counters read over a second, and what a
/// program does differently from second to second.
pub const NOISE: f64 = 0.03;
/// Logarithm of the ratio from which on two readings contradict each other: an instruction took
/// that much longer with that much less exposure. Twice the chance difference of counters that are
/// off by a tenth.
const CONTRADICTS: f64 = 0.3;

/// Exposure, as a fraction of the cycles, below which it does not matter how many misses there are.
const MATTERS: f64 = 0.05;

/// A program does not wait for its misses if its speed stays the same for this many readings while
/// the exposure grows by this factor.
const INDIFFERENT: (u32, f64) = (3, 1.5);

/// A reading of cycles per instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Cycles per instruction.
    pub cycles: f64,
    /// Cycles of misses per instruction, if they were waited for one by one.
    pub exposure: f64,
    /// The factor by which computing took longer because of what else ran on its cores.
    pub crowding: f64,
}

impl Sample {
    /// Whether a later reading has clearly more cycles with clearly less exposure, or the other way
    /// round, and what runs on the program's cores does not explain that. A program may wait little
    /// for its misses, but not less than nothing: it does something else then, with another number
    /// of misses in flight together.
    #[must_use]
    pub fn contradicts(&self, later: &Self) -> bool {
        let by = |before: f64, now: f64| ln(now.max(1e-9) / before.max(1e-9));
        let misses = |of: &Self| of.exposure.max(MATTERS * of.cycles);
        let (time, misses) = (by(self.cycles, later.cycles), by(misses(self), misses(later)));
        let computing = by(self.crowding, later.crowding);
        let slower = time > CONTRADICTS + computing.max(0.0);
        let faster = time < computing.min(0.0) - CONTRADICTS;
        slower && misses < -CONTRADICTS || faster && misses > CONTRADICTS
    }
}

/// Readings in a row in which the program was equally fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    cycles: f64,
    crowding: f64,
    exposures: (f64, f64),
    readings: u32,
}

impl Steady {
    /// With another reading: it goes on, or begins anew.
    #[must_use]
    pub fn with(before: Option<Self>, sample: &Sample) -> Self {
        let Sample { cycles, exposure, crowding } = *sample;
        let is_same =
            |old: &Self| (cycles / old.cycles - 1.0).abs() <= NOISE && (crowding / old.crowding - 1.0).abs() <= NOISE;
        let fresh = Self { cycles, crowding, exposures: (exposure, exposure), readings: 0 };
        let old = before.filter(is_same).unwrap_or(fresh);
        let (least, most) = old.exposures;
        Self { exposures: (least.min(exposure), most.max(exposure)), readings: old.readings.saturating_add(1), ..old }
    }

    /// The most that the program can have waited for its misses: if it had waited more, the
    /// difference between the exposures would show in its cycles.
    #[must_use]
    pub fn most_wait(&self) -> Option<f64> {
        let (least, most) = self.exposures;
        let shows = self.readings >= INDIFFERENT.0 && most >= INDIFFERENT.1 * least;
        shows.then(|| 2.0 * NOISE * self.cycles / (most - least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Building a table takes 2.73 cycles with 2.05 of misses, looking things up 1.13 with 4.12. It
    /// is no contradiction if the misses make no difference, or if another thread on the core
    /// explains it.
    #[test]
    fn less_time_with_more_misses_is_something_else() {
        let of = |cycles, exposure, crowding| Sample { cycles, exposure, crowding };
        let (builds, looks_up) = (of(2.73, 2.05, 1.0), of(1.13, 4.12, 1.0));
        assert!(builds.contradicts(&looks_up) && looks_up.contradicts(&builds));
        assert!(!builds.contradicts(&of(2.73, 4.12, 1.0)) && !builds.contradicts(&of(4.12, 4.12, 1.0)));
        assert!(
            !of(1.0, 1.0, 1.0).contradicts(&of(1.6, 0.5, 1.6)) && of(1.0, 1.0, 1.0).contradicts(&of(2.4, 0.5, 1.6))
        );
        assert!(!of(1.6, 0.5, 1.6).contradicts(&of(1.0, 1.0, 1.0)));
        assert!(!of(0.7, 0.02, 1.0).contradicts(&of(1.0, 0.001, 1.0)), "it does not wait for misses anyway");
    }
}
