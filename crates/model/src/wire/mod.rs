//! The JSON contract: documents for observations, plans and machines, and their checked conversion
//! to and from the model.
//!
//! Unknown keys are refused, so that a misspelt key is reported rather than ignored. `null` and an
//! absent key both mean "not measured". Sizes are bytes, rates bytes per second, times seconds,
//! latencies nanoseconds.

mod machine;
mod observation;
mod plan;

pub use machine::{MachineDoc, machine_to_doc};
pub use observation::{observation_from_json, observation_to_json};
pub use plan::{plan_from_json, plan_to_json};

use crate::text::one_line;
use crate::topology::TopologyError;
use serde::{Deserialize, Deserializer, de};

/// Why a document was refused. The message is one line and names the key.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// not JSON of this shape
    #[error("{path}: {message}")]
    Shape {
        /// the key, as `processes[0].threads[1].cpu`
        path: String,
        /// what is wrong, with line and column
        message: String,
    },
    /// the parts do not make a machine
    #[error("machine: {0}")]
    Machine(#[from] TopologyError),
    /// a value that contradicts another
    #[error("{path}: {message}")]
    Value {
        /// the key
        path: String,
        /// what is wrong and what would be right
        message: String,
    },
}

impl WireError {
    fn value(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Value { path: one_line(&path.into()), message: one_line(&message.into()) }
    }

    /// Unknown keys appear in paths and messages as they were written.
    fn shape(path: &str, message: &serde_json::Error) -> Self {
        Self::Shape { path: one_line(path), message: one_line(&message.to_string()) }
    }
}

/// Reads one JSON document; the error names the key.
fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, WireError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let document = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        WireError::shape(if path == "." { "document" } else { &path }, error.inner())
    })?;
    reader.end().map_err(|error| WireError::shape("document", &error))?;
    Ok(document)
}

/// A count: a non-negative number, whole or not (it is rounded), or `null`.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct Visitor;
    impl de::Visitor<'_> for Visitor {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a count that is not negative, or null")
        }

        fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
            Ok(Some(value))
        }

        fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
            u64::try_from(value).map(Some).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
        }

        fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
            let usable = value.is_finite() && value >= 0.0;
            let wrong = || E::invalid_value(de::Unexpected::Float(value), &self);
            if usable { Ok(Some(crate::num::round(value))) } else { Err(wrong()) }
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(Visitor)
}

/// An optional figure that must be finite and not negative.
fn figure(path: impl Into<String>, value: Option<f64>) -> Result<Option<f64>, WireError> {
    match value {
        Some(value) if !value.is_finite() || value < 0.0 => Err(WireError::value(
            path,
            format!("{value} is no measurement: expected a number that is not negative, or null"),
        )),
        other => Ok(other),
    }
}
