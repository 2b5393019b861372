//! Finds the processes that hold locks on a file, from `/proc/locks` (`proc_locks(5)`). This is the
//! kernel's own record: a process cannot forge it for another, and an entry ends with its process
//! even after a kill -9. This file does not know what a lock is for.

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
    /// The last byte of the locked range; `u64::MAX` if the range reaches to the end of the file.
    pub last: u64,
}

/// Number of times that the table is read. The kernel returns it page by page, and a lock that is
/// taken or released elsewhere in the meantime can make one reading skip a line.
const READINGS: usize = 4;

/// The locks on a file, of every kind, by processes that we can see.
///
/// # Errors
/// If the kernel does not list locks.
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

/// Reads the lines `1: POSIX  ADVISORY  READ 27778 00:16:3567 0 EOF` of one file. Locks that are
/// only waited for (`->`) are left out, and so are those with a negative pid (open-file-description
/// locks), which name no process.
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
