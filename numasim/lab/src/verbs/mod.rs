//! One file a verb. Each returns its exit code.

pub mod boot;
pub mod doctor;
pub mod experiment;
pub mod laws;
pub mod machine;
mod progress;

use crate::args::ScaleArgs;
use numasim_lab::experiment::Scale;
use std::io::Write;

impl From<ScaleArgs> for Scale {
    fn from(args: ScaleArgs) -> Self {
        Self { time: args.time_scale, cache: args.cache_scale, node_mib: args.node_mib }
    }
}

/// Writes to standard output; a reader that has gone away is no failure.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
