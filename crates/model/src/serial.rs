//! Single values in the form of the JSON contract, for types that serde would write differently. It
//! knows no documents.

use crate::num;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Describes a valid count in errors.
const COUNT: &str = "a count that is not negative, or null";

/// A count: a non-negative number, whole or not (it is rounded), or `null`.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        Value::Number(number) => number,
        Value::String(text) => return Err(D::Error::invalid_type(Unexpected::Str(&text), &COUNT)),
        Value::Bool(flag) => return Err(D::Error::invalid_type(Unexpected::Bool(flag), &COUNT)),
        Value::Array(_) => return Err(D::Error::invalid_type(Unexpected::Seq, &COUNT)),
        Value::Object(_) => return Err(D::Error::invalid_type(Unexpected::Map, &COUNT)),
    };
    let value = number.as_f64().unwrap_or(f64::NAN);
    let found = number.as_i64().map_or(Unexpected::Float(value), Unexpected::Signed);
    let rounded = (value >= 0.0).then(|| num::round(value));
    number.as_u64().or(rounded).ok_or_else(|| D::Error::invalid_value(found, &COUNT)).map(Some)
}

/// A mask in hexadecimal, as `0x7ff`.
pub(crate) mod mask {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(mask: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{mask:#x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = |_| D::Error::custom(format!("`{text}` is no mask: expected hexadecimal such as `0x7ff`"));
        u64::from_str_radix(text.strip_prefix("0x").unwrap_or(&text), 16).map_err(wrong)
    }
}

/// Pages by reason, as an object. Reasons ascend.
pub(crate) mod reasons {
    use crate::units::Pages;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::collections::BTreeMap;

    pub fn serialize<S: Serializer>(reasons: &[(String, Pages)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(reasons.iter().map(|(why, pages)| (why, pages)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Pages)>, D::Error> {
        Ok(BTreeMap::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<u64>, String> {
        count(&mut serde_json::Deserializer::from_str(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn counts_are_numbers_and_what_else_is_found_is_named() {
        assert_eq!((read("7"), read("2.6"), read("null")), (Ok(Some(7)), Ok(Some(3)), Ok(None)));
        let message = |text| read(text).unwrap_err();
        assert_eq!(message("\"7\""), "invalid type: string \"7\", expected a count that is not negative, or null");
        assert!(message("-1").starts_with("invalid value: integer `-1`, expected a count"));
        assert!(message("true").starts_with("invalid type: boolean `true`"));
        assert!(message("[1]").starts_with("invalid type: sequence") && message("{}").starts_with("invalid type: map"));
    }
}
