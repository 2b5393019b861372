//! Manages the descriptor limit: raises it to its hard value, then divides it among threads.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// A link for each descriptor.
const OWN: &str = "/proc/self/fd";

/// Raises the soft limit of open files to the hard one and returns the limit in force; `u64::MAX` =
/// none.
pub fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let in_force = if setrlimit(Resource::Nofile, raised).is_ok() { raised } else { limit };
    in_force.current.unwrap_or(u64::MAX)
}

/// The soft limit now; `u64::MAX` = none.
#[must_use]
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Descriptors of this process that are open now; `None` if they cannot be counted.
#[must_use]
pub fn in_use() -> Option<usize> {
    // From Linux 6.2 on, the size of the folder is their number (`proc_pid_fd(5)`), so it need not
    // be opened.
    let size = fs::metadata(OWN).ok()?.len();
    if size > 0 { usize::try_from(size).ok() } else { listed() }
}

fn listed() -> Option<usize> {
    // The folder itself is one of them.
    fs::read_dir(OWN).ok().map(|entries| entries.count().saturating_sub(1))
}

/// The number of threads that can be counted: what the limit leaves after those in use and a
/// reserve, divided by the number that a thread needs.
#[must_use]
pub fn threads_within(limit: u64, in_use: usize, reserve: usize, per_thread: usize) -> usize {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    limit.saturating_sub(in_use).saturating_sub(reserve) / per_thread.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_divided_after_use_and_reserve() {
        // (1024 - 24 - 100) / 4 = 225.
        assert_eq!(threads_within(1024, 24, 100, 4), 225);
        assert_eq!(threads_within(64, 40, 32, 4), 0);
        assert!(threads_within(u64::MAX, 0, 0, 1) > 1_000_000);
    }
}
