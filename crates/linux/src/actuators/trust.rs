//! Checks whether others could change what lies at a path, by the rule of sshd's `StrictModes`. The
//! folder must belong to us or to root, and no one else may write to it. The same holds for every
//! folder above it, except that a sticky one (`/tmp`) counts as safe, because others cannot replace
//! there what is not theirs. This file knows nothing of what is in the files.

use super::error::{ActuatorError, LOOK, failed};
use rustix::process::geteuid;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Write permission of the group and of all others.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The real path of a folder that only we (or root) can write to.
///
/// # Errors
/// [`ActuatorError::Unsafe`] if others can, [`ActuatorError::State`] if it cannot be examined.
pub fn own_folder(folder: &Path) -> Result<PathBuf, ActuatorError> {
    let real = fs::canonicalize(folder).map_err(failed(folder, LOOK))?;
    for (above, path) in real.ancestors().enumerate() {
        let found = fs::symlink_metadata(path).map_err(failed(path, LOOK))?;
        if let Some(problem) = problem(&found, above > 0) {
            return Err(ActuatorError::Unsafe { path: path.to_owned(), problem });
        }
    }
    Ok(real)
}

/// Checks that a file belongs to us or to root, and that no one else can write to it.
///
/// # Errors
/// [`ActuatorError::NotAFile`], [`ActuatorError::Foreign`], [`ActuatorError::Unsafe`].
pub fn own_file(path: &Path, found: &Metadata) -> Result<(), ActuatorError> {
    regular(path, found)?;
    let expected = geteuid().as_raw();
    if !is_ours(found.uid()) {
        return Err(ActuatorError::Foreign { path: path.to_owned(), found: found.uid(), expected });
    }
    match problem(found, false) {
        Some(problem) => Err(ActuatorError::Unsafe { path: path.to_owned(), problem }),
        None => Ok(()),
    }
}

/// Checks that it is a regular file.
///
/// # Errors
/// [`ActuatorError::NotAFile`].
pub fn regular(path: &Path, found: &Metadata) -> Result<(), ActuatorError> {
    let kind = found.file_type();
    let is = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_symlink() => "a symbolic link",
        () if kind.is_fifo() => "a fifo",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(ActuatorError::NotAFile { path: path.to_owned(), is })
}

fn is_ours(owner: u32) -> bool {
    owner == 0 || owner == geteuid().as_raw()
}

fn problem(found: &Metadata, sticky_is_safe: bool) -> Option<String> {
    let (owner, mode) = (found.uid(), found.permissions().mode());
    if !is_ours(owner) {
        return Some(format!("belongs to uid {owner}, which is neither root nor uid {}", geteuid().as_raw()));
    }
    let sticky = mode & STICKY != 0;
    if mode & OTHERS_WRITE == 0 || (sticky && sticky_is_safe) {
        return None;
    }
    // A sticky folder is meant for all users.
    let remedy = if sticky { "" } else { "; `chmod go-w` prevents that" };
    Some(format!("others may write to it (mode {:04o}{remedy})", mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder(mode: u32) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        chmod(folder.path(), mode);
        folder
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused_wherever_it_is_above() {
        let top = folder(0o755);
        let below = top.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        chmod(&below, 0o700);
        assert!(own_folder(&below).is_ok());
        for mode in [0o770, 0o707, 0o777, 0o1777] {
            chmod(&below, mode);
            let message = own_folder(&below).unwrap_err().to_string();
            assert!(message.contains(&format!("mode {mode:04o}")), "{message}");
        }
        chmod(&below, 0o700);
        for (mode, fine) in [(0o775, false), (0o757, false), (0o1777, true)] {
            chmod(top.path(), mode);
            assert_eq!(own_folder(&below).is_ok(), fine, "{mode:o}");
        }
    }

    #[test]
    fn a_link_to_a_folder_is_judged_by_where_it_leads() {
        let (here, there) = (folder(0o700), folder(0o777));
        symlink(there.path(), here.path().join("link")).unwrap();
        assert!(matches!(own_folder(&here.path().join("link")), Err(ActuatorError::Unsafe { .. })));
        chmod(there.path(), 0o700);
        assert_eq!(own_folder(&here.path().join("link")).unwrap(), fs::canonicalize(there.path()).unwrap());
    }

    #[test]
    fn another_users_folder_and_file_are_refused() {
        if !geteuid().is_root() {
            eprintln!("SKIPPED: needs root to give a folder away");
            return;
        }
        let folder = folder(0o700);
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
        let found = fs::symlink_metadata(&file).unwrap();
        assert!(matches!(own_file(&file, &found), Err(ActuatorError::Foreign { found: 65_534, .. })));
        std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
        assert!(matches!(own_folder(folder.path()), Err(ActuatorError::Unsafe { .. })));
    }
}
