//! Which processes hold file locks, by `/proc/locks` (`proc_locks(5)`): the kernel's own record,
//! which a process cannot forge for another, and which ends with the process even after a kill -9.
//! Knows nothing of what a lock is for.

use rustix::fs::{major, minor};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

const TABLE: &str = "/proc/locks";

/// A lock that a process holds on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The process.
    pub pid: u32,
    /// The last byte of it; `u64::MAX` where it reaches to the end of the file.
    pub last: u64,
}

/// Readings of the table. The kernel hands it out page by page, and what is taken or released
/// elsewhere meanwhile can make one reading skip a line.
const READINGS: usize = 4;

/// The locks on a file, of every kind, by processes that we can see.
///
/// # Errors
/// Where the kernel does not list them.
pub fn on(file: &Metadata) -> io::Result<Vec<Held>> {
    let device = file.dev();
    let name = format!("{:02x}:{:02x}:{}", major(device), minor(device), file.ino());
    let mut held = Vec::new();
    for _ in 0..READINGS {
        let fresh = listed(&fs::read_to_string(TABLE)?, &name);
        let unknown: Vec<Held> = fresh.into_iter().filter(|lock| !held.contains(lock)).collect();
        held.extend(unknown);
    }
    Ok(held)
}

/// The lines `1: POSIX  ADVISORY  READ 27778 00:16:3567 0 EOF` of one file. Those that only wait
/// (`->`) hold nothing; a negative pid (open-file-description locks) names no process.
fn listed(table: &str, file: &str) -> Vec<Held> {
    let held = |line: &str| {
        let [_, _, _, _, pid, place, _, last] =
            <[&str; 8]>::try_from(line.split_whitespace().collect::<Vec<_>>()).ok()?;
        let last = last.parse().unwrap_or(u64::MAX);
        (place == file).then_some(Held { pid: pid.parse().ok()?, last })
    };
    table.lines().filter_map(held).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_found_by_device_and_inode() {
        let table = "1: POSIX  ADVISORY  READ 27832 00:16:3567 0 0\n1: -> POSIX  ADVISORY  WRITE 9 00:16:3567 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 27723 fe:00:3567 0 EOF\n3: OFDLCK ADVISORY  READ -1 00:16:3567 0 EOF\n\
                     4: FLOCK  ADVISORY  READ 12 00:16:3567 0 EOF\nnonsense\n";
        let held = |pid, last| Held { pid, last };
        assert_eq!(listed(table, "00:16:3567"), [held(27832, 0), held(12, u64::MAX)]);
        assert_eq!(listed(table, "fe:00:3567"), [held(27723, u64::MAX)]);
    }
}
