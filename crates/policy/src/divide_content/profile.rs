//! What LFOC+ knows of a program: its class, its critical point and its curves over ways. This
//! comes from a profile or from readings with some numbers of ways. The file also decides whether
//! measurements still match it.

use super::reading::Reading;
use isobar_model::{CacheClass, Process, num};
use isobar_partition::class::{ClassLimits, classify, critical_ways};

/// Misses per 1000 instructions by which two rates may always differ: smaller changes of a rate do
/// not matter.
const FLOOR_MPKI: f64 = 1.0;
/// How much the slowdown of a sensitive program grows with each way below its critical point, if
/// only that point is given.
const STEP: f64 = 0.05;

/// A program's profile. Curves are for 1, 2, ... ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its class.
    pub class: CacheClass,
    /// Fewest ways with a slowdown below the limit.
    pub critical: usize,
    /// Slowdown.
    pub slowdown: Vec<f64>,
    /// LLC misses per 1000 cycles.
    pub llcmpkc: Vec<f64>,
    /// The measured readings, by ways. Empty if the profile was given; then nothing is compared
    /// with it.
    curve: Vec<Reading>,
}

impl Profile {
    /// From what a profile says of a process; `None` if it gives neither class nor curve. If there
    /// is no curve, the slowdown of a sensitive program grows by 5 % with each way below the
    /// critical point. All programs are taken to miss the same with any number of ways.
    #[must_use]
    pub fn given(process: &Process, limits: ClassLimits, ways: usize, now: Option<Reading>) -> Option<Self> {
        let misses = now.map_or(1.0, |reading| reading.llcmpkc);
        let curve = process.slowdown_by_ways.as_ref().filter(|curve| !curve.is_empty());
        let class = process.cache_class.or_else(|| Some(classify(curve?, &vec![misses; curve?.len()], limits)))?;
        let given = process.critical_ways.map(num::index);
        let critical = given.or_else(|| Some(critical_ways(curve?, limits))).unwrap_or(ways).clamp(1, ways.max(1));
        let below = |have: usize| if have < critical { 1.0 + STEP * num::float_len(critical + 1 - have) } else { 1.0 };
        let slowdown = match (curve, class) {
            (Some(curve), _) => curve.clone(),
            (None, CacheClass::Sensitive) => (1..=ways).map(below).collect(),
            (None, _) => vec![1.0; ways],
        };
        let llcmpkc = vec![misses; slowdown.len()];
        Some(Self { class, critical, slowdown, llcmpkc, curve: Vec::new() })
    }

    /// From readings with some numbers of ways (`readings[i]` with `i + 1`; there is at least one).
    /// Between readings the curve is a straight line; beyond them it is the nearest reading.
    /// Slowdowns are [`slowdown`] against the reading with most ways. Streaming programs are
    /// recognised by their curve from `streaming_ways` on, the ways that they get: with fewer, many
    /// of them are slowed down (section V.B).
    #[must_use]
    pub fn measured(
        readings: &[Option<Reading>],
        ways: usize,
        limits: ClassLimits,
        streaming_ways: usize,
    ) -> Option<Self> {
        let points: Vec<(usize, Reading)> =
            readings.iter().enumerate().filter_map(|(index, reading)| Some((index, (*reading)?))).collect();
        let (_, most) = points.last()?;
        let curve: Vec<Reading> = (0..ways).filter_map(|index| at(&points, index)).collect();
        let slowdown: Vec<f64> = curve.iter().map(|reading| slowdown(reading, most)).collect();
        let llcmpkc: Vec<f64> = curve.iter().map(|reading| reading.llcmpkc).collect();
        let from = streaming_ways.saturating_sub(1).min(slowdown.len());
        let class = match classify(&slowdown[from..], &llcmpkc[from..], limits) {
            CacheClass::Streaming => CacheClass::Streaming,
            _ => classify(&slowdown, &llcmpkc, limits),
        };
        Some(Self { class, critical: critical_ways(&slowdown, limits), slowdown, llcmpkc, curve })
    }

    /// Instructions per cycle and misses per 1000 instructions by ways, as measured. The IPC is the
    /// best IPC divided by [`Profile::slowdown`], because the IPC of a reading also reflects the
    /// traffic of other programs. `None` for a profile that was given.
    #[must_use]
    pub fn curves(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let best = self.curve.last()?.ipc;
        let ipc = self.slowdown.iter().map(|slowdown| best / slowdown).collect();
        Some((ipc, self.curve.iter().map(|reading| reading.mpki).collect()))
    }

    /// The ways that it needs.
    #[must_use]
    pub fn llc_load(&self) -> f64 {
        isobar_partition::balance::llc_load(self.class, self.critical)
    }

    /// Whether it came with the program. Such a profile is not checked against measurements.
    #[must_use]
    pub const fn is_given(&self) -> bool {
        self.curve.is_empty()
    }

    /// How a reading in a partition of at most `ways` ways differs from the profile by more than
    /// `percent`; `None` if it does not.
    #[must_use]
    pub fn departs(&self, reading: &Reading, ways: usize, percent: f64) -> Option<Departure> {
        let factor = 1.0 + percent / 100.0;
        let reach = self.curve.get(..ways.clamp(1, self.curve.len().max(1)))?;
        let most = self.curve.iter().map(|point| point.mpki).reduce(f64::max)?;
        let least = reach.iter().map(|point| point.mpki).reduce(f64::min)?;
        let best = self.curve.iter().map(|point| point.ipc).reduce(f64::max)?;
        if reading.mpki > most * factor + FLOOR_MPKI {
            Some(Departure::MissesMore)
        } else if self.class != CacheClass::LightSharing && reading.mpki * factor + FLOOR_MPKI < least {
            Some(Departure::MissesLess)
        } else if self.class == CacheClass::Sensitive && reading.ipc > best * factor {
            Some(Departure::Faster)
        } else {
            None
        }
    }
}

/// How much slower a program is with some ways than with the most, as far as ways are the cause. In
/// sampling mode the other programs have the rest of the cache, so their traffic, and with it the
/// time of every miss, differs from reading to reading. Whatever the IPC says, a program whose
/// misses did not grow was not slowed down by ways, and one whose misses grew by half was slowed
/// down by no more than half.
#[must_use]
pub fn slowdown(reading: &Reading, most: &Reading) -> f64 {
    let misses = if reading.mpki > most.mpki { reading.mpki / most.mpki } else { 1.0 };
    (most.ipc / reading.ipc).min(misses).max(1.0)
}

/// The reading with `index + 1` ways.
fn at(points: &[(usize, Reading)], index: usize) -> Option<Reading> {
    let after = points.iter().position(|(at, _)| *at >= index);
    match after {
        None => points.last().map(|(_, reading)| *reading),
        Some(0) => points.first().map(|(_, reading)| *reading),
        Some(next) => {
            let ((low, a), (high, b)) = (points[next - 1], points[next]);
            Some(a.towards(&b, num::float_len(index - low) / num::float_len(high - low)))
        }
    }
}

/// How a class transition shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It misses more than with the fewest ways.
    MissesMore,
    /// It misses less than its ways explain.
    MissesLess,
    /// It executes more instructions per cycle than it ever did.
    Faster,
}

impl Departure {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::MissesMore => "it misses more than with the fewest ways",
            Self::MissesLess => "it misses less than its ways explain",
            Self::Faster => "it runs faster than it ever did",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(ipc: f64, mpki: f64) -> Reading {
        Reading { ipc, llcmpkc: mpki * ipc, mpki }
    }

    fn measured(readings: &[(usize, f64, f64)]) -> Profile {
        let mut by_ways = vec![None; 4];
        readings.iter().for_each(|(ways, ipc, mpki)| by_ways[ways - 1] = Some(reading(*ipc, *mpki)));
        Profile::measured(&by_ways, 5, ClassLimits::default(), 2).unwrap()
    }

    #[test]
    fn lines_between_readings_and_the_nearest_one_beyond() {
        let profile = measured(&[(1, 1.0, 20.0), (2, 1.6, 10.0), (4, 2.0, 4.0)]);
        // IPC 1, 1.6, 1.8, 2, 2: slowdowns 2, 1.25, 1.11, 1, 1.
        let rounded: Vec<f64> = profile.slowdown.iter().map(|slowdown| (slowdown * 100.0).round()).collect();
        assert_eq!(rounded, [200.0, 125.0, 111.0, 100.0, 100.0]);
        assert_eq!((profile.class, profile.critical), (CacheClass::Sensitive, 4));
        let mpki: Vec<f64> = profile.curve.iter().map(|point| point.mpki).collect();
        assert_eq!(mpki, [20.0, 10.0, 7.0, 4.0, 4.0]);
    }

    #[test]
    fn the_traffic_of_others_is_no_slowdown_of_ways() {
        // Slower by 20 % with the most ways, because the other programs are squeezed; slower by 30
        // % with 10 % more misses.
        assert_eq!(slowdown(&reading(1.2, 20.0), &reading(1.0, 20.0)), 1.0);
        assert_eq!(slowdown(&reading(1.0, 22.0), &reading(1.3, 20.0)), 1.1);
        assert_eq!(slowdown(&reading(1.0, 40.0), &reading(1.3, 20.0)), 1.3);
        assert_eq!(slowdown(&reading(1.0, 1.0), &reading(1.3, 0.0)), 1.3, "all misses are gone");
        let streaming = measured(&[(1, 1.0, 20.0), (4, 0.8, 20.0)]);
        assert_eq!((streaming.class, streaming.critical), (CacheClass::Streaming, 1));
        let one_is_too_few = measured(&[(1, 0.7, 30.0), (2, 1.0, 20.0), (4, 1.0, 20.0)]);
        assert_eq!((one_is_too_few.class, one_is_too_few.critical), (CacheClass::Streaming, 2));
    }

    #[test]
    fn a_transition_shows_in_misses_or_speed() {
        let profile = measured(&[(1, 1.0, 20.0), (2, 1.6, 10.0), (4, 2.0, 4.0)]);
        let departs = |ipc, mpki, ways| profile.departs(&reading(ipc, mpki), ways, 50.0);
        assert_eq!(departs(1.0, 30.0, 4), None, "20 * 1.5 + 1 = 31 are allowed");
        assert_eq!(departs(1.0, 32.0, 4), Some(Departure::MissesMore));
        assert_eq!(departs(1.0, 5.9, 2), Some(Departure::MissesLess), "5.9 * 1.5 + 1 < 10: two ways do not explain it");
        assert_eq!(departs(1.0, 5.9, 4), None, "four ways do");
        assert_eq!(departs(3.1, 4.0, 4), Some(Departure::Faster));
        // Contention for bandwidth makes it slow. That is no transition.
        assert_eq!(departs(0.2, 10.0, 4), None);
    }

    #[test]
    fn a_light_sharing_program_may_always_miss_less() {
        let light = measured(&[(1, 2.0, 3.0)]);
        assert_eq!(light.class, CacheClass::LightSharing);
        assert_eq!(light.departs(&reading(2.0, 0.0), 1, 50.0), None);
        assert_eq!(light.departs(&reading(2.0, 6.0), 1, 50.0), Some(Departure::MissesMore));
    }

    fn process(class: Option<CacheClass>, critical: Option<u32>, curve: Option<Vec<f64>>) -> Process {
        Process {
            cache_class: class,
            critical_ways: critical,
            slowdown_by_ways: curve,
            ..crate::test_kit::process(1, Vec::new())
        }
    }

    #[test]
    fn profiles_are_taken_as_far_as_they_go() {
        let given =
            |class, critical, curve| Profile::given(&process(class, critical, curve), ClassLimits::default(), 4, None);
        assert_eq!(given(None, None, None), None);
        let whole = given(Some(CacheClass::Sensitive), None, Some(vec![1.5, 1.2, 1.0, 1.0])).unwrap();
        assert_eq!((whole.critical, whole.is_given()), (3, true));
        // Below the critical point of 3 the slowdown grows by 5 % per way, starting at 10 %,
        // because it must be clearly above the limit of 5 %.
        let point = given(Some(CacheClass::Sensitive), Some(3), None).unwrap();
        assert!(point.slowdown.iter().zip([1.15, 1.1, 1.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{point:?}");
        assert_eq!(critical_ways(&point.slowdown, ClassLimits::default()), 3);
        let light = given(Some(CacheClass::LightSharing), None, None).unwrap();
        assert_eq!((light.class, light.llc_load()), (CacheClass::LightSharing, 1.0));
        let curve = given(None, None, Some(vec![1.3, 1.2, 1.0, 1.0])).unwrap();
        assert_eq!(curve.class, CacheClass::Sensitive);
    }
}
