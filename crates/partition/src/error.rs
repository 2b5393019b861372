//! Errors in a workload or a solution, as one line that names the remedy.

/// Why there is no solution, or why something is not a valid solution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
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
