//! Why the simulator differs from numasim. Three steps lead from the simulator's slowdown to
//! numasim's; each replaces something by what was measured in the mix. The longest step is the
//! reason.
//!
//! ```text
//! simulator
//!   | sharing   numasim's misses and write-backs instead of what the occupancy model makes of them
//! simulator, misses given
//!   | load      the law of the queue at the utilisation that numasim measured, instead of the fixed point; write-backs wait for nothing
//! the law
//!   | rest      what is left: load in bursts, misses that streams cover less or more than alone, what the solo runs did not show
//! numasim
//! ```

use serde::Serialize;

/// Largest relative difference that needs no reason.
pub(crate) const WORTH_A_REASON: f64 = 0.10;

/// The slowdowns on the way from the simulator to numasim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Steps {
    /// The simulator's own slowdown.
    pub simulator: f64,
    /// The simulator's slowdown with numasim's misses and write-backs.
    pub misses_given: f64,
    /// The slowdown by the law at numasim's utilisations; `None` if routes have several links.
    pub law: Option<f64>,
    /// numasim's slowdown.
    pub numasim: f64,
}

/// A step, as the cause of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// How a cache is shared.
    Sharing,
    /// How much load there is, and which lines wait.
    Load,
    /// Anything else.
    Rest,
}

impl Steps {
    /// The relative amount by which the simulator's slowdown is above numasim's.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.simulator / self.numasim - 1.0
    }

    /// The longest step towards numasim; `None` if the difference needs no reason.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        if self.difference().abs() <= WORTH_A_REASON {
            return None;
        }
        // Only steps in the direction of the difference explain it.
        let way = (self.numasim / self.simulator).ln().signum();
        let law = self.law.unwrap_or(self.misses_given);
        let steps = [
            (Cause::Sharing, self.misses_given / self.simulator),
            (Cause::Load, law / self.misses_given),
            (Cause::Rest, self.numasim / law),
        ];
        steps
            .into_iter()
            .map(|(cause, ratio)| (cause, way * ratio.ln()))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|best| best.0)
    }
}

/// Misses per 1000 instructions, alone and in a mix, by both machines.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mpki {
    /// Alone, in numasim.
    pub alone: f64,
    /// In the mix, in numasim.
    pub numasim: f64,
    /// In the mix, in the simulator.
    pub simulator: f64,
    /// In the mix, if lines stayed for a time after their last use (lru.rs).
    pub by_last_use: f64,
}

/// The reason in words, with the figures on which it is based.
#[must_use]
pub fn words(steps: &Steps, mpki: &Mpki) -> Option<String> {
    let law = steps.law.unwrap_or(steps.misses_given);
    Some(match steps.cause()? {
        Cause::Sharing => format!(
            "sharing: {:.1} MPKI here, {:.1} in the simulator, {:.1} by last use; with these misses it says {:.2}",
            mpki.numasim, mpki.simulator, mpki.by_last_use, steps.misses_given
        ),
        Cause::Load => format!(
            "load: at these misses the simulator says {:.2}, the queue's law at the measured load {law:.2}",
            steps.misses_given
        ),
        Cause::Rest => {
            format!("bursts, streams: misses and mean load would give {law:.2}; {:.2} was measured", steps.numasim)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(simulator: f64, misses_given: f64, law: f64, numasim: f64) -> Option<Cause> {
        Steps { simulator, misses_given, law: Some(law), numasim }.cause()
    }

    #[test]
    fn the_longest_step_that_goes_the_right_way_is_the_reason() {
        assert_eq!(cause(1.5, 1.5, 1.5, 1.4), None); // 7 %
        assert_eq!(cause(2.0, 1.5, 1.45, 1.4), Some(Cause::Sharing));
        assert_eq!(cause(2.0, 1.9, 1.5, 1.4), Some(Cause::Load));
        assert_eq!(cause(1.0, 1.0, 1.1, 1.4), Some(Cause::Rest));
        // The sharing step is long, but in the wrong direction.
        assert_eq!(cause(2.0, 3.0, 2.5, 1.5), Some(Cause::Rest));
    }

    #[test]
    fn words_have_the_figures() {
        let steps = Steps { simulator: 2.0, misses_given: 1.5, law: None, numasim: 1.5 };
        let message = words(&steps, &Mpki { alone: 1.0, numasim: 4.0, simulator: 9.0, by_last_use: 5.0 }).unwrap();
        assert_eq!(
            message,
            "sharing: 4.0 MPKI here, 9.0 in the simulator, 5.0 by last use; with these misses it says 1.50"
        );
        assert!((steps.difference() - 1.0 / 3.0).abs() < 1e-12);
    }
}
