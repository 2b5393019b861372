//! LLC misses as a function of LLC space: a few parameters, or a table measured way by way. The
//! contention model requires that more space never means more misses. A measured curve may rise
//! where it was noisy; [`MissCurve::rises`] reports that.

use std::sync::Arc;

const MIB: f64 = 1_048_576.0;

/// Misses per 1000 instructions over the space that a program holds in its LLC. The curve never
/// rises.
#[derive(Clone, Debug, PartialEq)]
pub enum MissCurve {
    /// A few parameters.
    Parametric(Parametric),
    /// A table by ways.
    Measured(Measured),
}

/// `streaming + reuse * half / (half + space)`. `streaming` misses occur whatever the space;
/// `reuse` is what space can save, half of it with `half_mib`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parametric {
    /// MPKI that no cache removes.
    pub streaming: f64,
    /// MPKI that an unlimited cache removes.
    pub reuse: f64,
    /// The space that removes half of `reuse`, in MiB.
    pub half_mib: f64,
}

/// MPKI by ways as measured, interpolated between whole ways. Bytes are ways times the size of a
/// way of the cache on which the curve was measured. Below one way the curve continues linearly to
/// `v(1) + (v(1) - v(2))` at none (docs/design/cache-ways.md); beyond the last way the last value
/// holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    way_mib: f64,
    /// As measured, beginning with one way.
    by_ways: Arc<[f64]>,
    /// The nearest curve that never rises, beginning with no way.
    falling: Arc<[f64]>,
}

impl MissCurve {
    /// A curve from its parameters, in MPKI and MiB.
    #[must_use]
    pub const fn parametric(streaming: f64, reuse: f64, half_mib: f64) -> Self {
        Self::Parametric(Parametric { streaming, reuse, half_mib })
    }

    /// A curve from MPKI by ways, beginning with one way, measured on a cache whose ways have
    /// `way_mib` MiB.
    #[must_use]
    pub fn measured(way_mib: f64, by_ways: &[f64]) -> Self {
        let falling = falling(by_ways);
        let first = falling.first().copied().unwrap_or_default();
        let second = falling.get(1).copied().unwrap_or(first);
        let from_none = std::iter::once(2.0 * first - second).chain(falling);
        Self::Measured(Measured { way_mib, by_ways: by_ways.into(), falling: from_none.collect() })
    }

    /// LLC misses per instruction with `space` bytes of cache.
    #[must_use]
    pub fn misses(&self, space: f64) -> f64 {
        self.misses_and_slope(space).0
    }

    /// LLC misses per instruction with `space` bytes of cache, and their slope over the space,
    /// which is never above 0. At a whole way a measured curve has two slopes; the result is the
    /// slope towards more space.
    pub(crate) fn misses_and_slope(&self, space: f64) -> (f64, f64) {
        let (mpki, slope) = match self {
            Self::Parametric(curve) => curve.mpki(space / MIB),
            Self::Measured(curve) => curve.mpki(space / MIB),
        };
        (mpki / 1000.0, slope / (1000.0 * MIB))
    }

    /// The numbers of ways at which a measured curve has more misses than with one way less; none
    /// for a parametric curve.
    #[must_use]
    pub fn rises(&self) -> Vec<usize> {
        let Self::Measured(curve) = self else { return Vec::new() };
        let pairs = curve.by_ways.windows(2).enumerate();
        pairs.filter(|(_, pair)| pair[1] > pair[0]).map(|(index, _)| index + 2).collect()
    }
}

impl Parametric {
    /// MPKI, and its slope per MiB.
    fn mpki(&self, mib: f64) -> (f64, f64) {
        let over = self.reuse * self.half_mib / (self.half_mib + mib);
        (self.streaming + over, -over / (self.half_mib + mib))
    }
}

impl Measured {
    /// MPKI as measured, beginning with one way.
    #[must_use]
    pub fn by_ways(&self) -> &[f64] {
        &self.by_ways
    }

    /// Size of a way, in MiB, of the cache on which the curve was measured.
    #[must_use]
    pub const fn way_mib(&self) -> f64 {
        self.way_mib
    }

    /// MPKI, and its slope per MiB.
    fn mpki(&self, mib: f64) -> (f64, f64) {
        let ways = (mib / self.way_mib).max(0.0);
        let below = isobar_model::num::floor(ways);
        if let Some([here, next]) = usize::try_from(below).ok().and_then(|at| self.falling.get(at..at.checked_add(2)?))
        {
            let fall = next - here;
            return (here + fall * (ways - isobar_model::num::float(below)), fall / self.way_mib);
        }
        (self.falling.last().copied().unwrap_or_default(), 0.0)
    }
}

/// The values nearest to the given ones (least squares) that never rise: neighbours that rise are
/// pooled to their mean, until none does (Ayer and others, 1955: "pool adjacent violators").
fn falling(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in values {
        pools.push((*value, 1));
        while let [.., (before, many), (last, more)] = pools[..] {
            if last <= before {
                break;
            }
            let count = many + more;
            let sum = before * isobar_model::num::float_len(many) + last * isobar_model::num::float_len(more);
            pools.truncate(pools.len() - 2);
            pools.push((sum / isobar_model::num::float_len(count), count));
        }
    }
    pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_mean_what_they_say() {
        let curve = MissCurve::parametric(2.0, 8.0, 1.0);
        assert!((curve.misses(0.0) * 1000.0 - 10.0).abs() < 1e-12);
        assert!((curve.misses(MIB) * 1000.0 - 6.0).abs() < 1e-12);
    }

    #[test]
    fn a_table_is_interpolated_between_ways() {
        let curve = MissCurve::measured(2.5, &[20.0, 12.0, 10.0]);
        let mpki = |ways: f64| curve.misses(ways * 2.5 * MIB) * 1000.0;
        for (ways, expected) in [(0.0, 28.0), (0.5, 24.0), (1.0, 20.0), (1.25, 18.0), (3.0, 10.0), (40.0, 10.0)] {
            assert!((mpki(ways) - expected).abs() < 1e-9, "{ways}: {}", mpki(ways));
        }
        assert!(curve.rises().is_empty());
    }

    #[test]
    fn slopes_are_those_of_the_curves() {
        let measured = MissCurve::measured(2.0, &[9.0, 5.0, 4.0]);
        for curve in [MissCurve::parametric(2.0, 8.0, 1.5), measured] {
            for mib in [0.1, 1.3, 2.9, 4.4, 7.0] {
                let step = 1e-4 * MIB;
                let rise = (curve.misses(mib * MIB + step) - curve.misses(mib * MIB)) / step;
                let (_, slope) = curve.misses_and_slope(mib * MIB);
                assert!((rise - slope).abs() <= 1e-3 * slope.abs() + 1e-18, "{curve:?} {mib}: {rise} {slope}");
            }
        }
    }

    #[test]
    fn a_rise_is_smoothed_and_reported() {
        let curve = MissCurve::measured(1.0, &[10.0, 4.0, 6.0, 5.0]);
        assert_eq!(curve.rises(), [3]);
        let mpki = |ways: f64| curve.misses(ways * MIB) * 1000.0;
        assert!((mpki(2.0) - 5.0).abs() < 1e-12 && (mpki(3.0) - 5.0).abs() < 1e-12);
        assert_eq!(falling(&[1.0, 2.0, 3.0]), [2.0, 2.0, 2.0]);
        assert_eq!(MissCurve::measured(1.0, &[7.0]).misses(0.0), 0.007);
    }

    proptest! {
        #[test]
        fn more_space_never_means_more_misses(
            values in prop::collection::vec(0.0..100.0, 1..20), spaces in prop::collection::vec(0.0..25.0, 2..20)
        ) {
            let curve = MissCurve::measured(1.0, &values);
            let mut spaces = spaces;
            spaces.sort_by(f64::total_cmp);
            let misses: Vec<_> = spaces.iter().map(|mib| curve.misses(mib * MIB)).collect();
            prop_assert!(misses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12), "{:?}", misses);
            let mean = |of: &[f64]| of.iter().sum::<f64>();
            prop_assert!((mean(&falling(&values)) - mean(&values)).abs() < 1e-9);
        }
    }
}
