//! The kinds of estimates in machines and programs. Each estimate has a low and a high end, so that
//! a result can be computed again at either end. This file knows only the kinds. The ends stand
//! beside the values in the files, and machines and programs apply an assumption themselves.

/// A kind of estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Estimate {
    /// The bandwidth that memory controllers sustain (`node.sustained_range` of a machine).
    NodeRate,
    /// The bandwidth that links sustain (`link.sustained_range` of a machine).
    LinkRate,
    /// Lines that prefetchers fetch in addition to each miss (`prefetch_range` of a program).
    Prefetch,
}

/// An end of the range of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The lowest plausible value.
    Low,
    /// The highest plausible value.
    High,
}

impl Estimate {
    /// Every kind, in order.
    pub const ALL: [Self; 3] = [Self::NodeRate, Self::LinkRate, Self::Prefetch];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NodeRate => "sustained node rate",
            Self::LinkRate => "sustained link rate",
            Self::Prefetch => "prefetch ratio",
        }
    }
}

impl End {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::Low, Self::High];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }

    /// This end of a range; the value itself if there is no range.
    #[must_use]
    pub fn of(self, range: Option<[f64; 2]>, value: f64) -> f64 {
        match (self, range) {
            (_, None) => value,
            (Self::Low, Some([low, _])) => low,
            (Self::High, Some([_, high])) => high,
        }
    }
}
