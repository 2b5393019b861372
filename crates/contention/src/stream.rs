//! One stream of LLC misses (a thread, or a page copy) as the solver sees it: how many bytes per
//! second it misses, and how much of a cache it holds, if a miss stalls it for `S` seconds and a
//! line stays in its cache for `T` seconds.
//!
//! ```text
//! Y(x) = compute / misses(x)      computing seconds between misses, x bytes held; increasing
//! b    = bytes / (Y(x) + S)       bytes missed a second; bytes = 64 * share of the core
//! x    = T b, at most F           what is inserted stays T seconds; at most the footprint F:
//! x k(x) = T b                    with k(x) = (1 - (x/F)^4)^(-1/4), bent where min(T b, F) is
//! ```
//!
//! So `x k(x) (Y(x) + S) = bytes T`. The left side increases, so there is one root. `x` increases
//! with `T` and decreases with `S`; `b` decreases with both.

use crate::curve::MissCurve;
use crate::root::{DOUBLED, guessed_root};

/// Relative accuracy of the space held.
const SPACE: f64 = 1e-13;
/// At most one miss in 10^12 instructions counts as none. This keeps a curve that falls to 0
/// finite.
const FEWEST: f64 = 1e-12;

/// If this many times the footprint is wanted, the footprint counts as held whole, which by the law
/// above is true to one part in 10^13.
const WHOLE: f64 = 1e3;

/// Below this fraction of a footprint the fourth power is beyond the digits of a float.
const UNFELT: f64 = 1e-4;

/// The properties of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// Bytes per second that it would miss if a miss took a second.
    pub bytes: f64,
    /// Seconds of computing per unit of work (an instruction; a page).
    pub compute: f64,
    /// Misses per unit of work.
    pub misses: Misses,
    /// Seconds that a miss stalls it on an idle machine.
    pub stall: f64,
    /// The resources that a miss passes.
    pub visits: Vec<Visit>,
    /// Maximum number of bytes that it can hold.
    pub limit: f64,
    /// The parts of its LLC into which it inserts, and the fraction of its insertions that goes to
    /// each. If there are none, it does not use the caches.
    pub shares: Vec<(usize, f64)>,
}

/// Misses per unit of work.
#[derive(Clone, Debug)]
pub(crate) enum Misses {
    /// By the space held, in addition to the `private` bytes of the core; `most` are the misses
    /// without any of the LLC.
    Curve { curve: MissCurve, factor: f64, reach: f64, private: f64, most: f64 },
    /// Always the same number.
    Fixed(f64),
}

/// A resource that a miss passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    /// Position among the resources.
    pub resource: usize,
    /// Lines that pass it for each miss.
    pub lines: f64,
    /// Seconds that a miss stalls for each second of wait there.
    pub stall: f64,
}

/// What a stream achieves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    /// Bytes held.
    pub space: f64,
    /// Bytes missed per second.
    pub bytes: f64,
    /// Seconds between two misses, `Y + S`.
    pub period: f64,
    /// `Y'`.
    pub slope: f64,
    /// How the space grows with the stall, in bytes per second.
    pub by_stall: f64,
    /// How the space grows with the residence time, in bytes per second.
    pub by_stay: f64,
    /// The stall and the residence time for which it was found.
    found_for: (f64, f64),
}

impl Flow {
    /// A first guess: only the bytes held are known.
    pub fn holding(space: f64) -> Self {
        Self { space, ..Self::default() }
    }

    /// The space at another stall and residence time, to first order.
    pub fn guess(&self, stall: f64, stay: f64) -> f64 {
        self.space + self.by_stall * (stall - self.found_for.0) + self.by_stay * (stay - self.found_for.1)
    }
}

impl Stream {
    /// `Y` and its slope.
    pub fn computing(&self, space: f64) -> (f64, f64) {
        let (misses, slope) = self.misses_and_slope(space);
        if misses <= FEWEST {
            return (self.compute / FEWEST, 0.0);
        }
        let between = self.compute / misses;
        (between, -between * slope / misses)
    }

    fn misses_and_slope(&self, space: f64) -> (f64, f64) {
        match &self.misses {
            Misses::Curve { curve, factor, reach, private, .. } => {
                let (misses, slope) = curve.misses_and_slope(private + space * reach);
                (misses * factor, slope * factor * reach)
            }
            Misses::Fixed(misses) => (*misses, 0.0),
        }
    }

    /// Misses per unit of work while it holds `space` bytes.
    pub fn misses(&self, space: f64) -> f64 {
        self.misses_and_slope(space).0
    }

    /// Seconds that a miss stalls at given waits.
    pub fn stalled(&self, waits: &[f64]) -> f64 {
        self.stall + self.visits.iter().map(|visit| visit.stall * waits[visit.resource]).sum::<f64>()
    }

    /// Bytes per second that it inserts at given waits while it holds `space` bytes.
    pub fn inserted(&self, space: f64, waits: &[f64]) -> f64 {
        self.bytes / (self.computing(space).0 + self.stalled(waits))
    }

    /// What it achieves if a miss stalls for `stall` seconds and a line stays for `stay` seconds;
    /// `guess` is the space that is tried first.
    pub fn flow(&self, stall: f64, stay: f64, guess: f64) -> Flow {
        self.flow_near(stall, stay, guess, DOUBLED)
    }

    /// The same, to the accuracy that `last_step` gives the space held (see [`guessed_root`]).
    pub fn flow_near(&self, stall: f64, stay: f64, guess: f64, last_step: f64) -> Flow {
        if self.bytes <= 0.0 || self.is_idle() {
            return Flow::default();
        }
        if self.shares.is_empty() {
            let period = self.computing(0.0).0 + stall;
            return Flow { period, bytes: self.bytes / period, ..Flow::default() };
        }
        let wanted = self.bytes * stay;
        if WHOLE * self.limit * stall <= wanted {
            let (between, slope) = self.computing(self.limit);
            let period = between + stall;
            if WHOLE * self.limit * period <= wanted {
                let bytes = self.bytes / period;
                return Flow { space: self.limit, bytes, period, slope, ..Flow::default() };
            }
        }
        // The slopes are those of the last point but one. That is near enough, because they only
        // direct the next step.
        let (mut rise, mut slope) = (0.0, 0.0);
        let space = guessed_root((0.0, self.limit), guess, SPACE, last_step, |space| {
            let claim;
            (claim, rise, slope) = self.claim(space, stall);
            (claim - wanted, rise)
        });
        let period = self.computing(space).0 + stall;
        let by_stall = -wanted / (period * rise);
        let by_stay = self.bytes / rise;
        Flow { space, bytes: self.bytes / period, period, slope, by_stall, by_stay, found_for: (stall, stay) }
    }

    /// Whether it never misses.
    fn is_idle(&self) -> bool {
        match &self.misses {
            Misses::Curve { factor, most, .. } => factor * most <= FEWEST,
            Misses::Fixed(misses) => *misses <= FEWEST,
        }
    }

    /// `x k(x) (Y(x) + S)`, its slope, and `Y'`.
    fn claim(&self, space: f64, stall: f64) -> (f64, f64, f64) {
        let (between, slope) = self.computing(space);
        let (crowd, rise) = self.crowding(space);
        let period = between + stall;
        (space * crowd * period, (crowd + space * rise) * period + space * crowd * slope, slope)
    }

    /// `k(x)` and its slope.
    fn crowding(&self, space: f64) -> (f64, f64) {
        let part = space / self.limit;
        if part < UNFELT {
            return (1.0, 0.0);
        }
        let cube = part * part * part;
        let free = 1.0 - cube * part;
        let crowd = 1.0 / free.sqrt().sqrt();
        (crowd, crowd * cube / (free * self.limit))
    }

    /// Units of work per second, and misses per unit of work, for a flow that it achieved with a
    /// `share` of the core.
    pub fn progress(&self, flow: &Flow, share: f64) -> (f64, f64) {
        let misses = self.misses(flow.space);
        if flow.period <= 0.0 {
            return (share / self.compute, misses);
        }
        (share / (misses * flow.period), misses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(limit: f64) -> Stream {
        let curve = MissCurve::parametric(2.0, 30.0, 1.0);
        let misses = Misses::Curve { curve, factor: 1.5, reach: 1.2, private: 1e5, most: 0.032 };
        Stream { bytes: 64.0, compute: 4e-10, misses, stall: 0.0, visits: vec![], limit, shares: vec![(0, 1.0)] }
    }

    #[test]
    fn what_is_held_is_what_stays_up_to_the_footprint() {
        let small = stream(1e9).flow(30e-9, 1e-4, 0.0);
        assert!((small.space / (1e-4 * small.bytes) - 1.0).abs() < 1e-9, "{small:?}");
        // Twice the footprint is wanted: 2 / (1 + 2^4)^(1/4) = 0.985 of the footprint is held.
        let one = stream(1e5);
        let stay = 2e5 / one.flow(30e-9, 1e9, 0.0).bytes;
        let twice = one.flow(30e-9, stay, 0.0);
        assert!((twice.space / 1e5 - 0.985).abs() < 1e-3, "{twice:?}");
        assert_eq!(one.flow(30e-9, 1e3, 0.0).space, 1e5);
    }

    /// Near the footprint the claim rises so steeply that Newton's steps are short far from the
    /// root, too.
    #[test]
    fn no_guess_changes_what_is_held() {
        let one = stream(1e5);
        let whole = 1e5 / one.flow(30e-9, 1e9, 0.0).bytes;
        for wanted in [0.01, 0.5, 1.0, 2.0, 10.0, 900.0] {
            let space = one.flow(30e-9, wanted * whole, 0.0).space;
            for short in [1.0, 0.5, 1e-2, 1e-5, 1e-8, 3e-9, 1e-9, 1e-12, 0.0] {
                let from = one.flow(30e-9, wanted * whole, 1e5 * (1.0 - short)).space;
                assert!((from / space - 1.0).abs() < 1e-12, "{wanted} from {short}: {from}, not {space}");
                let near = one.flow_near(30e-9, wanted * whole, 1e5 * (1.0 - short), 1e-4).space;
                assert!((near / space - 1.0).abs() < 1e-7, "{wanted} from {short}: near {near}, not {space}");
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_the_flow() {
        for (limit, stay) in [(1e9, 1e-3), (1e6, 1e-3), (1e6, 3e-4)] {
            let one = stream(limit);
            let at = one.flow(40e-9, stay, 0.0);
            let stalled = one.flow(40e-9 * (1.0 + 1e-5), stay, 0.0);
            let stayed = one.flow(40e-9, stay * (1.0 + 1e-5), 0.0);
            assert!(((stalled.space - at.space) / (40e-14 * at.by_stall) - 1.0).abs() < 1e-3, "{at:?} {stalled:?}");
            assert!(((stayed.space - at.space) / (stay * 1e-5 * at.by_stay) - 1.0).abs() < 1e-3, "{at:?} {stayed:?}");
        }
    }
}
