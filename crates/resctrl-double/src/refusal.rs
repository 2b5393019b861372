//! A refusal: the errno that the caller gets and the text that `info/last_cmd_status` then shows.

use rustix::io::Errno;

/// What an operation on the file system gives: a value, or the kernel's errno.
pub type Answer<T> = Result<T, Errno>;

/// A refusal inside an operation, before its text has been put where `last_cmd_status` finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What the caller gets.
    pub errno: Errno,
    /// What is appended to the status, line break included; empty where the kernel says nothing.
    pub status: String,
}

impl Refusal {
    /// With words.
    pub fn new(errno: Errno, status: impl Into<String>) -> Self {
        Self { errno, status: format!("{}\n", status.into()) }
    }

    /// Without: the status then reads "ok", though the operation failed.
    #[must_use]
    pub fn silent(errno: Errno) -> Self {
        Self { errno, status: String::new() }
    }
}

/// `EINVAL` with words, by far the most frequent one.
pub fn invalid<T>(status: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(Errno::INVAL, status))
}
