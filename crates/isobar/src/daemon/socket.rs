//! The socket as a file. It gets the right mode before any client can find it. It replaces the
//! socket of a daemon that is gone, never the socket of one that lives.

use anyhow::{Context, bail};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The bound socket; dropping it removes the file.
pub struct Bound {
    /// Accepts clients.
    pub listener: UnixListener,
    /// Why the group cannot reach the socket, if it should but could not be given access.
    pub kept_from_group: Option<io::Error>,
    path: PathBuf,
}

/// Creates the socket, for the owner alone or also for a group.
///
/// # Errors
/// One line: another daemon answers there, or the file cannot be created.
pub fn bind(path: &Path, group: Option<u32>) -> anyhow::Result<Bound> {
    let place = || format!("{}: the control socket cannot be made", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let passable = prepare(folder, group).with_context(place)?;
    if UnixStream::connect(path).is_ok() {
        bail!(
            "{}: another isobar daemon answers there: stop it first, or name another `daemon.socket`",
            path.display()
        );
    }
    // Bound under another name until its mode is right.
    let fresh = folder.join(format!(".control.{}", std::process::id()));
    let listener = listening(&fresh, path, group).with_context(place);
    if listener.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    let (listener, shared) = listener?;
    Ok(Bound { listener, kept_from_group: shared.and(passable).err(), path: path.to_owned() })
}

/// The listening socket, and whether the file could be given to the group.
fn listening(fresh: &Path, path: &Path, group: Option<u32>) -> io::Result<(UnixListener, io::Result<()>)> {
    let listener = UnixListener::bind(fresh)?;
    let given = group.map_or(Ok(()), |group| chown(fresh, None, Some(group)));
    let mode = if group.is_some() && given.is_ok() { 0o660 } else { 0o600 };
    fs::set_permissions(fresh, Permissions::from_mode(mode))?;
    fs::rename(fresh, path)?;
    Ok((listener, given))
}

/// Prepares the folder of the socket. If the folder is isobar's own (created here, or the usual
/// one), the group must be able to pass through it. Any other folder may contain more than the
/// socket and is left as it is. The inner result says whether the group could be given access.
fn prepare(folder: &Path, group: Option<u32>) -> io::Result<io::Result<()>> {
    let is_own = !folder.is_dir() || folder == super::runtime_folder();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = fs::metadata(folder)?;
    let is_ours = is_own && found.uid() == rustix::process::geteuid().as_raw();
    let Some(group) = group.filter(|_| is_ours && found.mode() & 0o001 == 0) else { return Ok(Ok(())) };
    let given = chown(folder, None, Some(group));
    if given.is_ok() {
        fs::set_permissions(folder, Permissions::from_mode((found.mode() & 0o777) | 0o010))?;
    }
    Ok(given)
}

impl Drop for Bound {
    fn drop(&mut self) {
        // A file that cannot be removed is replaced by the next daemon.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_its_mode_replaces_a_dead_one_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/control.sock");
        let bound = bind(&path, None).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        let error = bind(&path, None).err().unwrap().to_string();
        assert!(error.contains("another isobar daemon answers there"), "{error}");
        let dead = bound.path.clone();
        drop(bound);
        assert!(!dead.exists());
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "as a kill -9 leaves it");
        let group = rustix::process::getegid().as_raw();
        let _bound = bind(&path, Some(group)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700, "it was there before");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        let made = folder.path().join("made/control.sock");
        let bound = bind(&made, Some(group)).unwrap();
        assert!(bound.kept_from_group.is_none());
        assert_eq!(fs::metadata(made.parent().unwrap()).unwrap().mode() & 0o777, 0o710);
    }
}
