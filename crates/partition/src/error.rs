//! What can be wrong with a profile or a solution, in one line that names the remedy.

/// Why something is not a profile or a solution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PartitionError {
    /// A program without rows.
    #[error("program `{0}` has no rows; a profile needs 1 to W ways")]
    Empty(String),
    /// A figure that cannot be.
    #[error("program `{program}`, {ways} ways: {what} is {value}; it must be {must}")]
    Figure {
        /// the program
        program: String,
        /// its row
        ways: usize,
        /// the property
        what: &'static str,
        /// what was found
        value: f64,
        /// what would be right
        must: &'static str,
    },
    /// A workload that a heuristic cannot take.
    #[error("`{heuristic}` cannot take this workload: {why}")]
    Refused {
        /// the heuristic
        heuristic: &'static str,
        /// why not, and what would do
        why: String,
    },
    /// A solution that does not fit its workload or its cache.
    #[error("{0}")]
    Solution(String),
}
