//! Units as types. Each type holds one number in one unit. Constructors in this crate keep the
//! numbers finite, and a number that is read from a document is checked to be a possible
//! measurement.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident($inner:ty), $suffix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64")]
        pub struct $name(pub $inner);

        impl TryFrom<f64> for $name {
            type Error = String;

            fn try_from(value: f64) -> Result<Self, String> {
                measured(value).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)?;
                f.write_str($suffix)
            }
        }
    };
}

unit!(
    /// LLC misses per 1000 instructions, prefetches included (DINO, section 3.1).
    Mpki(f64), " MPKI"
);
unit!(
    /// Bytes per second.
    Bandwidth(f64), " B/s"
);
unit!(
    /// Nanoseconds, for memory latencies.
    Nanoseconds(f64), " ns"
);
unit!(
    /// Seconds; as a point in time, seconds since the machine was opened.
    Seconds(f64), " s"
);

unit!(
    /// A figure without a unit, as it is read from a document.
    Figure(f64), ""
);

/// A figure that can have been measured: finite and not negative.
fn measured(value: f64) -> Result<f64, String> {
    let wrong = || format!("{value} is not a measurement: expected a number that is not negative, or null");
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(wrong()) }
}

macro_rules! count {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

count!(
    /// Bytes.
    Bytes(u64)
);
count!(
    /// Pages of the machine's base size (4096 bytes on x86-64). A huge page counts as the base
    /// pages it covers.
    Pages(u64)
);
count!(
    /// LLC allocation as a number of ways.
    Ways(u32)
);

impl Bytes {
    /// The size in binary units for people: `512 MiB`, `15.6 GiB`.
    #[must_use]
    pub fn human(self) -> String {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut value = crate::num::float(self.0);
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        let rounded = (value * 10.0).round() / 10.0;
        if rounded.fract() == 0.0 {
            format!("{rounded:.0} {}", UNITS[unit])
        } else {
            format!("{rounded:.1} {}", UNITS[unit])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn human_sizes_drop_a_zero_fraction() {
        assert_eq!(Bytes(512 << 20).human(), "512 MiB");
        assert_eq!(Bytes((15 << 30) + (600 << 20)).human(), "15.6 GiB");
        assert_eq!(Bytes(100).human(), "100 B");
    }
}
