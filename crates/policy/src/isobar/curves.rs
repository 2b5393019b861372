//! Miss curves as observed: how many misses a program had while it held some amount of cache. There
//! is one curve per name and size of a program, so that what one process shows is known for the
//! next, and what differs between two processes on two caches is known for both. By name alone,
//! everything that an interpreter runs would be one program.
//!
//! If cache lookups are counted, a curve gives misses per lookup, otherwise misses per instruction:
//! see [`Reading::missed`](super::reading::Reading::missed).

use super::math::{exp, ln};
use isobar_contention::MissCurve;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum weight of the mean at one space, in readings.
const WEIGHT: f64 = 20.0;
/// Points of a curve that is handed to the equations.
const POINTS: u32 = 32;
/// Maximum number of kinds of programs that are remembered.
const KINDS: usize = 256;
/// Logarithm of the ratio from which on a reading does not belong to the curve: it comes from
/// another input, or from another program of that name.
const ALIEN: f64 = 0.4;
const MIB: f64 = 1_048_576.0;

/// A curve from readings, with one point per half octave of space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen(BTreeMap<u64, Point>);

/// What is assumed beyond the readings: elasticities of misses over space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extrapolation {
    /// With less space than was read.
    pub less: f64,
    /// With more space than was read.
    pub more: f64,
    /// Whether what it finds grows at most in proportion to its space, beyond all readings. This is
    /// assumed for a program whose memory is larger than any cache: nothing shows that it returns
    /// to a small part of its memory sooner than to the rest.
    pub in_proportion: bool,
}

impl Extrapolation {
    /// The same elasticity on both sides.
    #[must_use]
    pub const fn both(elasticity: f64) -> Self {
        Self { less: elasticity, more: elasticity, in_proportion: false }
    }

    /// The same for a program that may have more memory than any cache holds.
    #[must_use]
    pub const fn in_proportion(self, it_is: bool) -> Self {
        Self { in_proportion: it_is, ..self }
    }
}

/// Means of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    space: f64,
    misses: f64,
    weight: f64,
}

impl Seen {
    /// Records a reading: bytes held, and misses per lookup or instruction. Points that contradict
    /// it are forgotten: those with clearly more misses at more space, or clearly fewer at less
    /// space. A point with far more misses at less space does not contradict it: when a working set
    /// fits at last, nearly all misses end.
    pub fn read(&mut self, space: f64, misses: f64) {
        let (space, misses) = (ln(space), ln(misses));
        let bucket = isobar_model::num::floor((space * 2.885_39).max(0.0));
        self.0.retain(|at, point| {
            let more = point.misses - misses;
            let (less_space, more_space) = (*at <= bucket, *at >= bucket);
            !(less_space && more < -ALIEN || more_space && more > ALIEN)
        });
        let point = self.0.entry(bucket).or_insert(Point { space, misses, weight: 0.0 });
        point.weight = (point.weight + 1.0).min(WEIGHT);
        point.space += (space - point.space) / point.weight;
        point.misses += (misses - point.misses) / point.weight;
    }

    /// The points, changed so that none has more misses than a point with less space. What a
    /// program had in a cache it also has in a larger one, so neighbouring points that were read
    /// otherwise are pooled (isotonic regression). The reason for such points is that the space is
    /// computed. For a program that lives in the cache the computed space is too small, because
    /// lines that are found stay longer than others.
    fn falling(&self) -> Vec<Point> {
        let mut falling: Vec<(Point, usize)> = Vec::with_capacity(self.0.len());
        for point in self.0.values() {
            let mut all = (*point, 1);
            while let Some((before, count)) = falling.pop_if(|(before, _)| before.misses < all.0.misses) {
                let weight = before.weight + all.0.weight;
                all.0.misses = (before.misses * before.weight + all.0.misses * all.0.weight) / weight;
                (all.0.weight, all.1) = (weight, all.1 + count);
            }
            falling.push(all);
        }
        let levels = falling.iter().flat_map(|(point, count)| std::iter::repeat_n(point.misses, *count));
        self.0.values().zip(levels).map(|(point, misses)| Point { misses, ..*point }).collect()
    }

    /// The curve up to `most` bytes, through a reading of now. A program never misses more than it
    /// looks for in the cache (`looks` per instruction, if that is counted), so one that finds
    /// nothing there now loses nothing with less space. If what it finds grows
    /// [in proportion](Extrapolation::in_proportion), it also never misses less than if it found as much
    /// per byte as in the largest space that is known.
    #[must_use]
    pub fn curve(&self, most: f64, now: (f64, f64), looks: Option<f64>, beyond: Extrapolation) -> (MissCurve, f64) {
        let step = most / f64::from(POINTS);
        let points = self.falling();
        // If lookups are counted, misses are fractions of them.
        let whole = if looks.is_some() { 0.0 } else { f64::INFINITY };
        let factor = along(&points, ln(now.0), beyond).map_or(1.0, |known| now.1 / exp(known.min(whole)));
        let ceiling = looks.map_or(f64::INFINITY, |looks| looks.max(now.1) / factor);
        // The largest space of which it is known what is found there.
        let last = points.last().map_or(now, |last| (exp(last.space), exp(last.misses) * factor));
        let last = if last.0 > now.0 { last } else { now };
        let floor = |space: f64| match looks.filter(|_| beyond.in_proportion).map(|looks| looks.max(last.1)) {
            Some(looks) if space > 1.01 * last.0 => (looks - (looks - last.1) * space / last.0).max(0.0) / factor,
            _ => 0.0,
        };
        let at = |k: u32| {
            let space = ln(step * f64::from(k));
            let misses = along(&points, space, beyond).unwrap_or_else(|| {
                let away = ln(now.0) - space;
                ln(now.1) + away * if away > 0.0 { beyond.less } else { beyond.more }
            });
            1000.0 * exp(misses.min(whole)).max(floor(step * f64::from(k))).min(ceiling)
        };
        let table: Vec<f64> = (1..=POINTS).map(at).collect();
        (MissCurve::measured(step / MIB, &table), factor)
    }
}

/// Logarithm of the misses at a logarithm of space: linear in space and misses between points, by
/// an elasticity beyond them. `None` without a point.
fn along(points: &[Point], space: f64, beyond: Extrapolation) -> Option<f64> {
    let mut below: Option<&Point> = None;
    for point in points {
        if point.space >= space {
            let Some(before) = below else { return Some(point.misses + beyond.less * (point.space - space)) };
            // Linear, because a working set that fits at last is missed nearly whole until it does.
            let [at, from, to] = [space, before.space, point.space].map(exp);
            let part = (at - from) / (to - from).max(1e-9);
            return Some(ln((1.0 - part) * exp(before.misses) + part * exp(point.misses)));
        }
        below = Some(point);
    }
    below.map(|point| point.misses - beyond.more * (space - point.space))
}

/// Programs that are evidence for each other: their name and their size.
pub type Kind = (Arc<str>, Size);

/// How much memory a program has, in steps of a factor of four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u32);

impl Size {
    /// The size for a number of pages, of a program that had this size before: a program that is
    /// about as large as then keeps its size.
    #[must_use]
    pub const fn now(self, pages: u64) -> Self {
        let digits = u64::BITS - pages.leading_zeros();
        if digits + 1 >= 2 * self.0 && digits <= 2 * self.0 + 2 { self } else { Self(digits / 2) }
    }
}

/// The curves of all kinds.
#[derive(Clone, Debug, Default)]
pub struct Curves(BTreeMap<Kind, Seen>);

impl Curves {
    /// The curve of a kind, to add readings to.
    pub fn of(&mut self, kind: &Kind) -> Option<&mut Seen> {
        if self.0.len() >= KINDS && !self.0.contains_key(kind) {
            return None;
        }
        Some(self.0.entry(kind.clone()).or_default())
    }

    /// The same, to read only.
    #[must_use]
    pub fn get(&self, kind: &Kind) -> Option<&Seen> {
        self.0.get(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_through_what_was_seen_and_on_by_elasticity() {
        let mut seen = Seen::default();
        for _ in 0..5 {
            seen.read(1.0 * MIB, 0.04);
            seen.read(4.0 * MIB, 0.03);
        }
        let (curve, factor) = seen.curve(16.0 * MIB, (4.0 * MIB, 0.03), None, Extrapolation::both(0.5));
        assert!((factor - 1.0).abs() < 1e-6);
        assert!((curve.misses(1.0 * MIB) / 0.04 - 1.0).abs() < 0.02);
        assert!((curve.misses(4.0 * MIB) / 0.03 - 1.0).abs() < 0.02);
        assert!((curve.misses(16.0 * MIB) / 0.015 - 1.0).abs() < 0.02, "{}", curve.misses(16.0 * MIB));
    }

    /// By its elasticity it would miss twice as much with a quarter of the space. But it makes 31
    /// lookups per thousand instructions, finds one of them now, and cannot miss more than all.
    #[test]
    fn misses_are_never_more_than_what_is_looked_for() {
        let with = |looks| {
            let mut seen = Seen::default();
            (0..5).for_each(|_| seen.read(4.0 * MIB, 0.028));
            let (curve, factor) = seen.curve(16.0 * MIB, (4.0 * MIB, 0.03), looks, Extrapolation::both(0.5));
            [1.0, 4.0].map(|mib| curve.misses(mib * MIB) * factor)
        };
        assert!((with(None)[0] / 0.06 - 1.0).abs() < 0.02);
        assert!((with(Some(0.031))[0] / 0.031 - 1.0).abs() < 1e-6 && (with(Some(0.031))[1] / 0.03 - 1.0).abs() < 0.02);
    }

    /// By its elasticity it would miss half as much with four times the space. But it finds one of
    /// 31 lookups per thousand instructions, so it can find 4 there. If a reading shows that a
    /// larger space is enough, that reading counts.
    #[test]
    fn of_much_memory_a_greater_space_finds_no_more_than_in_proportion() {
        let with = |read: &[(f64, f64)], it_is| {
            let mut seen = Seen::default();
            read.iter().for_each(|(mib, misses)| (0..5).for_each(|_| seen.read(mib * MIB, *misses)));
            let beyond = Extrapolation::both(0.5).in_proportion(it_is);
            let (curve, factor) = seen.curve(16.0 * MIB, (4.0 * MIB, 0.03), Some(0.031), beyond);
            curve.misses(16.0 * MIB) * factor
        };
        assert!((with(&[(4.0, 0.03)], false) / 0.015 - 1.0).abs() < 0.02);
        assert!((with(&[(4.0, 0.03)], true) / 0.027 - 1.0).abs() < 0.02);
        assert!((with(&[(4.0, 0.03), (16.0, 0.003)], true) / 0.003 - 1.0).abs() < 0.02);
        // In 8 MiB it found two, so that it finds four in 16.
        assert!((with(&[(4.0, 0.03), (8.0, 0.029)], true) / 0.027 - 1.0).abs() < 0.02);
    }

    /// In 160 KiB it found a hundredth of 210 lookups, and in the 130 KiB that it has now as much.
    /// With 160 KiB it finds no more than that in addition, though by its elasticity it would miss
    /// a twentieth less.
    #[test]
    fn with_less_space_it_never_found_less_than_nothing() {
        const KIB: f64 = 1024.0;
        let mut seen = Seen::default();
        (0..5).for_each(|_| seen.read(160.0 * KIB, 0.99));
        let now = (130.0 * KIB, 0.99 * 0.21);
        let (curve, factor) = seen.curve(512.0 * KIB, now, Some(0.21), Extrapolation::both(0.25).in_proportion(true));
        let found = |kib: f64| 1.0 - curve.misses(kib * KIB) * factor / 0.21;
        assert!((found(160.0) - 0.02).abs() < 2e-3 && (found(512.0) - 0.064).abs() < 2e-3, "{}", found(512.0));
    }

    /// With 120 KiB of a working set of 320 KiB a program misses all the time, with 400 KiB hardly
    /// ever. Both belong to one curve, linear between them, so that half way, with 256 (16 steps of
    /// 16), it misses 0.2 - 136 / 280 * 0.198 = 0.104. As few misses with less space than before
    /// are another program's.
    #[test]
    fn a_working_set_that_fits_at_last_is_the_same_curve() {
        const KIB: f64 = 1024.0;
        let mut seen = Seen::default();
        (0..5).for_each(|_| seen.read(120.0 * KIB, 0.2));
        (0..5).for_each(|_| seen.read(400.0 * KIB, 0.002));
        let (curve, _) = seen.curve(512.0 * KIB, (400.0 * KIB, 0.002), None, Extrapolation::both(0.0));
        assert!((curve.misses(112.0 * KIB) / 0.2 - 1.0).abs() < 0.01);
        assert!((curve.misses(416.0 * KIB) / 0.002 - 1.0).abs() < 0.01);
        assert!((curve.misses(256.0 * KIB) / 0.1038 - 1.0).abs() < 0.01, "{}", curve.misses(256.0 * KIB));
        (0..5).for_each(|_| seen.read(120.0 * KIB, 0.002));
        let (curve, _) = seen.curve(512.0 * KIB, (120.0 * KIB, 0.002), None, Extrapolation::both(0.0));
        assert!((curve.misses(112.0 * KIB) / 0.002 - 1.0).abs() < 0.01);
    }

    /// Of the readings at 1, 2 and 4 MiB, the second has more misses than the first: both count as
    /// a value between them.
    #[test]
    fn more_space_never_makes_more_misses() {
        let mut seen = Seen::default();
        for (mib, misses) in [(1.0, 0.02), (2.0, 0.028), (4.0, 0.01)] {
            (0..5).for_each(|_| seen.read(mib * MIB, misses));
        }
        let falling: Vec<f64> = seen.falling().iter().map(|point| exp(point.misses)).collect();
        let between = (0.02_f64 * 0.028).sqrt();
        assert!(falling.iter().zip([between, between, 0.01]).all(|(a, b)| (a / b - 1.0).abs() < 1e-6), "{falling:?}");
    }

    /// 16,575 and 203 pages are two kinds, 203 and 219 are one. A program that has grown from 203
    /// to 1,023 pages stays what it was, and one that has grown to 1,024 does not.
    #[test]
    fn programs_of_a_name_that_differ_in_size_are_two_kinds() {
        let of = |pages| Size::default().now(pages);
        assert!(of(16_575) != of(203) && of(203) == of(219) && of(0) == Size::default());
        assert!(of(203).now(1023) == of(203) && of(203).now(1024) != of(203));
        assert!(of(203).now(64) == of(203) && of(203).now(63) != of(203));
    }

    #[test]
    fn what_is_far_off_starts_it_anew() {
        let mut seen = Seen::default();
        (0..5).for_each(|_| seen.read(4.0 * MIB, 0.03));
        seen.read(4.0 * MIB, 0.003);
        let (curve, _) = seen.curve(16.0 * MIB, (4.0 * MIB, 0.003), None, Extrapolation::both(0.0));
        assert!((curve.misses(4.0 * MIB) / 0.003 - 1.0).abs() < 0.01);
    }
}
