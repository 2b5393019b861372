//! What can be wrong with a page-migration study, in one line that names the key or the program.

/// Why a study could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SraError {
    /// a value of the study that cannot be
    #[error("page-migration study: `{key}` {problem}")]
    Value {
        /// the key
        key: String,
        /// what is wrong with its value, and what would be right
        problem: String,
    },
    /// a program whose accesses are not described
    #[error(
        "page-migration study: nothing is known of how `{name}` spreads its accesses over its pages; known are {known}"
    )]
    Unknown {
        /// the program
        name: String,
        /// the programs that are
        known: String,
    },
    /// a program that the simulator does not know
    #[error(transparent)]
    Program(#[from] isobar_sim::SimError),
    /// a program whose trace cannot be made
    #[error(transparent)]
    Trace(#[from] isobar_trace::TraceError),
}
