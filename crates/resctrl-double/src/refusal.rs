//! A refusal: the errno that the caller gets and the text that `info/last_cmd_status` then shows.

use rustix::io::Errno;

/// The result of an operation on the file system: a value, or the kernel's errno.
pub type Answer<T> = Result<T, Errno>;

/// A refusal inside an operation, before its text is put where `last_cmd_status` finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The caller's errno.
    pub errno: Errno,
    /// Text that is appended to the status, including the line break; empty if the kernel says
    /// nothing.
    pub status: String,
}

impl Refusal {
    /// A refusal with a text.
    pub fn new(errno: Errno, status: impl Into<String>) -> Self {
        Self { errno, status: format!("{}\n", status.into()) }
    }

    /// A refusal without a text: the status then reads "ok", although the operation failed.
    #[must_use]
    pub fn silent(errno: Errno) -> Self {
        Self { errno, status: String::new() }
    }
}

/// `EINVAL` with a text, by far the most frequent refusal.
pub fn invalid<T>(status: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(Errno::INVAL, status))
}
