//! The wall clock, for people and programs that read a log later. It is read only here, and no
//! decision depends on it. A simulated machine has no wall clock, so that the same seed gives the
//! same bytes.

use jiff::Zoned;

/// Where the time of day comes from.
pub struct WallClock(Option<Box<dyn Fn() -> Zoned>>);

impl WallClock {
    /// The system's clock, in its time zone.
    pub fn system() -> Self {
        Self(Some(Box::new(Zoned::now)))
    }

    /// No clock: nothing is stamped.
    pub const fn none() -> Self {
        Self(None)
    }

    /// A clock for tests.
    #[cfg(test)]
    pub fn of(read: impl Fn() -> Zoned + 'static) -> Self {
        Self(Some(Box::new(read)))
    }

    fn now(&self) -> Option<Zoned> {
        self.0.as_ref().map(|read| read())
    }

    /// Now as RFC 3339 in UTC, to the millisecond: `2026-11-22T08:00:00.000Z`.
    pub fn utc(&self) -> Option<String> {
        self.now().map(|now| format!("{:.3}", now.timestamp()))
    }
}

/// Stamps for lines: the time of day on each line, and the date on a line of its own when it
/// changes.
pub struct Stamps {
    clock: WallClock,
    day: Option<String>,
}

impl Stamps {
    /// Stamps by a clock.
    pub const fn by(clock: WallClock) -> Self {
        Self { clock, day: None }
    }

    /// The stamp to put in front of a line now, such as `09:00:00 `, which is empty without a
    /// clock. The first value is a line to write before it, if a new day or summer time has begun.
    pub fn next(&mut self) -> (Option<String>, String) {
        let Some(now) = self.clock.now() else { return (None, String::new()) };
        let stamp = now.strftime("%H:%M:%S ").to_string();
        let day = now.strftime("date: %F, times are UTC%:z").to_string();
        let changed = self.day.as_ref() != Some(&day);
        let line = changed.then(|| format!("{stamp}{day}"));
        self.day = Some(day);
        (line, stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn programs_read_utc_and_people_their_own_time() {
        let read = || "2026-11-22T09:00:00.0625+01:00[+01:00]".parse().unwrap();
        assert_eq!(WallClock::of(read).utc().unwrap(), "2026-11-22T08:00:00.062Z");
        assert_eq!(WallClock::none().utc(), None);
        let mut stamps = Stamps::by(WallClock::of(read));
        let date = "09:00:00 date: 2026-11-22, times are UTC+01:00".to_owned();
        assert_eq!(stamps.next(), (Some(date), "09:00:00 ".to_owned()));
        assert_eq!(stamps.next(), (None, "09:00:00 ".to_owned()));
        assert_eq!(Stamps::by(WallClock::none()).next(), (None, String::new()));
    }

    #[test]
    fn a_new_day_is_said() {
        let day = Cell::new(21);
        let mut stamps = Stamps::by(WallClock::of(move || {
            day.set(day.get() + 1);
            format!("2026-11-{}T00:00:01Z[UTC]", day.get()).parse().unwrap()
        }));
        assert!(stamps.next().0.unwrap().contains("2026-11-22"));
        assert_eq!(stamps.next().0.unwrap(), "00:00:01 date: 2026-11-23, times are UTC+00:00");
    }
}
