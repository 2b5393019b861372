//! Why a list of assignments is cut short: there are more than were allowed.

/// The most threads whose assignments are listed. The number of assignments and the time to run
/// each grow with the number of threads: a hundred schedules of more threads take minutes.
pub const MOST_THREADS: u32 = 64;

/// More assignments than were allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// more than were to be listed
    #[error("more than {most} assignments of threads to last-level caches remain after symmetry; {remedy}")]
    Assignments {
        /// what was allowed
        most: usize,
        /// what to do
        remedy: &'static str,
    },
    /// too many threads to list any
    #[error(
        "{threads} threads are too many to try all their assignments to CPUs: at most {MOST_THREADS}; take fewer \
         programs or threads"
    )]
    Threads {
        /// how many there are
        threads: u32,
    },
}
