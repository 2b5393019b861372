//! Errors of the sensors as a whole. A sensor that is missing, a thread that ended, or a file that
//! may not be read is not an error here: these are ordinary, and are reported in
//! [`isobar_model::Capabilities`].

use std::io;

/// Why the sensors cannot be opened or read at all.
#[derive(Debug, thiserror::Error)]
pub enum SensorError {
    /// `/proc` is not there or may not be read
    #[error("cannot read /proc: {source}; isobar needs procfs mounted there")]
    Proc {
        /// what the kernel said
        source: io::Error,
    },
}
