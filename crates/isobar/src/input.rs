//! Size limits for files that the user names. A larger file was named by mistake (`/dev/zero`, a
//! disk image) and is refused before it fills memory. What a file means is left to its reader.

pub use isobar_linux::read::text;

use std::io;
use std::path::Path;

/// A configuration, workload, machine, program or table of penalties in TOML. The largest that
/// ships has 8 KB.
pub const SETTINGS: u64 = 4 << 20;

/// A table of programs, or of observations of programs. The measured tables of whole suites have 1
/// MB.
pub const TABLE: u64 = 64 << 20;

/// A list of workloads or solutions: about a hundred thousand of them.
pub const LIST: u64 = 16 << 20;

/// One observation for `decide`: a thousand threads need half a megabyte.
pub const OBSERVATION: u64 = 64 << 20;

/// The text of a settings file.
///
/// # Errors
/// As [`text`].
pub fn settings(path: &Path) -> io::Result<String> {
    text(path, SETTINGS)
}

/// The text of a program or machine that another file names; `.csv` is a table.
///
/// # Errors
/// As [`text`].
pub fn described(path: &Path) -> io::Result<String> {
    let table = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv"));
    text(path, if table { TABLE } else { SETTINGS })
}
