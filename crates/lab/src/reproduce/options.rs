//! How a reproduction runs.

/// How a reproduction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Shorter runs and fewer of them: signs come out, sizes are rough.
    pub quick: bool,
    /// Seed of the first repeat.
    pub seed: u64,
    /// Runs computed side by side; changes no result.
    pub jobs: usize,
}
