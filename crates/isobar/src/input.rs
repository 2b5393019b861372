//! Files that the user names, and how large each kind may be: what is larger was named by mistake
//! (`/dev/zero`, a disk image), and is refused before it fills memory. It knows sizes; what a file
//! means is its reader's business.

pub use isobar_linux::read::text;

use std::io;
use std::path::Path;

/// A configuration, workload, machine, program or penalties in TOML: the largest that ships has 8
/// KB.
pub const SETTINGS: u64 = 4 << 20;

/// A table of programs, or observations of them: the measured tables of whole suites have 1 MB.
pub const TABLE: u64 = 64 << 20;

/// A list of workloads or solutions: up to about a hundred thousand of them.
pub const LIST: u64 = 16 << 20;

/// One observation of `decide`: a thousand threads need half a megabyte.
pub const OBSERVATION: u64 = 64 << 20;

/// The text of a file of settings.
///
/// # Errors
/// As [`text`].
pub fn settings(path: &Path) -> io::Result<String> {
    text(path, SETTINGS)
}

/// The text of a program or machine that another file names: `.csv` is a table.
///
/// # Errors
/// As [`text`].
pub fn described(path: &Path) -> io::Result<String> {
    let table = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv"));
    text(path, if table { TABLE } else { SETTINGS })
}
