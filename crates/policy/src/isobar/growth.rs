//! Whether a program grows: how many pages it has now and had in the epoch before.

use isobar_model::num;

/// Least growth of a growing program in an epoch, as a fraction of its resident pages.
const GROWS: f64 = 0.01;

/// What the last two epochs show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    /// Resident pages in the last epoch, if they were known.
    pages: Option<u64>,
    /// Whether there were clearly more of them than in the epoch before.
    pub grows: bool,
}

impl Growth {
    /// Reads the resident pages of an epoch; `None` if they are not known.
    pub fn read(&mut self, pages: Option<u64>) {
        let more = |(before, now): (u64, u64)| num::float(now) > (1.0 + GROWS) * num::float(before);
        *self = Self { pages, grows: self.pages.zip(pages).is_some_and(more) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundredth more is no growth yet, and an epoch without a reading says nothing about the one
    /// after it.
    #[test]
    fn growth_takes_two_readings_in_a_row() {
        let mut growth = Growth::default();
        let grows = [Some(1000), Some(1010), Some(1100), None, Some(2000), Some(2100)].map(|pages| {
            growth.read(pages);
            growth.grows
        });
        assert_eq!(grows, [false, false, true, false, false, true]);
    }
}
