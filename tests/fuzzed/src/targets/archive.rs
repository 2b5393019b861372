//! Archives as bytes: tar, gzip and bzip2. Whatever they contain, reading ends, stays within its
//! limits on what it keeps, and paths cannot climb out. A tree that opens can be listed and read
//! everywhere.

use crate::check::accepted;
use isobar_linux::topology;
use isobar_linux::tree::Tree;
use std::path::Path;

const FOLDERS: [&str; 5] = ["sys/devices/system/cpu", "sys/devices/system/node", "sys/fs/resctrl", "proc", ""];

/// Checks one input.
pub fn run(bytes: &[u8]) {
    let Some(tree) = accepted(Tree::from_archive_bytes(Path::new("input"), bytes)) else { return };
    for folder in FOLDERS {
        let names = tree.list(folder).unwrap_or_else(|error| panic!("{error}"));
        assert!(names.is_sorted_by(|a, b| a < b));
        for name in names {
            assert!(name != ".." && !name.contains('/'), "{name}");
            let _ = tree.read(&format!("{folder}/{name}")).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    let _ = topology::read(&tree);
}
