//! Why a frame cannot be read or written.

/// Why a frame cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// not compressed, cut short, or larger than allowed
    #[error("cannot be unpacked: {0}")]
    Packed(#[from] std::io::Error),
    /// not a frame of this format
    #[error("is not of this format: {0}")]
    Format(#[from] postcard::Error),
    /// contradicts itself or the frame before
    #[error("contradicts itself or the one before it: {0}")]
    Wrong(String),
}

/// A contradiction, in words.
pub fn wrong(what: impl Into<String>) -> FrameError {
    FrameError::Wrong(what.into())
}
