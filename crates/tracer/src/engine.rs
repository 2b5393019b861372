//! The seam between what traces programs and who wants a trace.

use isobar_pages::trace::{End, Header, TraceError};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// What shall be traced.
#[derive(Clone, Debug)]
pub struct Job {
    /// The trace file.
    pub file: PathBuf,
    /// Length of a time slice.
    pub slice: Duration,
    /// Whether code that makes large allocations is named; costs the program some accesses more.
    pub names: bool,
    /// The command and its arguments; at least one word.
    pub command: Vec<OsString>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// How the file begins.
    pub header: Header,
    /// How it ends.
    pub end: End,
    /// Threads that ran.
    pub threads: u64,
    /// Slices in which anything was accessed.
    pub slices: u64,
    /// Pages that were accessed.
    pub pages: u64,
    /// Loads and stores.
    pub accesses: u128,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Why an engine cannot trace here, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}: {remedy}")]
pub struct Refusal {
    /// What is missing.
    pub why: String,
    /// What to type.
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
    /// The trace could not be written, or not be read again.
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
    /// What to start: by the thread that prepared the run.
    fn command(&mut self) -> &mut Command;

    /// Called some times a second while it runs: for engines that must fetch what they see.
    fn step(&mut self) {}

    /// Completes the file, when what was started has ended.
    ///
    /// # Errors
    /// A trace that could not be written; it is readable up to there.
    fn finish(self: Box<Self>, status: ExitStatus, ran: Duration) -> Result<Traced, TracerError>;
}

/// What traces programs.
pub trait Engine: Sync {
    /// Its name on command lines.
    fn name(&self) -> &'static str;

    /// What it sees and what it costs, for people.
    fn about(&self) -> &'static str;

    /// Whether it sees only some of the accesses.
    fn samples(&self) -> bool;

    /// Prepares a traced run: nothing runs yet.
    ///
    /// # Errors
    /// [`TracerError::Refused`] where it cannot work here, and commands that it cannot trace.
    fn prepare(&self, job: &Job) -> Result<Box<dyn Tracing>, TracerError>;
}
