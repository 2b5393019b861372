//! Finds the running executable, and whether it carries capabilities (`capabilities(7)`). This file
//! does not know what the capabilities are good for, nor which users may use them.

use rustix::io::Errno;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

/// The running executable, even if its path leads elsewhere by now.
const EXECUTABLE: &str = "/proc/self/exe";

/// The real path of the running executable.
#[must_use]
pub fn path() -> PathBuf {
    let path = fs::read_link(EXECUTABLE).unwrap_or_else(|_| "/usr/local/bin/isobar".into());
    // The kernel marks a file that was replaced since; its successor is at the same path.
    path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map_or(path.clone(), PathBuf::from)
}

/// The group of the executable; `None` if it cannot be read.
#[must_use]
pub fn group() -> Option<u32> {
    fs::metadata(EXECUTABLE).ok().map(|file| file.gid())
}

/// Whether it carries capabilities. If the kernel does not say, they count as carried.
#[must_use]
pub fn carries_capabilities() -> bool {
    match rustix::fs::getxattr(EXECUTABLE, "security.capability", &mut [0_u8; 64][..]) {
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOENT) => false,
        Ok(_) | Err(_) => true,
    }
}

/// Whether it carries capabilities and every user may run it.
#[must_use]
pub fn lends_capabilities_to_all() -> bool {
    let everybody = |file: fs::Metadata| file.permissions().mode() & 0o001 != 0;
    carries_capabilities() && fs::metadata(EXECUTABLE).is_ok_and(everybody)
}
