//! The errors of a recording, each in one line that names the file.

use crate::frame::FrameError;
use std::path::{Path, PathBuf};

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// the file exists already
    #[error("{0} already exists: name another file, or remove it first")]
    Exists(PathBuf),
    /// the file cannot be created or opened
    #[error("{path}: {error}")]
    File {
        /// the file
        path: PathBuf,
        /// why
        error: std::io::Error,
    },
    /// the file is not a recording
    #[error("{0} is not a recording of isobar: expected a file that `isobar record` or `manage --record` wrote")]
    NoRecording(PathBuf),
    /// the file has a later version
    #[error("{path} is a recording of format {found}: this isobar reads format {known}; use a newer one")]
    Version {
        /// the file
        path: PathBuf,
        /// the file's format
        found: i64,
        /// the format of this program
        known: i64,
    },
    /// the recording is empty
    #[error("{0} holds no reading: its recorder ended before the first")]
    Empty(PathBuf),
    /// a frame in the recording is damaged
    #[error("{path}: epoch {epoch} {error}")]
    Frame {
        /// the file
        path: PathBuf,
        /// the epoch
        epoch: u64,
        /// what is wrong
        error: FrameError,
    },
    /// a plan or an outcome in the recording is damaged
    #[error("{path}: epoch {epoch}: {what}")]
    Decision {
        /// the file
        path: PathBuf,
        /// the epoch
        epoch: u64,
        /// what is wrong
        what: String,
    },
    /// an error of SQLite: a full disk, a damaged file, no permission
    #[error("{path}: {error}")]
    Sqlite {
        /// the file
        path: PathBuf,
        /// its message
        error: rusqlite::Error,
    },
    /// the thread that writes the recording has ended
    #[error("{0}: the recorder has ended unexpectedly")]
    Ended(PathBuf),
}

impl RecordingError {
    pub(crate) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self + '_ {
        |error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Self::NoRecording(path.to_owned()),
            _ => Self::Sqlite { path: path.to_owned(), error },
        }
    }

    pub(crate) fn frame(path: &Path, epoch: u64) -> impl Fn(FrameError) -> Self + '_ {
        move |error| Self::Frame { path: path.to_owned(), epoch, error }
    }
}
