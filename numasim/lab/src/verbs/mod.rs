//! One file a verb. Each returns its exit code.

pub mod boot;
mod campaign;
pub mod doctor;
pub mod experiment;
pub mod kernels;
pub mod laws;
pub mod machine;

pub mod merge;
mod origin;
mod progress;

use crate::args::ScaleArgs;
use numasim_lab::LabError;
use numasim_lab::experiment::Scale;
use std::io::Write;
use std::path::Path;

impl From<ScaleArgs> for Scale {
    fn from(args: ScaleArgs) -> Self {
        Self { time: args.time_scale, cache: args.cache_scale, node_mib: args.node_mib }
    }
}

/// Writes to standard output; a reader that has gone away is no failure.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Writes figures by name into a folder, which is made.
fn figures(folder: &Path, figures: &[(String, String)]) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(|error| LabError::io(folder, error))?;
    for (name, svg) in figures {
        let path = folder.join(name);
        std::fs::write(&path, svg).map_err(|error| LabError::io(&path, error))?;
    }
    Ok(())
}
