//! The native half of the Python package `isobar_numa`: what is asked in Python, answered by the
//! crates of isobar.
//!
//! It hands JSON text and plain columns over and knows nothing of frames: pandas and polars are
//! the business of `lib/isobar_numa/frames.py`. Whatever computes for long does so without Python's
//! lock, on a thread of its own, while the calling thread looks after signals (`apart.rs`).
//!
//! - `error.rs`: isobar's one line as a Python exception. `files.rs`: files that are named.
//! - `apart.rs`: long work, which Ctrl-C ends.
//! - `decider.rs`: a Python object as a policy. `simulate.rs`, `study.rs`, `pages.rs`,
//!   `recording.rs`: the functions.

mod apart;
mod decider;
mod error;
mod files;
mod pages;
mod recording;
mod simulate;
mod study;

use pyo3::prelude::*;

/// The native half of `isobar_numa`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::error::PolicyError;
    #[pymodule_export]
    use super::pages::pages;
    #[pymodule_export]
    use super::recording::Recording;
    #[pymodule_export]
    use super::simulate::{policies, simulate};
    #[pymodule_export]
    use super::study::study;
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
