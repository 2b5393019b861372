//! A slice of the axis, and the five figures of a set of clusters in it; slice.rs explains their
//! use.

/// A part of the axis, including both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slice {
    pub from: f64,
    pub to: f64,
}

/// Five figures of a set of clusters: those of one solution, or the best value of each over many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    /// Lower bound of the greatest slowdown.
    pub slowest: f64,
    /// Upper bound of the least slowdown.
    pub fastest: f64,
    /// Load as seen from the slice's lower end.
    pub heavy: f64,
    /// Load as seen from the slice's upper end.
    pub light: f64,
    /// Upper bound of the throughput.
    pub stp: f64,
}

impl Figure {
    /// No clusters.
    pub const NONE: Self = Self { slowest: 0.0, fastest: f64::INFINITY, heavy: 0.0, light: 0.0, stp: 0.0 };
    /// The figures of an impossible set.
    pub const NEVER: Self = Self {
        slowest: f64::INFINITY,
        fastest: 0.0,
        heavy: f64::NEG_INFINITY,
        light: f64::INFINITY,
        stp: f64::NEG_INFINITY,
    };

    /// The figures of both sets together.
    #[inline]
    pub fn and(self, other: Self) -> Self {
        Self {
            slowest: if self.slowest > other.slowest { self.slowest } else { other.slowest },
            fastest: if self.fastest < other.fastest { self.fastest } else { other.fastest },
            heavy: self.heavy + other.heavy,
            light: self.light + other.light,
            stp: self.stp + other.stp,
        }
    }

    /// The best of each figure over both alternatives.
    #[inline]
    pub fn or(self, other: Self) -> Self {
        Self {
            slowest: if self.slowest < other.slowest { self.slowest } else { other.slowest },
            fastest: if self.fastest > other.fastest { self.fastest } else { other.fastest },
            heavy: if self.heavy > other.heavy { self.heavy } else { other.heavy },
            light: if self.light < other.light { self.light } else { other.light },
            stp: if self.stp > other.stp { self.stp } else { other.stp },
        }
    }

    /// Whether the set is possible at all.
    #[inline]
    pub fn can_be(self) -> bool {
        self.slowest < f64::INFINITY
    }

    /// A lower bound: no solution with these figures is fairer.
    #[inline]
    pub fn ratio(self) -> f64 {
        self.slowest / self.fastest
    }
}
