//! One file per verb. Each returns its exit code.

pub mod boot;
mod campaign;
pub mod doctor;
pub mod experiment;
pub mod kernels;
pub mod laws;
pub mod machine;
mod own;

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

/// Writes to standard output. It is no error if the reader has gone away.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Writes figures under their names into a folder, which is created if it is missing.
fn figures(folder: &Path, figures: &[(String, String)]) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(|error| LabError::io(folder, error))?;
    for (name, svg) in figures {
        let path = folder.join(name);
        std::fs::write(&path, svg).map_err(|error| LabError::io(&path, error))?;
    }
    Ok(())
}
