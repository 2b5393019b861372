//! A miss curve as written in TOML, `{ streaming, reuse, half_mib }` or `{ way_mib, by_ways }`, and
//! the checks of its values.

use crate::error::{SimError, within};
use crate::machine::positive;
use isobar_contention::MissCurve;
use serde::{Deserialize, Deserializer};

/// Above the number of ways of any cache; bounds what a file can request.
const MOST_WAYS: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    streaming: Option<f64>,
    reuse: Option<f64>,
    half_mib: Option<f64>,
    way_mib: Option<f64>,
    by_ways: Option<Vec<f64>>,
}

pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<MissCurve, D::Error> {
    match Written::deserialize(from)? {
        Written { streaming: Some(a), reuse: Some(b), half_mib: Some(h), way_mib: None, by_ways: None } => {
            Ok(MissCurve::parametric(a, b, h))
        }
        Written { streaming: None, reuse: None, half_mib: None, way_mib: Some(mib), by_ways: Some(ways) } => {
            Ok(MissCurve::measured(mib, &ways))
        }
        _ => Err(serde::de::Error::custom(
            "a miss curve is either `streaming`, `reuse` and `half_mib`, or `way_mib` and `by_ways`",
        )),
    }
}

pub(super) fn validate(curve: &MissCurve, file: &str, key: &str) -> Result<(), SimError> {
    let rate = |field: &str, value| at_least(file, &format!("{key}.{field}"), value, 0.0);
    match curve {
        MissCurve::Parametric(curve) => {
            positive(file, &format!("{key}.half_mib"), curve.half_mib)?;
            rate("streaming", curve.streaming)?;
            rate("reuse", curve.reuse)
        }
        MissCurve::Measured(curve) => {
            positive(file, &format!("{key}.way_mib"), curve.way_mib())?;
            let ways = curve.by_ways().len();
            if ways == 0 || ways > MOST_WAYS {
                let problem = format!("has {ways} values; list one for each way, 1 to {MOST_WAYS}");
                return Err(SimError::value(file, &format!("{key}.by_ways"), problem));
            }
            curve.by_ways().iter().try_for_each(|value| rate("by_ways", *value))
        }
    }
}

/// No rate or ratio of a program is above this.
const MOST: f64 = 1e5;

pub(super) fn at_least(file: &str, key: &str, value: f64, least: f64) -> Result<(), SimError> {
    within(file, key, value, least..=MOST)
}
