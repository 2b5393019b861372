//! When a program that died may start again. The rest is counted in decisions, not in seconds, so
//! it fits any interval and needs no clock.
//!
//! ```text
//! deaths so far   1  2  3  4  5        then: not again
//! decisions off   0  1  3  7  15
//! ```

use crate::fault::Fault;

/// Number of consecutive good plans after which earlier deaths are forgotten.
pub const GOOD: u32 = 10;

/// How often a program died, and for how many decisions it rests.
#[derive(Clone, Copy, Debug)]
pub struct Restarts {
    most: u32,
    deaths: u32,
    rest: u64,
    good: u32,
}

impl Restarts {
    /// Allows this number of restarts, unless [`GOOD`] plans come in between.
    pub const fn at_most(most: u32) -> Self {
        Self { most, deaths: 0, rest: 0, good: 0 }
    }

    /// Whether the program may start at this decision.
    ///
    /// # Errors
    /// [`Fault::Resting`], [`Fault::GivenUp`].
    pub const fn may_start(&mut self) -> Result<(), Fault> {
        if self.deaths > self.most {
            return Err(Fault::GivenUp(self.deaths, GOOD));
        }
        if self.rest == 0 {
            return Ok(());
        }
        self.rest -= 1;
        Err(Fault::Resting(self.rest + 1))
    }

    /// The program died.
    pub const fn died(&mut self) {
        self.deaths = self.deaths.saturating_add(1);
        self.good = 0;
        let doublings = if self.deaths < 11 { self.deaths - 1 } else { 10 };
        self.rest = (1 << doublings) - 1;
    }

    /// The program made a good plan.
    pub const fn went_well(&mut self) {
        self.good = self.good.saturating_add(1);
        if self.good >= GOOD {
            self.deaths = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter for each decision: `x` it starts and dies, `.` it rests, `-` it is given up.
    fn timeline(restarts: &mut Restarts, decisions: usize) -> String {
        let mut one = || match restarts.may_start() {
            Ok(()) => {
                restarts.died();
                'x'
            }
            Err(Fault::Resting(_)) => '.',
            Err(_) => '-',
        };
        (0..decisions).map(|_| one()).collect()
    }

    #[test]
    fn rests_double_until_it_is_given_up() {
        assert_eq!(timeline(&mut Restarts::at_most(3), 11), "xx.x...x---");
        assert_eq!(timeline(&mut Restarts::at_most(0), 3), "x--");
    }

    #[test]
    fn good_plans_make_earlier_deaths_forgotten() {
        let mut restarts = Restarts::at_most(2);
        assert_eq!(timeline(&mut restarts, 2), "xx");
        assert!(restarts.may_start().is_err() && restarts.may_start().is_ok());
        (0..GOOD).for_each(|_| restarts.went_well());
        assert_eq!(timeline(&mut restarts, 8), "xx.x----");
    }
}
