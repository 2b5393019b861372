//! The interface between the engines that trace programs and their callers.

use isobar_pages::trace::{End, Header, TraceError};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// What to trace.
#[derive(Clone, Debug)]
pub struct Job {
    /// The trace file.
    pub file: PathBuf,
    /// Length of a time slice.
    pub slice: Duration,
    /// Whether to name the code that makes large allocations; costs the program some more accesses.
    pub names: bool,
    /// The command and its arguments; at least one word.
    pub command: Vec<OsString>,
}

/// The result of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The header of the file.
    pub header: Header,
    /// The end of the file.
    pub end: End,
    /// Number of threads that ran.
    pub threads: u64,
    /// Number of slices with accesses.
    pub slices: u64,
    /// Number of pages that were accessed.
    pub pages: u64,
    /// Number of loads and stores.
    pub accesses: u128,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// Why an engine cannot trace here, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}: {remedy}")]
pub struct Refusal {
    /// What is missing.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum TracerError {
    /// The engine cannot work here.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The command cannot be traced.
    #[error("{command}: {why}")]
    Command {
        /// its first word
        command: String,
        /// what is wrong with it
        why: String,
    },
    /// The trace could not be written, or could not be read back.
    #[error("{}: {source}", file.display())]
    File {
        /// the trace file
        file: PathBuf,
        /// why
        source: TraceError,
    },
    /// The engine gave up while the program ran.
    #[error("{0}")]
    Failed(String),
}

impl TracerError {
    pub(crate) fn file(job: &Job, source: impl Into<TraceError>) -> Self {
        Self::File { file: job.file.clone(), source: source.into() }
    }

    pub(crate) fn command(job: &Job, why: impl Into<String>) -> Self {
        let command = job.command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        Self::Command { command, why: why.into() }
    }

    pub(crate) fn io(job: &Job, error: &io::Error) -> Self {
        Self::command(job, error.to_string())
    }
}

/// A run that is being traced.
pub trait Tracing {
    /// The command to start, by the thread that prepared the run.
    fn command(&mut self) -> &mut Command;

    /// Called some times a second while the command runs, for engines that must fetch what they
    /// see.
    fn step(&mut self) {}

    /// Completes the file when the command has ended.
    ///
    /// # Errors
    /// A trace that could not be written completely; it is readable up to that point.
    fn finish(self: Box<Self>, status: ExitStatus, ran: Duration) -> Result<Traced, TracerError>;
}

/// A way to trace programs.
pub trait Engine: Sync {
    /// Its name on command lines.
    fn name(&self) -> &'static str;

    /// What the engine sees and what it costs, for people.
    fn about(&self) -> &'static str;

    /// Whether the engine sees only some of the accesses.
    fn samples(&self) -> bool;

    /// Prepares a traced run. Nothing is started yet.
    ///
    /// # Errors
    /// [`TracerError::Refused`] if the engine cannot work here, and commands that it cannot trace.
    fn prepare(&self, job: &Job) -> Result<Box<dyn Tracing>, TracerError>;
}
