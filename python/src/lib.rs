//! The native half of the Python package `isobar_numa`: the crates of isobar answer requests from
//! Python.
//!
//! It passes on JSON text and plain columns and knows nothing of data frames, which
//! `lib/isobar_numa/frames.py` makes with pandas and polars. Long computations run without Python's
//! lock, on a thread of their own, while the calling thread handles signals (`apart.rs`).
//!
//! - `error.rs`: isobar's one-line errors as Python exceptions. `files.rs`: named files.
//! - `apart.rs`: long work, which Ctrl-C ends.
//! - `decider.rs`: a Python object as a policy. `simulate.rs`, `study.rs`, `pages.rs`,
//!   `recording.rs`: the functions.

#![forbid(unsafe_code)]

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
