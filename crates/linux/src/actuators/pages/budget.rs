//! Limits pages per second: a bucket that fills with time, holds one second's worth, and is never
//! in debt.

use isobar_model::{Pages, num};
use std::time::{Duration, Instant};

/// The number of pages that may still be moved.
#[derive(Debug)]
pub struct PageBudget {
    per_second: u64,
    left: u64,
    filled: Instant,
}

impl PageBudget {
    /// A full bucket.
    pub fn new(per_second: u64) -> Self {
        Self { per_second, left: per_second, filled: Instant::now() }
    }

    /// Adds the pages earned since the last call.
    pub fn refill(&mut self) {
        let now = Instant::now();
        self.left = refilled(self.left, self.per_second, now.duration_since(self.filled));
        self.filled = now;
    }

    /// Number of pages that may be moved now.
    pub const fn left(&self) -> Pages {
        Pages(self.left)
    }

    /// Number of pages that the bucket can hold.
    pub const fn most(&self) -> Pages {
        Pages(self.per_second)
    }

    /// How long until it holds this number of pages; `None` if it does already. For more than it
    /// can hold, how long until it is full.
    pub fn time_until(&self, pages: Pages) -> Option<Duration> {
        let lacking = pages.0.min(self.per_second).saturating_sub(self.left);
        (lacking > 0).then(|| Duration::from_secs_f64(num::float(lacking) / num::float(self.per_second)))
    }

    /// Removes the pages that were moved.
    pub const fn spend(&mut self, moved: Pages) {
        self.left = self.left.saturating_sub(moved.0);
    }
}

fn refilled(left: u64, per_second: u64, passed: Duration) -> u64 {
    let earned = num::floor(num::float(per_second) * passed.as_secs_f64());
    left.saturating_add(earned).min(per_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_holds_one_second_and_is_never_in_debt() {
        assert_eq!(refilled(0, 1000, Duration::from_millis(250)), 250);
        assert_eq!(refilled(900, 1000, Duration::from_millis(250)), 1000);
        assert_eq!(refilled(0, 1000, Duration::from_secs(3600)), 1000);
        assert_eq!(refilled(0, 0, Duration::from_secs(5)), 0);
        let mut budget = PageBudget::new(10);
        budget.spend(Pages(4));
        assert_eq!(budget.left(), Pages(6));
        budget.spend(Pages(9));
        assert_eq!(budget.left(), Pages(0));
        assert_eq!(budget.time_until(Pages(5)), Some(Duration::from_millis(500)));
        assert_eq!((budget.time_until(Pages(99)), budget.time_until(Pages(0))), (Some(Duration::from_secs(1)), None));
    }
}
