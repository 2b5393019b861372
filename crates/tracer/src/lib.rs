//! Engines that trace the memory accesses of unmodified programs, behind one interface.
//!
//! ```text
//! engine      the seam: what an engine says of itself, and how it takes part in a traced run
//! qemu_user   every access, through QEMU's emulation of one program and our plugin in it
//! sampled     some accesses, by the CPU's own sampling, through perf events; samples: what becomes
//!             of them
//! program     what a command is: its file, its interpreter
//! finish      completes a trace when the program has ended: names, the end, what is missing
//! symbols     variables of programs and libraries, by address
//! allocations which code made the large allocations
//! lines       where in the source variables and code are
//! ```
//!
//! An engine turns a command into the command to run, and completes the file when that command has
//! ended. Starting the command and passing on signals is left to the caller. Another engine is a
//! file and a line in [`ENGINES`].

#![forbid(unsafe_code)]

mod allocations;
mod engine;
mod finish;
mod lines;
mod program;
mod qemu_user;
mod sampled;
mod samples;
mod symbols;

pub use engine::{Engine, Job, Refusal, Traced, TracerError};

/// All engines, in order of preference.
pub const ENGINES: &[&dyn Engine] = &[&qemu_user::QemuUser, &sampled::Sampled];

/// The engine of this name; `qemu` is accepted for qemu-user.
#[must_use]
pub fn engine(name: &str) -> Option<&'static dyn Engine> {
    let name = if name == "qemu" { "qemu-user" } else { name };
    ENGINES.iter().copied().find(|engine| engine.name() == name)
}
