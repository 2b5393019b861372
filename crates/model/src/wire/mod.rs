//! The JSON contract: documents for observations, plans and machines, and their checked conversion
//! to and from the model.
//!
//! Unknown keys are refused, so that a misspelt key is reported rather than ignored. `null` and an
//! absent key both mean "not measured". Sizes are in bytes, rates in bytes per second, times in
//! seconds, latencies in nanoseconds.

mod machine;
mod observation;
mod plan;

pub use machine::{MachineDoc, machine_to_doc};
pub use observation::{observation_from_json, observation_to_json};
pub use plan::{plan_from_json, plan_to_json};

use crate::text::one_line;
use crate::topology::TopologyError;
use serde::Deserialize;

/// Why a document was refused. The message is one line and names the key.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// the parts do not make a machine
    #[error("machine: {0}")]
    Machine(#[from] TopologyError),
    /// not JSON of this shape, or a value that cannot be
    #[error("{path}: {message}")]
    Value {
        /// the key, as `processes[0].threads[1].cpu`
        path: String,
        /// what is wrong, where, and what would be right
        message: String,
    },
}

impl WireError {
    /// An error about one value. Unknown keys appear in paths and messages as they were written.
    fn value(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Value { path: one_line(&path.into()), message: one_line(&message.into()) }
    }
}

/// Reads one JSON document; the error names the key.
fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, WireError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let document = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        WireError::value(if path == "." { "document" } else { &path }, error.inner().to_string())
    })?;
    reader.end().map_err(|error| WireError::value("document", error.to_string()))?;
    Ok(document)
}
