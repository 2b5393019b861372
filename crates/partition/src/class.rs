//! Classes of programs by their curves (LFOC+, section II.B of Divide&Content).
//!
//! ```text
//! streaming:      some way count has slowdown <= 1.03 and LLCMPKC >= 14, none slowdown >= 1.06
//! sensitive:      else, some count of at least 2 ways has slowdown >= 1.05
//! light sharing:  else
//! critical point: fewest ways with slowdown below 1.05
//! ```

use isobar_model::CacheClass;
use isobar_model::profile::{Profile, Property};

/// The limits between the classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassLimits {
    /// A streaming program has a way count with at most this slowdown ...
    pub streaming_slowdown: f64,
    /// ... and at least this number of misses per 1000 cycles there ...
    pub streaming_llcmpkc: f64,
    /// ... and no way count with this slowdown or more.
    pub streaming_never: f64,
    /// A sensitive program has a count of at least 2 ways with this slowdown or more. The critical
    /// point is the first way count below it.
    pub sensitive_slowdown: f64,
}

impl Default for ClassLimits {
    fn default() -> Self {
        Self { streaming_slowdown: 1.03, streaming_llcmpkc: 14.0, streaming_never: 1.06, sensitive_slowdown: 1.05 }
    }
}

/// The class of a program from its curves at 1, 2, ... ways (slices of equal length; shorter if
/// sampling stopped early).
#[must_use]
pub fn classify(slowdown: &[f64], llcmpkc: &[f64], limits: ClassLimits) -> CacheClass {
    let streams =
        |(slow, misses): (&f64, &f64)| *slow <= limits.streaming_slowdown && *misses >= limits.streaming_llcmpkc;
    let never = slowdown.iter().all(|slow| *slow < limits.streaming_never);
    if never && slowdown.iter().zip(llcmpkc).any(streams) {
        CacheClass::Streaming
    } else if slowdown.iter().skip(1).any(|slow| *slow >= limits.sensitive_slowdown) {
        CacheClass::Sensitive
    } else {
        CacheClass::LightSharing
    }
}

/// The fewest ways with a slowdown below the sensitive limit, or the length of the whole curve if
/// there is no such way count.
#[must_use]
pub fn critical_ways(slowdown: &[f64], limits: ClassLimits) -> usize {
    slowdown.iter().position(|slow| *slow < limits.sensitive_slowdown).map_or(slowdown.len(), |index| index + 1)
}

/// [`classify`] on a profile.
#[must_use]
pub fn of_profile(profile: &Profile, limits: ClassLimits) -> CacheClass {
    classify(profile.column(Property::Slowdown), profile.column(Property::Llcmpkc), limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_by_its_curve() {
        let class = |slowdown: &[f64], misses: &[f64]| classify(slowdown, misses, ClassLimits::default());
        assert_eq!(class(&[1.05, 1.02, 1.0], &[20.0, 20.0, 20.0]), CacheClass::Streaming);
        assert_eq!(class(&[1.07, 1.02, 1.0], &[20.0, 20.0, 20.0]), CacheClass::LightSharing);
        assert_eq!(class(&[1.5, 1.05, 1.0], &[20.0, 9.0, 5.0]), CacheClass::Sensitive);
        assert_eq!(class(&[1.02, 1.0, 1.0], &[2.0, 1.0, 0.0]), CacheClass::LightSharing);
    }

    #[test]
    fn the_critical_point_is_the_first_way_count_below_the_limit() {
        let critical = |slowdown: &[f64]| critical_ways(slowdown, ClassLimits::default());
        assert_eq!((critical(&[1.5, 1.05, 1.04, 1.0]), critical(&[1.0]), critical(&[1.3, 1.2])), (3, 1, 2));
    }
}
