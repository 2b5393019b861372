//! One file a verb. Each returns its exit code.

pub mod boot;
pub mod doctor;
pub mod experiment;
pub mod laws;
pub mod machine;
mod progress;
pub mod xval;

use crate::args::ScaleArgs;
use numasim_lab::LabError;
use numasim_lab::experiment::Scale;
use numasim_model::Spec;
use std::io::Write;

/// A machine by name, scaled, or from a file that ends in `.toml`, as it is.
fn spec(machine: &str, scale: Scale) -> Result<Spec, LabError> {
    if !machine.ends_with(".toml") {
        return numasim_lab::machine::scaled(machine, scale);
    }
    let path = std::path::Path::new(machine);
    let text = std::fs::read_to_string(path).map_err(|error| LabError::input(machine, error.to_string()))?;
    Spec::parse(&text, machine).map_err(|error| LabError::input("machine", error.to_string()))
}

impl From<ScaleArgs> for Scale {
    fn from(args: ScaleArgs) -> Self {
        Self { time: args.time_scale, cache: args.cache_scale, node_mib: args.node_mib }
    }
}

/// Writes to standard output; a reader that has gone away is no failure.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
