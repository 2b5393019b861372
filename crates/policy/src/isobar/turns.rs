//! Whether a program does two things in turn, such as building a table and looking things up in it.

use super::reading::ratio;

/// Logarithm of the ratio up to which two phases have the same miss rate.
const RETURNS: f64 = 0.25;
/// Most readings of a brief phase: a program whose phases are so brief is never known by a window
/// of readings.
const BRIEF: u32 = 3;

/// Whether a program does two things in turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turns {
    /// Misses per instruction in the phase before the present one.
    before: Option<f64>,
    /// Number of readings of the present phase.
    readings: u32,
    /// Whether it does again what it did before the last phase, which was brief.
    returned: bool,
}

impl Turns {
    /// Whether it does two things in turn, each for a few readings at most. A phase that lasts for
    /// longer ends that.
    #[must_use]
    pub const fn are_brief(&self) -> bool {
        self.returned && self.readings <= BRIEF
    }

    /// Records a reading, of the present phase or in doubt.
    pub fn read(&mut self, is_of_the_phase: bool) {
        self.readings = self.readings.saturating_add(u32::from(is_of_the_phase));
    }

    /// After a change of phase: the one that is over had `misses` per instruction, and `unlike`
    /// readings show another one, with `now`.
    #[must_use]
    pub fn with_change(self, misses: f64, now: f64, unlike: u32) -> Self {
        let returns = self.before.is_some_and(|before| ratio(before, now) < RETURNS);
        Self { before: Some(misses), readings: unlike, returned: returns && self.readings <= BRIEF }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 18 misses, then 36, then 19 again, for three readings each: they are done in turn from the
    /// second change on. They are not if one of them lasts for four readings, nor if there is
    /// always something new.
    #[test]
    fn what_returns_after_a_brief_phase_is_done_in_turn() {
        let in_turn = |phases: &[f64], readings: u32| {
            let mut turns = Turns::default();
            let mut unlike = 0;
            let changes = phases.windows(2).map(|pair| {
                (unlike..readings).for_each(|_| turns.read(true));
                unlike = 2;
                turns = turns.with_change(pair[0], pair[1], unlike);
                turns.are_brief()
            });
            changes.collect::<Vec<_>>()
        };
        assert_eq!(in_turn(&[18.0, 36.0, 19.0, 35.0], 3), [false, true, true]);
        assert_eq!(in_turn(&[18.0, 36.0, 19.0, 35.0], 4), [false, false, false]);
        assert_eq!(in_turn(&[18.0, 36.0, 72.0, 18.0], 3), [false, false, false]);
        let mut settled = Turns::default().with_change(18.0, 36.0, 2).with_change(36.0, 18.0, 2);
        let are_brief = [true, true].map(|read| {
            settled.read(read);
            settled.are_brief()
        });
        assert_eq!(are_brief, [true, false], "it has stayed for four readings");
    }
}
